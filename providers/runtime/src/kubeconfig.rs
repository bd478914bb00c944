//! Reads kubeconfigs.
//!
//! kube's errors quote the kubeconfig, and the arguments and the output of its exec plugin. The messages of this module are
//! its own: they name the file, the position and the field.

use std::env;
use std::path::{Path, PathBuf};

use hyper::header::{HeaderValue, USER_AGENT};
use kube::client::{AuthError, ClientBuilder};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError};
use kube::{Client, Config};
use secrecy::ExposeSecret;
use tower::BoxError;
use tower::util::MapErrLayer;

use crate::error::{ConfigError, RunError};

/// What API servers write to their audit logs as the program that sent a request.
const AGENT: &str = concat!("c5c3/", env!("CARGO_PKG_VERSION"));

/// How a cluster is reached.
pub struct ClusterConfig {
    /// The configuration of its client.
    pub config: Config,
    /// What it was read from, as messages name it.
    origin: String,
}

impl ClusterConfig {
    /// Reads a kubeconfig. Without a file: those that `KUBECONFIG` lists, or `~/.kube/config`. Without a context: its current one.
    ///
    /// # Errors
    /// The kubeconfig can't be read, or isn't valid.
    pub async fn read(file: Option<&Path>, context: Option<&str>) -> Result<Self, ConfigError> {
        let files = file.map_or_else(listed, |file| vec![file.to_owned()]);
        let kubeconfig = merged(&files)?;
        Self::of(kubeconfig, origin(&files), context).await
    }

    /// Reads a kubeconfig that isn't a file of whoever runs the program, but for instance in a Secret: it must have everything itself, and
    /// neither names files nor commands. `origin` is what messages call it.
    ///
    /// # Errors
    /// The kubeconfig isn't valid, or names a file or a command.
    pub async fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let invalid = |problem| ConfigError {
            origin: origin.to_owned(),
            problem,
        };
        let kubeconfig =
            Kubeconfig::from_yaml(text).map_err(|error| invalid(problem(&error, None)))?;
        if let Some(problem) = outside(&kubeconfig) {
            return Err(invalid(problem));
        }
        Self::of(kubeconfig, origin.to_owned(), None).await
    }

    async fn of(
        kubeconfig: Kubeconfig,
        origin: String,
        context: Option<&str>,
    ) -> Result<Self, ConfigError> {
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let read = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let read = read.map_err(|error| problem(&error, context));
        let read = read.and_then(|config| match refused(&config) {
            Some(problem) => Err(problem),
            None => Ok(config),
        });
        match read {
            Ok(config) => Ok(Self { config, origin }),
            Err(problem) => Err(ConfigError { origin, problem }),
        }
    }

    /// Reads the kubeconfig that [`read`](Self::read) finds without a file. Where `KUBECONFIG` lists none, and the default one can't be
    /// used: what a pod has of its cluster.
    pub(crate) async fn infer() -> Result<Self, RunError> {
        let mut inferred = match Self::read(None, None).await {
            Ok(read) => read,
            // Whoever names a cluster doesn't mean the pod's own.
            Err(error) if !listed().is_empty() => return Err(error.into()),
            Err(error) => Self {
                config: Config::incluster()
                    .map_err(|pod| RunError::Cluster(format!("{error}; in a pod: {pod}")))?,
                origin: "the pod's service account".to_owned(),
            },
        };
        inferred.config.apply_debug_overrides();
        Ok(inferred)
    }

    /// Returns a client of the cluster.
    ///
    /// # Errors
    /// The credentials or certificates can't be used.
    pub fn client(self) -> Result<Client, ConfigError> {
        let redact = redacting(plugin(&self.config.auth_info));
        self.build(|config| {
            let builder = ClientBuilder::try_from(config)?;
            Ok(builder.with_layer(&MapErrLayer::new(redact)).build())
        })
    }

    /// Returns the client that `build` makes of the configuration.
    pub(crate) fn build(
        self,
        build: impl FnOnce(Config) -> kube::Result<Client>,
    ) -> Result<Client, ConfigError> {
        let Self { mut config, origin } = self;
        let agent = HeaderValue::from_static(AGENT);
        config.headers.push((USER_AGENT, agent));
        let plugin = plugin(&config.auth_info);
        build(config).map_err(|error| {
            let problem = unusable(&error, &plugin);
            ConfigError { origin, problem }
        })
    }
}

