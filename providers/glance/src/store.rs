//! Where images are: the stores of a Glance.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::glance::{Bucket, ImageBackend, ImageStorage, ImageStore};
use c5c3_api::parts::Volume;
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use provider_composer::{DesiredState, Failure, ObservedState, Reason};
use provider_openstack::{Awaited, Config, Files, Options, Program, Service, Source, Values};

use crate::ceph::Pool;

/// Where the volume with images is; of an additional store, with its name at the end.
const IMAGES: &str = "/var/lib/images";
/// What the store of `storage` itself may be called.
const BACKENDS: [ImageBackend; 3] = [ImageBackend::Rbd, ImageBackend::File, ImageBackend::S3];

/// A store.
#[derive(Clone, PartialEq, Eq)]
pub struct Store {
    /// What users ask for it by, and what its section is called.
    id: String,
    description: Option<String>,
    /// Where its images are.
    pub place: Place,
}

/// Where the images of a store are.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// A pool in Ceph.
    Rbd(Pool),
    /// A volume.
    File(Folder),
    /// A bucket.
    S3(Keys),
}

/// A volume, and where it is in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// What the pod calls it.
    volume: String,
    path: String,
    /// Name of its claim.
    claim: String,
}

/// A bucket, and the keys to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    bucket: Bucket,
    access_key: String,
    secret_key: String,
    /// Who signs for the one who keeps it.
    authority: Option<String>,
}

/// The stores of a Glance, beginning with the usual one. Volumes are made, and stay when the Glance goes.
///
/// # Errors
/// A store isn't described, or two have the same name.
pub fn resolve(
    service: &Service<'_>,
    storage: &ImageStorage,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<Vec<Awaited<Store>>, Failure> {
    let mut place = |field: &str, store, suffix: &str| {
        Place::resolve(service, field, store, suffix, observed, desired)
    };
    let usual = place("storage", &storage.store, "")?.map(|place| Store {
        id: name(storage.store.backend).to_owned(),
        description: None,
        place,
    });
    let mut stores = vec![usual];
    if storage.additional.is_empty() {
        return Ok(stores);
    }
    let known = Options::of(service.definition.name, service.release);
    let sections = known
        .iter()
        .flat_map(|known| known.all().map(|option| option.section));
    let mut taken: BTreeSet<&str> = BACKENDS.into_iter().map(name).chain(sections).collect();
    for additional in &storage.additional {
        let id = additional.name.as_str();
        if !taken.insert(id) {
            return Err(Failure::new(
                Reason::Invalid,
                format!(
                    "storage.additional has a store {id}, and another store or a section of Glance's configuration is \
                     called so: give it another name"
                ),
            ));
        }
        let field = format!("storage.additional[{id}]");
        let place = place(&field, &additional.store, &format!("-{id}"))?;
        stores.push(place.map(|place| Store {
            id: id.to_owned(),
            description: additional.description.clone(),
            place,
        }));
    }
    Ok(stores)
}

/// Says in Glance's configuration where images are
/// (<https://docs.openstack.org/glance/latest/admin/multistores.html>).
pub fn configure(stores: &[Store], service: &Service<'_>, config: &mut Config, files: &mut Files) {
    let backends = stores.iter().map(Store::backend);
    config.section("DEFAULT").list("enabled_backends", backends);
    if are_cloned(stores) {
        config
            .section("DEFAULT")
            .set("show_image_direct_url", "true");
    }
    if let Some(usual) = stores.first() {
        config
            .section("glance_store")
            .set("default_backend", &usual.id);
    }
    for store in stores {
        store.configure(service, config, files);
    }
}

/// Whether Nova and Cinder clone images in Ceph rather than copying them: they need the image's place in its store. Of an image in
/// a bucket that would be a URL with the bucket's keys.
pub fn are_cloned(stores: &[Store]) -> bool {
    let is_rbd = |store: &Store| matches!(store.place, Place::Rbd(_));
    stores.iter().all(is_rbd)
}

impl Store {
    /// Its name and what it is, as Glance is told both.
    fn backend(&self) -> String {
        let backend = match self.place {
            Place::Rbd(_) => ImageBackend::Rbd,
            Place::File(_) => ImageBackend::File,
            Place::S3(_) => ImageBackend::S3,
        };
        format!("{}:{}", self.id, name(backend))
    }

    fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        let section = config.section(&self.id);
        if let Some(description) = &self.description {
            section.set("store_description", description);
        }
        match &self.place {
            Place::Rbd(pool) => pool.configure(&self.id, service, section, files),
            Place::File(folder) => {
                section.set("filesystem_store_datadir", &folder.path);
            }
            Place::S3(keys) => {
                section
                    .set("s3_store_host", &keys.bucket.endpoint)
                    .set("s3_store_bucket", &keys.bucket.bucket)
                    .set("s3_store_bucket_url_format", "path")
                    .secret("s3_store_access_key", &keys.access_key)
                    .secret("s3_store_secret_key", &keys.secret_key);
                if let Some(authority) = &keys.authority {
                    let name = format!("{}.ca.crt", self.id);
                    section.set(
                        "s3_store_cacert",
                        format!("{}/{name}", service.definition.folder),
                    );
                    files.text(&name, authority);
                }
            }
        }
    }

    /// Shows a program the volume of the store, where it has one.
    #[must_use]
    pub fn mount(&self, program: Program) -> Program {
        match &self.place {
            Place::Rbd(_) | Place::S3(_) => program,
            Place::File(folder) => {
                let claim = Source::Claim(folder.claim.clone());
                program.mount(&folder.volume, &folder.path, claim)
            }
        }
    }
}

