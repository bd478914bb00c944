//! The files, and the TLS configuration from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{InconsistentKeys, RootCertStore, ServerConfig};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

/// Why certificates cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file is missing or unreadable.
    #[error("cannot read {}: {source}; the folder must hold {needed}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The files that are needed.
        needed: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A file isn't PEM.
    #[error("{} is malformed PEM: {reason}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file has no certificate in it.
    #[error("{} holds no certificate", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A file has no private key in it.
    #[error("{} holds no private key", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// Key and certificate are not a pair.
    #[error("{} is not the key of the certificate in tls.crt beside it", path.display())]
    Mismatch {
        /// The key's file.
        path: PathBuf,
    },
    /// A file's content is PEM, but TLS cannot use it.
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// Who may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Whoever has a certificate of the authorities in ca.crt, by HTTP/2.
    Verified,
    /// Anyone, by HTTP/1.1.
    Any,
}

impl Clients {
    fn files(self) -> &'static str {
        match self {
            Clients::Verified => "tls.crt, tls.key and ca.crt",
            Clients::Any => "tls.crt and tls.key",
        }
    }
}

/// The content of the files.
#[derive(PartialEq, Eq)]
pub(super) struct Files {
    directory: PathBuf,
    certificate: Vec<u8>,
    key: Vec<u8>,
    /// Those of the clients' certificates, where these are verified.
    authorities: Option<Vec<u8>>,
}

impl Files {
    pub(super) fn read(directory: &Path, clients: Clients) -> Result<Self, TlsError> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read(&path).map_err(|source| TlsError::Read {
                path,
                needed: clients.files(),
                source,
            })
        };
        Ok(Self {
            directory: directory.to_owned(),
            certificate: read("tls.crt")?,
            key: read("tls.key")?,
            authorities: match clients {
                Clients::Verified => Some(read("ca.crt")?),
                Clients::Any => None,
            },
        })
    }

    /// A server that shows this certificate and, where there are authorities, wants one of theirs from its clients.
    pub(super) fn config(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let (clients, protocol) = match &self.authorities {
            Some(authorities) => {
                let roots = Arc::new(self.roots(authorities)?);
                let clients =
                    WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
                        .build()
                        .map_err(|error: VerifierBuilderError| {
                            unusable(self.path("ca.crt"), error)
                        })?;
                (clients, "h2")
            }
            None => (WebPkiClientVerifier::no_client_auth(), "http/1.1"),
        };
        let identity = SingleCertAndKey::from(self.identity(&provider)?);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(self.path("tls.crt"), error))?
            .with_client_cert_verifier(clients)
            .with_cert_resolver(Arc::new(identity));
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Ok(config)
    }

    fn roots(&self, authorities: &[u8]) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(authorities, self.path("ca.crt"))? {
            roots
                .add(authority)
                .map_err(|error| unusable(self.path("ca.crt"), error))?;
        }
        Ok(roots)
    }

    fn identity(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let chain = certificates(&self.certificate, self.path("tls.crt"))?;
        let path = || self.path("tls.key");
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| match error {
            pem::Error::NoItemsFound => TlsError::NoKey { path: path() },
            error => TlsError::Pem {
                path: path(),
                reason: error.to_string(),
            },
        })?;
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|error| unusable(path(), error))?;
        let identity = CertifiedKey::new(chain, key);
        match identity.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(identity)
            }
            Err(rustls::Error::InconsistentKeys(_)) => Err(TlsError::Mismatch { path: path() }),
            Err(error) => Err(unusable(self.path("tls.crt"), error)),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

fn certificates(pem: &[u8], path: PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(TlsError::NoCertificate { path }),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(TlsError::Pem {
            path,
            reason: error.to_string(),
        }),
    }
}

fn unusable(path: PathBuf, error: impl std::error::Error) -> TlsError {
    TlsError::Unusable {
        path,
        reason: error.to_string(),
    }
}