/// Returns a function that replaces errors of credentials, which quote the arguments and the output of an exec plugin.
pub(crate) fn redacting(plugin: String) -> impl Fn(BoxError) -> BoxError + Clone + Send + 'static {
    move |error: BoxError| {
        let credentials = error.downcast_ref::<AuthError>();
        match credentials.map(|error| no_credentials(error, &plugin)) {
            Some(problem) => BoxError::from(problem),
            None => error,
        }
    }
}

/// Returns the exec plugin of a user as messages name it: by the name of the file that is executed.
pub(crate) fn plugin(user: &AuthInfo) -> String {
    let exec = user.exec.as_ref().and_then(|exec| exec.command.as_deref());
    let provider = user.auth_provider.as_ref();
    let command = provider.and_then(|provider| provider.config.get("cmd-path"));
    let command = command.map(String::as_str).or(exec);
    match command.and_then(|command| Path::new(command).file_name()) {
        Some(name) => format!("the exec plugin {}", name.to_string_lossy()),
        None => "the exec plugin".to_owned(),
    }
}

/// The files that `KUBECONFIG` lists.
fn listed() -> Vec<PathBuf> {
    let list = env::var_os("KUBECONFIG").unwrap_or_default();
    env::split_paths(&list)
        .filter(|file| !file.as_os_str().is_empty())
        .collect()
}

/// Reads and merges files; without any, `~/.kube/config`.
fn merged(files: &[PathBuf]) -> Result<Kubeconfig, ConfigError> {
    let invalid = |files: &[PathBuf], error: &KubeconfigError| ConfigError {
        origin: origin(files),
        problem: problem(error, None),
    };
    if files.is_empty() {
        return Kubeconfig::read().map_err(|error| invalid(files, &error));
    }
    let mut merged = Kubeconfig::default();
    for file in files {
        let read = Kubeconfig::read_from(file).and_then(|next| merged.merge(next));
        merged = read.map_err(|error| invalid(std::slice::from_ref(file), &error))?;
    }
    Ok(merged)
}

/// Returns files as messages name them.
fn origin(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    match names.as_slice() {
        [] => "the kubeconfig ~/.kube/config".to_owned(),
        names => format!("the kubeconfig {}", names.join(":")),
    }
}

/// What to do about YAML.
const CHECK: &str = "check the indentation, duplicate keys and the types of values";

/// Says what is wrong with a kubeconfig, and what to do.
fn problem(error: &KubeconfigError, context: Option<&str>) -> String {
    let problem = match error {
        KubeconfigError::ReadConfig(error, _) => return format!("{error}; name another file"),
        KubeconfigError::Parse(error) => {
            return match error.location() {
                Some(at) => format!(
                    "line {}, column {} is not valid: {CHECK}",
                    at.line(),
                    at.column()
                ),
                None => format!("it is not valid: {CHECK}"),
            };
        }
        KubeconfigError::LoadContext(_) => match context {
            Some(context) => {
                return format!("it has no context {context}; name another one with --context");
            }
            None => {
                "it has no context of the name in current-context; set current-context to one of its contexts"
            }
        },
        KubeconfigError::LoadCertificateAuthority(error) => {
            return not_loaded("certificate-authority", error);
        }
        KubeconfigError::LoadClientCertificate(error) => {
            return not_loaded("client-certificate", error);
        }
        KubeconfigError::LoadClientKey(error) => return not_loaded("client-key", error),
        KubeconfigError::CurrentContextNotSet => {
            "it has no current-context; set current-context to one of its contexts"
        }
        KubeconfigError::LoadClusterOfContext(_) => {
            "it has no cluster of the name in the context; correct cluster of the context"
        }
        KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch => {
            "kind and apiVersion must be the same in all files and documents"
        }
        KubeconfigError::FindPath => "the home directory is unknown; set KUBECONFIG",
        KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => {
            "server of the cluster must be a URL, for instance https://192.0.2.1:6443"
        }
        KubeconfigError::ParseProxyUrl(_) => {
            "proxy-url of the cluster, or the variable HTTPS_PROXY, must be a URL"
        }
        KubeconfigError::ParseCertificates(_) => "certificate-authority must be PEM",
    };
    problem.to_owned()
}

