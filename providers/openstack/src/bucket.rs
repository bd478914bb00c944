//! Buckets of object stores that speak S3.

use c5c3_api::parts;

use crate::prerequisite::Prerequisite;
use crate::service::Service;

/// A bucket, and the keys to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Bucket {
    /// URL of the object store.
    pub endpoint: String,
    /// Name of the bucket.
    pub name: String,
    /// The key's name.
    pub access_key: String,
    /// The key.
    pub secret_key: String,
    /// CA certificate of the object store, if it has none of a public authority.
    pub authority: Option<String>,
}

impl Bucket {
    /// Resolves a bucket.
    ///
    /// # Errors
    /// Its Secret doesn't exist, or lacks a key.
    pub fn resolve(service: &Service<'_>, wanted: &parts::Bucket) -> Prerequisite<Self> {
        let secret = &wanted.secret_ref.name;
        let purpose = "the keys to the bucket";
        let values = service.secret(secret, purpose)?;
        Ok(Self {
            endpoint: wanted.endpoint.clone(),
            name: wanted.bucket.clone(),
            access_key: values.line("accessKey")?.to_owned(),
            secret_key: values.line("secretKey")?.to_owned(),
            authority: values.authority()?.map(str::to_owned),
        })
    }
}
