//! Authorities, and folders as a kubelet keeps them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::serving::Outcome;

/// Issues certificates for servers and clients.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Outcome<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(Self(CertifiedIssuer::self_signed(
            params,
            KeyPair::generate()?,
        )?))
    }

    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    pub fn issue(&self, name: &str) -> Outcome<Pair> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([name.to_owned()])?.signed_by(&key, &self.0)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// A client that trusts this authority and has a certificate of it.
    pub fn client(&self) -> Outcome<ClientTlsConfig> {
        let Pair { certificate, key } = self.issue("core.test")?;
        Ok(self
            .stranger()
            .identity(Identity::from_pem(certificate, key)))
    }

    /// A client that trusts this authority and has no certificate.
    pub fn stranger(&self) -> ClientTlsConfig {
        ClientTlsConfig::new().ca_certificate(Certificate::from_pem(self.certificate()))
    }

    /// Writes the three files of a server.
    pub fn fill(&self, directory: &Path) -> Outcome {
        let Pair { certificate, key } = self.issue("function.test")?;
        fs::write(directory.join("tls.crt"), certificate)?;
        fs::write(directory.join("tls.key"), key)?;
        Ok(fs::write(directory.join("ca.crt"), self.certificate())?)
    }

    /// Brings the three files as a kubelet does: a new folder beside the old one, then one link swapped.
    pub fn mount(&self, directory: &Path, generation: &str) -> Outcome {
        let folder = directory.join(generation);
        fs::create_dir(&folder)?;
        self.fill(&folder)?;
        swap(directory, generation)
    }
}

pub fn swap(directory: &Path, generation: &str) -> Outcome {
    let next = directory.join("..data_tmp");
    symlink(generation, &next)?;
    fs::rename(&next, directory.join("..data"))?;
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        let link = directory.join(name);
        if link.symlink_metadata().is_err() {
            symlink(Path::new("..data").join(name), link)?;
        }
    }
    Ok(())
}