/// Says why the data of a field can't be loaded.
fn not_loaded(field: &str, error: &LoadDataError) -> String {
    match error {
        LoadDataError::DecodeBase64(_) => format!("{field}-data must be Base64"),
        LoadDataError::ReadFile(error, _) => {
            format!("the file that {field} names can't be read: {error}")
        }
        LoadDataError::NoBase64DataOrFile => format!("{field} is missing; set {field}-data"),
    }
}

/// Says which field of a kubeconfig names a file or a command.
fn outside(kubeconfig: &Kubeconfig) -> Option<String> {
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|user| user.auth_info.as_ref())
        .flat_map(|user| {
            [
                ("exec", user.exec.is_some()),
                ("auth-provider", user.auth_provider.is_some()),
                ("tokenFile", user.token_file.is_some()),
                ("client-certificate", user.client_certificate.is_some()),
                ("client-key", user.client_key.is_some()),
            ]
        });
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|cluster| cluster.cluster.as_ref())
        .map(|cluster| {
            (
                "certificate-authority",
                cluster.certificate_authority.is_some(),
            )
        });
    let (field, _) = users.chain(clusters).find(|(_, is_set)| *is_set)?;
    Some(format!(
        "it must not have {field}, since a file or a command of the operator is not what it means: use token, client-certificate-data, \
         client-key-data and certificate-authority-data"
    ))
}

/// Says what kube accepts in a configuration, and then panics on or prints.
fn refused(config: &Config) -> Option<String> {
    let user = &config.auth_info;
    let provided = |key: &str| {
        let value = user.auth_provider.as_ref()?.config.get(key)?;
        Some(value.as_str())
    };
    let password = user.password.as_ref();
    let token = user.token.as_ref();
    let credentials = [
        ("username", user.username.as_deref()),
        ("password", password.map(|secret| secret.expose_secret())),
        ("token", token.map(|secret| secret.expose_secret())),
        ("id-token", provided("id-token")),
        ("access-token", provided("access-token")),
    ];
    for (field, value) in credentials {
        if value.is_some_and(|value| value.contains(char::is_control)) {
            return Some(format!(
                "{field} of the user must not contain control characters such as line breaks"
            ));
        }
    }
    let authority = config.cluster_url.authority()?;
    authority.as_str().contains('@').then(|| {
        "server of the cluster must not contain a username or password; set those of the user"
            .to_owned()
    })
}

/// Says why no client can be built of a configuration, and what to do.
fn unusable(error: &kube::Error, plugin: &str) -> String {
    let problem = match error {
        kube::Error::Auth(error) => return no_credentials(error, plugin),
        kube::Error::InferKubeconfig(error) => return problem(error, None),
        kube::Error::RustlsTls(_) => {
            "a certificate, a key or a name isn't valid; check certificate-authority, client-certificate, client-key and \
             tls-server-name"
        }
        kube::Error::ProxyProtocolDisabled { .. }
        | kube::Error::ProxyProtocolUnsupported { .. } => {
            "proxies are not supported; remove proxy-url of the cluster, and unset HTTPS_PROXY"
        }
        kube::Error::HttpError(_) => {
            "as, as-uid, as-groups and as-user-extra of the user must not contain control characters"
        }
        _ => "no client can be built of it",
    };
    problem.to_owned()
}

/// Says why there are no credentials, and what to do.
fn no_credentials(error: &AuthError, plugin: &str) -> String {
    match error {
        AuthError::AuthExecStart(error) => {
            format!("{plugin} can't be started: {error}; install it, or correct its command")
        }
        AuthError::AuthExecRun { out, .. } => {
            format!(
                "{plugin} failed with {}; run it in a terminal to see why",
                out.status
            )
        }
        AuthError::AuthExecParse(_)
        | AuthError::ParseTokenKey(_)
        | AuthError::ExecPluginFailed
        | AuthError::MalformedTokenExpirationDate(_)
        | AuthError::UnrefreshableTokenResponse => {
            format!("{plugin} must print an ExecCredential; run it in a terminal to see its output")
        }
        AuthError::MissingCommand => "exec of the user must have a command".to_owned(),
        AuthError::ReadTokenFile(error, _) => {
            format!("the file that tokenFile names can't be read: {error}")
        }
        AuthError::InvalidBasicAuth(_) | AuthError::InvalidBearerToken(_) => {
            "the token must not contain control characters such as line breaks".to_owned()
        }
        _ => "its credentials can't be used; check auth-provider and exec of the user".to_owned(),
    }
}

#[cfg(test)]
mod tests;
