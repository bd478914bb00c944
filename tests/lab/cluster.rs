//! Clusters: an API server each, all on one etcd.

use std::collections::HashMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{self, ApiResource, Scope};
use kube::{Api, Client, Config};
use rcgen::KeyPair;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::audit::{self, Request};
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::patience::answered;
use crate::pki::Identity;
use crate::tools::Tool;

/// How long an API server may take: seconds when alone, more when four start on two busy cores.
const READY: Duration = Duration::from_secs(120);

/// An API server learns of a new custom resource a moment after its definition is established.
const DISCOVERED: Duration = Duration::from_secs(60);

/// Who an API server is to the API servers behind it, and to kubelets.
const AGGREGATOR: &str = "aggregator";

/// The cluster of control planes, whose nodes enforce policies.
pub(crate) const CONTROL_PLANE: &str = "control-plane";

/// The first node's address, where CoreDNS, the registry and API servers are.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);

/// The addresses of Services.
pub(crate) const SERVICES: &str = "10.96.0.0/16";
/// The first of these addresses, by which pods reach the API server.
const API_SERVER: &str = "10.96.0.1";

/// The store behind every cluster of a machine.
pub struct Etcd {
    endpoint: String,
}

impl Etcd {
    /// Starts it. It answers a little later; API servers wait for it themselves.
    pub fn start(machine: &Machine) -> Result<Self> {
        let endpoint = format!("http://127.0.0.1:{}", machine.port());
        let peer = format!("http://127.0.0.1:{}", machine.port());
        let program = Program::new(Tool::Etcd.path()?)
            .flag("data-dir", machine.folder().join("etcd"))
            .flag("listen-client-urls", &endpoint)
            .flag("advertise-client-urls", &endpoint)
            .flag("listen-peer-urls", &peer)
            .flag("initial-advertise-peer-urls", &peer)
            .flag("initial-cluster", format!("default={peer}"))
            .arg("--unsafe-no-fsync")
            .flag("log-level", "warn");
        machine.start("etcd", &program)?;
        Ok(Self { endpoint })
    }

