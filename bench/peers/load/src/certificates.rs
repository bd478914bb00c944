//! Mutual TLS between the load and the servers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// The name that the servers' certificate is for.
const NAME: &str = "localhost";

/// One authority for both sides.
pub struct Certificates {
    folder: PathBuf,
    client: ClientTlsConfig,
}

impl Certificates {
    /// Issues certificates for both sides, and writes the servers' into a folder as Crossplane mounts them.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub fn issue(folder: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        // By default all have the same name, and BoringSSL takes one that its own issuer seems to have for self-signed.
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let params = CertificateParams::new([NAME.to_owned()])?;
        let certificate = params.signed_by(&key, &authority)?.pem();
        fs::write(folder.join("tls.crt"), &certificate)?;
        fs::write(folder.join("tls.key"), key.serialize_pem())?;
        fs::write(folder.join("ca.crt"), authority.pem())?;
        let client = ClientTlsConfig::new()
            .domain_name(NAME)
            .ca_certificate(Certificate::from_pem(authority.pem()))
            .identity(Identity::from_pem(certificate, key.serialize_pem()));
        Ok(Self {
            folder: folder.to_owned(),
            client,
        })
    }

    /// The folder with `tls.crt`, `tls.key` and `ca.crt`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How a client is known, and knows the servers.
    pub fn client(&self) -> ClientTlsConfig {
        self.client.clone()
    }
}
