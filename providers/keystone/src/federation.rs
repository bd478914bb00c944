//! Users of another identity provider: Apache before Keystone speaks OpenID Connect with it
//! (<https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html>).

use c5c3_api::keystone::{Federation, IdentityProvider};
use provider_composer::{Progress, Reason};
use provider_openstack::{
    CERTIFICATE, Config, Files, KEYSTONE, Owned, Prerequisite, ReverseProxy, Service, UPSTREAM_PORT,
};

/// Apache's configuration file. Keystone takes each that ends in `.conf` for its own.
const CONFIG: &str = "apache";
/// Who signs for the identity provider, where not everybody trusts it.
const AUTHORITY: &str = "identity-provider.ca.crt";
/// Where Debian has Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";
/// What claims begin with that Apache hands on. They are variables of the request, which no header can be.
const CLAIM: &str = "OIDC_CLAIM_";

const PROVIDER: &str = "federation.identityProvider";
/// What users set elsewhere where there is one: by what Keystone believes, anybody could be anyone.
const OWNED: [Owned; 2] = [
    Owned::option("federation", "assertion_prefix", PROVIDER),
    Owned::option("federation", "remote_id_attribute", PROVIDER),
];

/// What of Keystone's configuration is the operator's for it.
pub fn owned(federation: &Federation) -> &'static [Owned<'static>] {
    match federation.identity_provider {
        Some(_) => &OWNED,
        None => &[],
    }
}

/// The identity provider, and what Keystone proves to it that it is itself with.
pub struct Identities<'a> {
    provider: &'a IdentityProvider,
    secret: String,
    /// Who signs for it.
    authority: Option<String>,
}

impl<'a> Identities<'a> {
    /// The identity provider, if there is one.
    ///
    /// # Errors
    /// The client's secret doesn't exist, or can't be written into Apache's configuration.
    pub fn resolve(
        service: &Service<'_>,
        federation: &'a Federation,
    ) -> Prerequisite<Option<Self>> {
        let provider = federation.identity_provider.as_ref();
        let Some(provider) = provider.filter(|_| federation.enabled) else {
            return Ok(None);
        };
        let reference = &provider.client_secret_ref;
        let purpose = "the client's secret for the identity provider";
        let values = service.secret(&reference.name, purpose)?;
        let secret = values.line(&reference.key)?;
        // Apache would run the one as a program, and put something else in for the other.
        if secret.starts_with("exec:") || secret.contains("${") {
            let message = format!(
                "key {} of Secret {} begins with exec: or has ${{ in it, which Apache reads as something else: have the \
                 identity provider make another secret",
                reference.key, reference.name
            );
            return Err(Progress::failed(Reason::InvalidSecret, message));
        }
        Ok(Some(Self {
            provider,
            secret: secret.to_owned(),
            authority: values.authority()?.map(str::to_owned),
        }))
    }

    /// Says to Keystone and to Apache what each needs to know.
    pub fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        config
            .section("federation")
            // Keystone believes what begins so, at /v3/auth/tokens too, and headers else.
            .set("assertion_prefix", CLAIM)
            .set("remote_id_attribute", format!("{CLAIM}iss"));
        files.secret(CONFIG, self.httpd_conf(service));
        if let Some(authority) = &self.authority {
            files.text(AUTHORITY, authority);
        }
    }

    /// Apache, which lets requests that have begun come to their end.
    pub fn reverse_proxy() -> ReverseProxy {
        let server = format!(
            "/usr/sbin/apache2 -DFOREGROUND -f {} & server=$!; trap 'kill -WINCH $server' TERM; wait $server; wait $server",
            KEYSTONE.file(CONFIG)
        );
        ReverseProxy {
            name: "federation",
            command: ["sh", "-c", &server].map(str::to_owned).into(),
        }
    }

    fn httpd_conf(&self, service: &Service<'_>) -> String {
        let encryption = match service.common.tls.enabled {
            true => format!(
                "LoadModule ssl_module {MODULES}/mod_ssl.so\n\n\
                 SSLEngine On\n\
                 SSLCertificateFile {CERTIFICATE}/tls.crt\n\
                 SSLCertificateKeyFile {CERTIFICATE}/tls.key\n"
            ),
            false => String::new(),
        };
        let trusted = match self.authority {
            Some(_) => format!("OIDCCABundlePath {}\n", KEYSTONE.file(AUTHORITY)),
            None => String::new(),
        };
        format!(
            include_str!("httpd.conf"),
            name = service.host(),
            port = service.definition.port(),
            modules = MODULES,
            encryption = encryption,
            upstream = UPSTREAM_PORT,
            claim = CLAIM,
            trusted = trusted,
            issuer = self.provider.issuer.trim_end_matches('/'),
            client = self.provider.client_id,
            secret = self.secret.replace('\\', "\\\\").replace('"', "\\\""),
            scopes = self.provider.scopes.join(" "),
        )
    }
}
