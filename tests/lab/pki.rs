//! Keys and certificates: one authority per machine, which everything on it trusts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

/// Signs the certificates of one machine.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    identity: Identity,
}

/// A certificate and its key, both PEM.
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS #8.
    pub key: String,
}

impl Authority {
    /// A new authority.
    pub fn new() -> Result<Self> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "lab");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = authority
            .self_signed(&key)
            .context("cannot sign the authority")?
            .pem();
        let identity = Identity {
            certificate,
            key: key.serialize_pem(),
        };
        Ok(Self {
            issuer: Issuer::new(authority, key),
            identity,
        })
    }

    /// Its own certificate and key, for one who signs in its place.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The authority's own certificate, PEM.
    pub fn certificate(&self) -> &str {
        &self.identity.certificate
    }

    /// A server on loopback that also answers to these DNS names.
    pub fn server(&self, names: &[&str]) -> Result<Identity> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut server = CertificateParams::new(names).context("not a DNS name")?;
        server
            .subject_alt_names
            .push(SanType::IpAddress([127, 0, 0, 1].into()));
        server.distinguished_name.push(DnType::CommonName, "server");
        self.sign(server)
    }

    /// A client: a Kubernetes user in a group.
    pub fn client(&self, user: &str, group: &str) -> Result<Identity> {
        let mut client = CertificateParams::default();
        client
            .distinguished_name
            .push(DnType::OrganizationName, group);
        client.distinguished_name.push(DnType::CommonName, user);
        self.sign(client)
    }

    fn sign(&self, mut subject: CertificateParams) -> Result<Identity> {
        subject.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        subject.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = subject
            .signed_by(&key, &self.issuer)
            .context("cannot sign a certificate")?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Writes `ca.crt`, `tls.crt` and `tls.key` into a folder, as Crossplane's functions and providers read them.
    pub fn write(&self, identity: &Identity, folder: &Path) -> Result<PathBuf> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        for (name, text) in [
            ("ca.crt", self.certificate()),
            ("tls.crt", &identity.certificate),
            ("tls.key", &identity.key),
        ] {
            let file = folder.join(name);
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(folder.to_owned())
    }
}