impl Place {
    /// Where the images of a store are that a field describes; the suffix tells its volume from those of others.
    fn resolve(
        service: &Service<'_>,
        field: &str,
        store: &ImageStore,
        suffix: &str,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<Awaited<Self>, Failure> {
        let undescribed = || {
            let backend = name(store.backend);
            Failure::new(
                Reason::Invalid,
                format!(
                    "{field}.backend is {backend}, and nothing describes it: give {field}.{backend}"
                ),
            )
        };
        match store.backend {
            ImageBackend::Rbd => {
                let rbd = store.rbd.as_ref().ok_or_else(undescribed)?;
                Ok(Pool::resolve(service, field, rbd, observed).map(Self::Rbd))
            }
            ImageBackend::S3 => {
                let bucket = store.s3.as_ref().ok_or_else(undescribed)?;
                Ok(keys(service, bucket, observed).map(Self::S3))
            }
            ImageBackend::File => {
                let volume = store.file.clone().unwrap_or_default();
                let folder = folder(service, suffix, &volume, desired);
                Ok(Ok(Self::File(folder)))
            }
        }
    }
}

/// What Glance calls it.
fn name(backend: ImageBackend) -> &'static str {
    match backend {
        ImageBackend::Rbd => "rbd",
        ImageBackend::File => "file",
        ImageBackend::S3 => "s3",
    }
}

fn keys(service: &Service<'_>, bucket: &Bucket, observed: &ObservedState<'_>) -> Awaited<Keys> {
    let values = Values::read(
        observed,
        service.namespace,
        &bucket.secret_ref.name,
        "the keys to the bucket",
    )?;
    Ok(Keys {
        bucket: bucket.clone(),
        access_key: values.required("accessKey")?.to_owned(),
        secret_key: values.required("secretKey")?.to_owned(),
        authority: values.authority()?.map(str::to_owned),
    })
}

fn folder(
    service: &Service<'_>,
    suffix: &str,
    volume: &Volume<20>,
    desired: &mut DesiredState,
) -> Folder {
    let folder = Folder {
        volume: format!("images{suffix}"),
        path: format!("{IMAGES}{suffix}"),
        claim: service.named(&format!("images{suffix}")),
    };
    let claim = PersistentVolumeClaim {
        metadata: service.metadata("images"),
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
    desired.apply_unowned(service.namespace, &folder.claim, &claim);
    folder
}