    /// Where it listens, a URL.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

/// A Kubernetes cluster without nodes: API server, namespaces that go when deleted, garbage collection.
#[derive(Clone)]
pub struct Cluster {
    name: String,
    folder: PathBuf,
    port: u16,
    access: Access,
    client: Client,
    kubeconfig: String,
    kubeconfig_file: PathBuf,
    audited: Arc<audit::Log>,
    discovered: Arc<Mutex<HashMap<GroupVersionKind, (ApiResource, Scope)>>>,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready.
    pub async fn start(machine: &Machine, etcd: &Etcd, name: &str) -> Result<Self> {
        let folder = machine.folder().join(name);
        let authority = machine.authority();
        let certificates = authority.write(
            &authority.server(&[
                "localhost",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                &ADDRESS.to_string(),
                API_SERVER,
            ])?,
            &folder,
        )?;
        let aggregator = authority.write(
            &authority.client(AGGREGATOR, AGGREGATOR)?,
            &folder.join("aggregator"),
        )?;
        let service_accounts = KeyPair::generate().context("cannot make a key")?;
        let signing_key = folder.join("service-accounts.key");
        fs::write(&signing_key, service_accounts.serialize_pem())?;
        let verifying_key = folder.join("service-accounts.pub");
        fs::write(&verifying_key, service_accounts.public_key_pem())?;

        // Policies let pods reach an API server at its usual port.
        let port = if name == CONTROL_PLANE {
            6443
        } else {
            machine.port()
        };
        let program = Program::new(Tool::KubeApiserver.path()?)
            .flag("etcd-servers", etcd.endpoint())
            .flag("etcd-prefix", format!("/{name}"))
            .flag("bind-address", "0.0.0.0")
            .flag("advertise-address", ADDRESS.to_string())
            .flag("secure-port", port.to_string())
            .flag("endpoint-reconciler-type", "none")
            .flag("service-cluster-ip-range", SERVICES)
            .flag("authorization-mode", "RBAC")
            .flag("client-ca-file", certificates.join("ca.crt"))
            .flag("tls-cert-file", certificates.join("tls.crt"))
            .flag("tls-private-key-file", certificates.join("tls.key"))
            .flag("requestheader-client-ca-file", certificates.join("ca.crt"))
            .flag("requestheader-allowed-names", AGGREGATOR)
            .flag("requestheader-username-headers", "X-Remote-User")
            .flag("requestheader-group-headers", "X-Remote-Group")
            .flag("requestheader-extra-headers-prefix", "X-Remote-Extra-")
            .flag("proxy-client-cert-file", aggregator.join("tls.crt"))
            .flag("proxy-client-key-file", aggregator.join("tls.key"))
            .flag("kubelet-certificate-authority", certificates.join("ca.crt"))
            .flag("kubelet-client-certificate", aggregator.join("tls.crt"))
            .flag("kubelet-client-key", aggregator.join("tls.key"))
            .flag("kubelet-preferred-address-types", "InternalIP")
            .flag("allow-privileged", "true")
            .flag("service-account-issuer", "https://kubernetes.default.svc")
            .flag("service-account-key-file", &verifying_key)
            .flag("service-account-signing-key-file", &signing_key);
        let program = audit::options(&folder)?
            .into_iter()
            .fold(program, |program, (name, value)| program.flag(name, value));
        let server = format!("kube-apiserver-{name}");
        machine.start(&server, &program)?;

        let access = Access {
            url: format!("https://127.0.0.1:{port}"),
            authority: authority.certificate().to_owned(),
        };
        let kubeconfig = access.by_certificate(&authority.client("admin", "system:masters")?);
        let kubeconfig_file = folder.join("kubeconfig");
        fs::write(&kubeconfig_file, &kubeconfig)?;
        let client = client(&kubeconfig).await?;

        let program = Program::new(Tool::KubeControllerManager.path()?)
            .flag("kubeconfig", &kubeconfig_file)
            .flag("secure-port", "0")
            .flag("leader-elect", "false")
            .flag(
                "controllers",
                "namespace-controller,garbage-collector-controller",
            );
        let controllers = format!("kube-controller-manager-{name}");

        eventually(&format!("cluster {name} is ready"), READY, async || {
            machine.check(&server)?;
            machine.check("etcd")?;
            let request =
                kube::core::request::Request::new("").get("readyz", &Default::default())?;
            client.request_text(request).await?;
            Api::<Namespace>::all(client.clone()).get("default").await?;
            Ok(())
        })
        .await?;
        machine.start(&controllers, &program)?;
        Ok(Self {
            name: name.to_owned(),
            folder,
            port,
            access,
            client,
            kubeconfig,
            kubeconfig_file,
            audited: Arc::default(),
            discovered: Arc::default(),
        })
    }

    /// The port of its API server, on every address of the machine.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A kubeconfig of an administrator who reaches the API server at another address of the machine.
    pub(crate) fn kubeconfig_at(&self, address: Ipv4Addr) -> String {
        let loopback = format!("127.0.0.1:{}", self.port);
        self.kubeconfig
            .replace(&loopback, &format!("{address}:{}", self.port))
    }

    /// What the scenario calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same cluster as a service account sees it, `namespace/name`: with its rights and no others. The service
    /// account must be there.
    pub async fn acting_as(&self, service_account: &str) -> Result<Self> {
        let (namespace, account) = service_account
            .split_once('/')
            .context("a service account is named namespace/name")?;
        let token = self.token(service_account).await?;
        let kubeconfig = self.access.by_token(&token, namespace);
        self.by(kubeconfig, &format!("{namespace}-{account}")).await
    }

    /// A token of a service account, `namespace/name`, which must be there.
    pub(crate) async fn token(&self, service_account: &str) -> Result<String> {
        let (namespace, account) = service_account
            .split_once('/')
            .context("a service account is named namespace/name")?;
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(24 * 60 * 60),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let accounts = Api::<ServiceAccount>::namespaced(self.client(), namespace);
        let how = PostParams::default();
        let asked = async || {
            Ok(accounts
                .create_token_request(account, &how, &request)
                .await?)
        };
        answered(asked)
            .await?
            .status
            .and_then(|status| status.token)
            .with_context(|| format!("{} gives {service_account} no token", self.name))
    }

