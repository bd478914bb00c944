//! Where images are.

use std::collections::BTreeMap;

use c5c3_api::glance::{Bucket, GlanceSpec, ImageBackend};
use c5c3_api::parts::{Rbd, Volume};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{Composition, Failure, Progress, World};
use provider_openstack::{Awaited, Config, Program, Service, Source, Values, digest};

/// Where the volume with images is.
const IMAGES: &str = "/var/lib/images";
/// Where Ceph's configuration and key are: its libraries look there.
const CEPH: &str = "/etc/ceph";

/// Where images are.
#[derive(Clone, PartialEq, Eq)]
pub enum Store {
    /// A pool in Ceph.
    Rbd(Pool),
    /// A volume, by its claim.
    File(String),
    /// A bucket.
    S3(Keys),
}

/// A pool in Ceph, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Name of the pool.
    pub pool: String,
    /// Ceph's user.
    pub user: String,
    /// Secret with configuration and key.
    pub secret: String,
    /// Stands for configuration and key: others have another.
    pub key: String,
}

/// A bucket, and the keys to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    bucket: Bucket,
    access_key: String,
    secret_key: String,
}

impl Store {
    /// Where a Glance keeps images. A volume is made, and stays when the Glance goes.
    ///
    /// # Errors
    /// The store isn't described, or the volume can't be written.
    pub fn resolve(
        service: &Service<'_>,
        spec: &GlanceSpec,
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Result<Awaited<Self>, Failure> {
        let storage = &spec.storage;
        let undescribed = |field: &str| {
            Failure::new(
                "Invalid",
                format!(
                    "storage.backend is {field}, and nothing describes it: give storage.{field}"
                ),
            )
        };
        match storage.backend {
            ImageBackend::Rbd => {
                let rbd = storage.rbd.as_ref().ok_or_else(|| undescribed("rbd"))?;
                Ok(pool(service, rbd, world).map(Self::Rbd))
            }
            ImageBackend::S3 => {
                let bucket = storage.s3.as_ref().ok_or_else(|| undescribed("s3"))?;
                Ok(keys(service, bucket, world).map(Self::S3))
            }
            ImageBackend::File => {
                let volume = storage.file.clone().unwrap_or_default();
                claim(service, &volume, composition).map(|name| Ok(Self::File(name)))
            }
        }
    }

    /// Says in Glance's configuration where images are
    /// (<https://docs.openstack.org/glance/latest/admin/multistores.html>).
    pub fn configure(&self, config: &mut Config) {
        let name = match self {
            Self::Rbd(_) => "rbd",
            Self::File(_) => "file",
            Self::S3(_) => "s3",
        };
        config
            .section("DEFAULT")
            .set("enabled_backends", format!("{name}:{name}"));
        config.section("glance_store").set("default_backend", name);
        let section = config.section(name);
        match self {
            Self::Rbd(pool) => section
                .set("rbd_store_pool", &pool.pool)
                .set("rbd_store_user", &pool.user)
                .set("rbd_store_ceph_conf", format!("{CEPH}/ceph.conf")),
            Self::File(_) => section.set("filesystem_store_datadir", IMAGES),
            Self::S3(keys) => section
                .set("s3_store_host", &keys.bucket.endpoint)
                .set("s3_store_bucket", &keys.bucket.bucket)
                .set("s3_store_bucket_url_format", "path")
                .secret("s3_store_access_key", &keys.access_key)
                .secret("s3_store_secret_key", &keys.secret_key),
        };
    }

    /// Shows a program what it needs of the store.
    #[must_use]
    pub fn mount(&self, program: Program) -> Program {
        match self {
            Self::Rbd(pool) => program.mount("ceph", CEPH, Source::Secret(pool.secret.clone())),
            Self::File(claim) => program.mount("images", IMAGES, Source::Claim(claim.clone())),
            Self::S3(_) => program,
        }
    }
}

fn pool(service: &Service<'_>, rbd: &Rbd, world: &World<'_>) -> Awaited<Pool> {
    let secret = &rbd.ceph_secret_ref.name;
    let values = Values::read(
        world,
        service.namespace,
        secret,
        "Ceph's configuration and key",
    )?;
    let keyring = values.text("keyring")?;
    let key = digest([values.text("ceph.conf")?, keyring]);
    let user = match &rbd.user {
        Some(user) => user.clone(),
        None => values.required("userID")?.to_owned(),
    };
    if !has_key(keyring) {
        return Err(Progress::failed(
            "InvalidSecret",
            format!(
                "the keyring in Secret {secret} has no key: put in what `ceph auth get client.{user}` prints"
            ),
        ));
    }
    if user.starts_with("client.") {
        return Err(Progress::failed(
            "InvalidSecret",
            format!(
                "Ceph's user is {user}: write it without client., in storage.rbd.user or under userID of Secret {secret}"
            ),
        ));
    }
    Ok(Pool {
        pool: rbd.pool.clone(),
        user,
        secret: secret.clone(),
        key,
    })
}

/// Whether there is a key in each part of a keyring, where there are parts
/// (<https://docs.ceph.com/en/latest/rados/operations/user-management/#keyring-management>).
fn has_key(keyring: &str) -> bool {
    let key = |line: &str| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "key" && !value.trim().is_empty()).then_some(())
    };
    let mut parts = keyring.split("[client.").skip(1);
    parts.all(|part| part.lines().any(|line| key(line).is_some()))
}

fn keys(service: &Service<'_>, bucket: &Bucket, world: &World<'_>) -> Awaited<Keys> {
    let values = Values::read(
        world,
        service.namespace,
        &bucket.secret_ref.name,
        "the keys to the bucket",
    )?;
    Ok(Keys {
        bucket: bucket.clone(),
        access_key: values.required("accessKey")?.to_owned(),
        secret_key: values.required("secretKey")?.to_owned(),
    })
}

fn claim(
    service: &Service<'_>,
    volume: &Volume<20>,
    composition: &mut Composition,
) -> Result<String, Failure> {
    let name = service.named("images");
    let claim = PersistentVolumeClaim {
        metadata: ObjectMeta {
            labels: Some(service.selector()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            // A rolling change has two pods at once, and they may be on two nodes.
            access_modes: Some(vec!["ReadWriteMany".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([(
                    "storage".to_owned(),
                    Quantity(volume.size.to_string()),
                )])),
                ..VolumeResourceRequirements::default()
            }),
            storage_class_name: volume.storage_class.clone(),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    };
    composition.apply_lasting(service.namespace, &name, &claim)?;
    Ok(name)
}
