//! One request of HTTP, and what comes back.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use provider_openstack::REQUEST_TIMEOUT;
use rustls::client::Resumption;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;

use crate::addresses::{self, Addresses, Resolver};
use crate::error::Error;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much longer than Neutron works on a request its answer to one may take that creates something, in seconds. A request that
/// Neutron still works on isn't sent again: there would be two networks.
const MARGIN: u16 = 10;
/// How long a connection is kept for the next request: a query takes several, and then there is none for minutes.
const IDLE: Duration = Duration::from_secs(5);
/// How many TLS sessions are remembered: those of one server.
const RESUMED: usize = 8;
/// The largest answer of Placement, in bytes: 10,000 resource providers.
const LARGEST: usize = 8 << 20;
/// The largest answer of another service, in bytes: 3,000 compute services. Many control planes are read by one operator.
const LARGE: usize = 1 << 20;

/// Connects to the services of one cloud.
#[derive(Clone)]
pub(crate) struct Connections {
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
}

impl Connections {
    /// To hosts with these addresses alone, if there are any. Certificates are checked against `ca` in PEM, or against the
    /// system's.
    pub(crate) fn new(
        ca: Option<&str>,
        is_plain: bool,
        addresses: Addresses,
    ) -> Result<Self, Error> {
        let mut http = HttpConnector::new_with_resolver(Resolver::new(addresses));
        http.enforce_http(false);
        http.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(ca, is_plain)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Ok(Self { client })
    }
}

/// Keystone, as messages name it.
pub(crate) const KEYSTONE: &str = "Keystone";
/// Neutron, as messages name it.
pub(crate) const NEUTRON: &str = "Neutron";
/// Placement, as messages name it.
pub(crate) const PLACEMENT: &str = "Placement";

/// Where a service is.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// Its URL, without a slash at the end.
    pub(crate) url: String,
    /// The service and its host, for messages.
    server: String,
    /// Its host.
    host: String,
    /// The version of the API that requests are of.
    version: Option<&'static str>,
    /// The header `authorization`, where requests have no token.
    authorization: Option<String>,
    /// The largest answer, in bytes.
    largest: usize,
    /// How long an answer to a request may take that creates something.
    creation: Duration,
}

impl Endpoint {
    /// `None` if it is no URL of HTTP.
    pub(crate) fn new(service: &str, url: &str, version: Option<&'static str>) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        uri.scheme_str()
            .filter(|scheme| matches!(*scheme, "http" | "https"))?;
        Some(Self {
            server: format!("{service} at {}", uri.host()?),
            host: uri.host()?.to_owned(),
            largest: match service {
                PLACEMENT => LARGEST,
                _ => LARGE,
            },
            creation: match service {
                NEUTRON => Duration::from_secs((REQUEST_TIMEOUT + MARGIN).into()),
                _ => PATIENCE,
            },
            url: url.trim_end_matches('/').to_owned(),
            version,
            authorization: None,
        })
    }

    /// The same, where requests have a user and a password, in Base64 with a colon between.
    pub(crate) fn with_login(self, login: &str) -> Self {
        Self {
            authorization: Some(format!("Basic {login}")),
            ..self
        }
    }

    /// The service and its host, for messages.
    pub(crate) fn server(&self) -> String {
        self.server.clone()
    }

    /// Fails unless it is among the hosts with addresses, if there are any. A host may be an address itself, which nothing resolves.
    pub(crate) fn within(&self, addresses: &Addresses) -> Result<(), Error> {
        addresses::check_host(&self.host).map_err(|why| Error::NoServer {
            server: self.server.clone(),
            why,
        })?;
        match addresses.is_empty() || addresses.contains_key(&self.host) {
            true => Ok(()),
            false => Err(Error::Elsewhere {
                server: self.server.clone(),
            }),
        }
    }

    /// Whether nothing is encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.url.starts_with("http:")
    }
}

/// Sends requests to one service.
#[derive(Clone)]
pub(crate) struct Exchange {
    connections: Connections,
    endpoint: Endpoint,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// A new token, if it is one.
    pub(crate) token: Option<String>,
    /// JSON, or null if it is none.
    pub(crate) body: Value,
}

impl Exchange {
    pub(crate) fn new(connections: Connections, endpoint: Endpoint) -> Self {
        Self {
            connections,
            endpoint,
        }
    }

    /// The service and its host, for messages.
    pub(crate) fn server(&self) -> String {
        self.endpoint.server()
    }

    /// Sends a request to a path below the URL. `what` says what it is for.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Reply, Error> {
        let patience = match method {
            Method::POST => self.endpoint.creation,
            _ => PATIENCE,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint.url))
            .header("accept", "application/json");
        if let Some(version) = self.endpoint.version {
            request = request.header("openstack-api-version", version);
        }
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        if let Some(authorization) = &self.endpoint.authorization {
            request = request.header("authorization", authorization);
        }
        let content = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let request = request
            .body(Full::new(content))
            .map_err(|_| self.strange(what))?;
        let exchanged = tokio::time::timeout(patience, self.exchange(request, what));
        exchanged.await.map_err(|_| Error::Slow {
            server: self.server(),
            seconds: patience.as_secs(),
        })?
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        what: &'static str,
    ) -> Result<Reply, Error> {
        let response = self
            .connections
            .client
            .request(request)
            .await
            .map_err(|error| {
                let mut why = error.to_string();
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    why = format!("{why}: {cause}");
                    source = cause.source();
                }
                Error::Unreachable {
                    server: self.server(),
                    why,
                }
            })?;
        let (head, body) = response.into_parts();
        let token = head.headers.get("x-subject-token");
        let token = token.and_then(|token| token.to_str().ok());
        let body = Limited::new(body, self.endpoint.largest).collect().await;
        let body = body.map_err(|_| self.strange(what))?.to_bytes();
        Ok(Reply {
            status: head.status.as_u16(),
            token: token.map(str::to_owned),
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        })
    }

    /// An answer that can't be understood.
    pub(crate) fn strange(&self, what: &'static str) -> Error {
        Error::Strange {
            server: self.server(),
            what,
        }
    }
}

/// How certificates are checked. Over plain HTTP there are none to check.
fn tls(ca: Option<&str>, is_plain: bool) -> Result<ClientConfig, Error> {
    let roots = match ca {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|_| Error::NoCertificate)?;
                roots.add(certificate).map_err(|_| Error::NoCertificate)?;
            }
            if roots.is_empty() {
                return Err(Error::NoCertificate);
            }
            Arc::new(roots)
        }
        None if is_plain => Arc::new(RootCertStore::empty()),
        None => system_roots()?,
    };
    let provider = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::NoRoots)?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(RESUMED);
    Ok(config)
}

/// The certificates of the system: the same for all clouds, and as large as a hundred tokens.
fn system_roots() -> Result<Arc<RootCertStore>, Error> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    match ROOTS.is_empty() {
        true => Err(Error::NoRoots),
        false => Ok(Arc::clone(&ROOTS)),
    }
}