    /// The same cluster by way of a port of this machine that asks for no credentials.
    pub(crate) async fn by_way_of(&self, port: u16) -> Result<Self> {
        let access = Access {
            url: format!("http://127.0.0.1:{port}"),
            ..self.access.clone()
        };
        let kubeconfig = access.kubeconfig(&json!({}), "default");
        self.by(kubeconfig, &port.to_string()).await
    }

    /// The same cluster by another kubeconfig, whose file has a name of its own.
    async fn by(&self, kubeconfig: String, name: &str) -> Result<Self> {
        let kubeconfig_file = self.folder.join(format!("kubeconfig-{name}"));
        fs::write(&kubeconfig_file, &kubeconfig)?;
        Ok(Self {
            client: client(&kubeconfig).await?,
            kubeconfig,
            kubeconfig_file,
            ..self.clone()
        })
    }

    /// Every request that the cluster has answered until now, watches once they have ended.
    pub fn audit(&self) -> Result<Vec<Request>> {
        self.audited.requests(&self.folder)
    }

    /// Fine when nothing that a user asked for was refused for want of a right.
    ///
    /// # Errors
    /// What was refused, or the log can't be read.
    pub fn allowed_all(&self, user: &str) -> Result<()> {
        let mut requests = self.audit()?;
        ensure!(
            requests.iter().any(|request| request.user == user),
            "{user} has asked for nothing"
        );
        requests.retain(|request| request.user == user && request.code == 403);
        ensure!(requests.is_empty(), "{user} lacks {requests:?}");
        Ok(())
    }

    /// A client with every right.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A kubeconfig with every right, JSON, which every reader of kubeconfigs takes for the YAML that it is.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The same as a file.
    pub fn kubeconfig_file(&self) -> &Path {
        &self.kubeconfig_file
    }

    /// The resource of a kind and its scope, found out once.
    pub(crate) async fn resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<(ApiResource, Scope)> {
        let types = TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        };
        let wanted = GroupVersionKind::try_from(types)?;
        // Held while asking, so that many who need the same ask once.
        let mut discovered = self.discovered.lock().await;
        if let Some(known) = discovered.get(&wanted) {
            return Ok(known.clone());
        }
        let what = format!("{} serves {api_version} {kind}", self.name);
        let found = eventually(&what, DISCOVERED, async || {
            let (resource, capabilities) = discovery::pinned_kind(&self.client, &wanted).await?;
            Ok((resource, capabilities.scope))
        })
        .await?;
        discovered.insert(wanted, found.clone());
        Ok(found)
    }
}

/// Where an API server is, and who signs for it.
#[derive(Clone)]
struct Access {
    url: String,
    authority: String,
}

impl Access {
    fn by_certificate(&self, identity: &Identity) -> String {
        let user = json!({
            "client-certificate-data": base64(&identity.certificate),
            "client-key-data": base64(&identity.key),
        });
        self.kubeconfig(&user, "default")
    }

    fn by_token(&self, token: &str, namespace: &str) -> String {
        self.kubeconfig(&json!({ "token": token }), namespace)
    }

    /// Whoever names no namespace means this one.
    fn kubeconfig(&self, user: &Value, namespace: &str) -> String {
        let context = json!({ "cluster": "lab", "user": "lab", "namespace": namespace });
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {
                "server": self.url,
                "certificate-authority-data": base64(&self.authority),
            }}],
            "users": [{"name": "lab", "user": user}],
            "contexts": [{"name": "lab", "context": context}],
            "current-context": "lab",
        })
        .to_string()
    }
}

fn base64(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

/// A client with the rights of a kubeconfig.
pub(crate) async fn client(kubeconfig: &str) -> Result<Client> {
    let kubeconfig =
        Kubeconfig::from_yaml(kubeconfig).context("our own kubeconfig can't be read")?;
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A proxy of the site's has no way into this network namespace.
    config.proxy_url = None;
    Client::try_from(config).context("cannot make a client")
}
