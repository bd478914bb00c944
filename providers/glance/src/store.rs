//! Where images are: the stores of a Glance.

use std::collections::BTreeSet;
use std::iter;

use c5c3_api::glance::{ImageBackend, ImageStorage, ImageStore};
use c5c3_api::parts::{self, Storage, Volume};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use provider_composer::{DesiredState, Failure, Key, Progress, Reason};
use provider_openstack::{
    Bucket, Config, Files, Options, Pool, Prerequisite, Program, Release, Service, Source,
    lasting_volume,
};

/// Where the volume with images is; of an additional store, with its name at the end.
const IMAGES: &str = "/var/lib/images";
/// What the store of `storage` itself may be called.
const BACKENDS: [ImageBackend; 3] = [ImageBackend::Rbd, ImageBackend::File, ImageBackend::S3];

/// A store.
#[derive(Clone, PartialEq, Eq)]
pub struct Store {
    /// The name by which users choose it, and the name of its section.
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
    S3(Bucket),
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

/// Returns the stores of a Glance, beginning with the default one. Volumes are created, and kept when the Glance is
/// deleted.
///
/// # Errors
/// A store isn't described, two have the same name, or the volume of one has the images of another Glance.
pub fn resolve(
    service: &Service<'_>,
    storage: &ImageStorage,
    desired: &mut DesiredState,
) -> Result<Vec<Prerequisite<Store>>, Failure> {
    let mut place =
        |field: &str, store, suffix: &str| Place::resolve(service, field, store, suffix, desired);
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
            let message = format!(
                "storage.additional has a store {id}, and another store or a section of Glance's configuration is \
                 called so: give it another name"
            );
            return Err(Failure::new(Reason::Invalid, message));
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

/// Returns the pools in Ceph, each with the name of its store.
pub fn pools(
    storage: &ImageStorage,
    stores: &[Prerequisite<Store>],
) -> Vec<(String, Prerequisite<Pool>)> {
    let names = storage.additional.iter().map(|store| store.name.as_str());
    let names = iter::once(name(storage.store.backend)).chain(names);
    let stores = names.zip(storage.stores()).zip(stores);
    let pools = stores.filter_map(|((name, described), store)| {
        let pool = match store {
            Ok(store) => match &store.place {
                Place::Rbd(pool) => Ok(pool.clone()),
                Place::File(_) | Place::S3(_) => return None,
            },
            Err(pending) if described.backend == ImageBackend::Rbd => Err(pending.clone()),
            Err(_) => return None,
        };
        Some((name.to_owned(), pool))
    });
    pools.collect()
}

/// Whether Nova and Cinder clone images in Ceph rather than copying them: they need the image's place in its store. Of an image in
/// a bucket that would be a URL with the bucket's keys.
pub fn are_cloned(stores: &[Store]) -> bool {
    let is_rbd = |store: &Store| matches!(store.place, Place::Rbd(_));
    stores.iter().all(is_rbd)
}

impl Store {
    /// Its name and backend, as Glance's configuration has them.
    fn backend(&self) -> String {
        let backend = match self.place {
            Place::Rbd(_) => ImageBackend::Rbd,
            Place::File(_) => ImageBackend::File,
            Place::S3(_) => ImageBackend::S3,
        };
        format!("{}:{}", self.id, name(backend))
    }

    fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        let section = config.section(self.id.clone());
        if let Some(description) = &self.description {
            section.set("store_description", description);
        }
        match &self.place {
            Place::Rbd(pool) => {
                let (conf, keyring) = (format!("{}.ceph", self.id), format!("{}.keyring", self.id));
                let folder = service.definition.folder;
                section
                    .set("rbd_store_pool", &pool.pool)
                    .set("rbd_store_user", &pool.user)
                    .set("rbd_store_ceph_conf", format!("{folder}/{conf}"));
                pool.files(folder, &conf, &keyring, files);
            }
            Place::File(folder) => {
                section.set("filesystem_store_datadir", &folder.path);
            }
            Place::S3(bucket) => {
                section
                    .set("s3_store_host", &bucket.endpoint)
                    .set("s3_store_bucket", &bucket.name)
                    .set("s3_store_bucket_url_format", "path")
                    .secret("s3_store_access_key", &bucket.access_key)
                    .secret("s3_store_secret_key", &bucket.secret_key);
                if let Some(authority) = &bucket.authority {
                    let name = format!("{}.ca.crt", self.id);
                    section.set("s3_store_cacert", service.definition.file(&name));
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
        desired: &mut DesiredState,
    ) -> Result<Prerequisite<Self>, Failure> {
        let undescribed = || {
            let backend = name(store.backend);
            let message = format!(
                "{field}.backend is {backend}, and nothing describes it: give {field}.{backend}"
            );
            Failure::new(Reason::Invalid, message)
        };
        match store.backend {
            ImageBackend::Rbd => {
                let rbd = store.rbd.as_ref().ok_or_else(undescribed)?;
                Ok(Pool::resolve(service, field, rbd).map(Self::Rbd))
            }
            ImageBackend::S3 => {
                let wanted = store.s3.as_ref().ok_or_else(undescribed)?;
                let bucket = Bucket::resolve(service, wanted);
                let bucket = bucket.and_then(|bucket| check_key(bucket, service, wanted));
                Ok(bucket.map(Self::S3))
            }
            ImageBackend::File => {
                let volume = store.file.clone().unwrap_or_default();
                let folder = folder(service, suffix, volume, desired)?;
                Ok(Ok(Self::File(folder)))
            }
        }
    }
}

/// Checks that Glance keeps the places of images that are in a bucket. They are URLs with the bucket's keys, which Glance 2025.2 writes
/// anew at each read, and wrongly where the key has a slash (<https://bugs.launchpad.net/glance/+bug/2134325>).
fn check_key(
    bucket: Bucket,
    service: &Service<'_>,
    wanted: &parts::Bucket,
) -> Prerequisite<Bucket> {
    if service.release != Release::new(2025, 2) || !bucket.secret_key.contains('/') {
        return Ok(bucket);
    }
    let secret = &wanted.secret_ref.name;
    let message = format!(
        "the secretKey in Secret {secret} has a slash, with which Glance 2025.2 loses where images are: put in a key of the bucket without \
         a slash, or choose another release"
    );
    Err(Progress::failed(Reason::InvalidSecret, message))
}

/// What Glance calls it.
fn name(backend: ImageBackend) -> &'static str {
    match backend {
        ImageBackend::Rbd => "rbd",
        ImageBackend::File => "file",
        ImageBackend::S3 => "s3",
    }
}

fn folder(
    service: &Service<'_>,
    suffix: &str,
    volume: Volume<20>,
    desired: &mut DesiredState,
) -> Result<Folder, Failure> {
    let folder = Folder {
        volume: format!("images{suffix}"),
        path: format!("{IMAGES}{suffix}"),
        claim: service.named(&format!("images{suffix}")),
    };
    let key = Key::of::<PersistentVolumeClaim>(service.namespace, &folder.claim);
    // Volumes outlast a Glance and have no ownerReference. Names with dashes may give two of them one volume.
    let claim = service.get::<PersistentVolumeClaim>(&folder.claim).found();
    let other = claim.as_ref();
    let other = other.and_then(|claim| service.other_instance(&claim.metadata));
    if let Some(other) = other {
        let message = format!(
            "{key} has the images of Glance {other}: give this Glance or its store another name"
        );
        return Err(Failure::new(Reason::NameTaken, message));
    }
    let storage = Storage {
        size: volume.size,
        class: volume.storage_class,
    };
    let (metadata, observed) = (service.metadata("images"), service.observed);
    // A rolling change has two pods at once, and they may be on two nodes.
    lasting_volume(&key, metadata, "ReadWriteMany", storage, observed, desired);
    Ok(folder)
}
