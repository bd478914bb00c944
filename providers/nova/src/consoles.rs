//! Certificates of the consoles of a cell: that of its proxy, which shows the screens of servers, and that of QEMU on its hypervisors.
//!
//! Both are of an authority that signs nothing else. QEMU takes every certificate of the authority that it trusts for that of a client,
//! whatever the certificate is for, and refuses to start with one of its own that is of another authority. So neither the issuer of Nova's
//! endpoints will do, whose certificates every service has, nor that of the hypervisors, by whose certificates one is an administrator of
//! libvirt.

use c5c3_api::hypervisor::{CONSOLE_AUTHORITY, CONSOLE_CERTIFICATE, CONSOLE_KEY};
use c5c3_api::parts::IssuerRef;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use provider_composer::{DesiredState, Key, Lookup, SecretValues};
use provider_openstack::{
    CertificateAuthority, Files, NOVA_NOVNCPROXY, Prerequisite, Program, Section, Service, Source,
    apply_certificate, issued,
};

/// The folder with the proxy's certificate in its pods.
const FOLDER: &str = "/etc/nova/consoles";
/// What the proxy's Secret has, for messages.
const OF_PROXY: &str = "the certificate of the consoles' proxy";

/// Certificates of the consoles of a cell.
#[derive(Clone)]
pub struct Consoles {
    /// The Secret with the proxy's certificate, if that is issued.
    proxy: Prerequisite<String>,
    /// The authority of both certificates.
    authority: String,
    /// The hypervisors' certificate.
    certificate: String,
    /// Its key.
    key: String,
}

/// What the objects of a cell are called.
struct Names {
    /// The authority: its Issuer, its Certificate and its Secret.
    authority: String,
    /// The proxy's Certificate and its Secret.
    proxy: String,
    /// The hypervisors' Certificate and its Secret.
    host: String,
}

impl Names {
    fn of(service: &Service<'_>, cell: &str) -> Self {
        let named = |purpose: &str| service.named(&format!("{cell}-vnc-{purpose}"));
        Self {
            authority: named("ca"),
            proxy: named("proxy"),
            host: named("host"),
        }
    }
}

impl Consoles {
    /// Composes the certificates, and returns them once they are issued. There are none where cert-manager doesn't issue those of Nova's
    /// endpoints.
    ///
    /// # Errors
    /// A certificate isn't issued yet, or can't be read.
    pub fn resolve(
        service: &Service<'_>,
        cell: &str,
        desired: &mut DesiredState,
    ) -> Prerequisite<Option<Self>> {
        let tls = &service.common.tls;
        if !tls.enabled || tls.issuer_ref.is_none() {
            return Ok(None);
        }
        let (namespace, root) = (service.namespace, service.named("vnc-root"));
        let names = Names::of(service, cell);
        let authority = CertificateAuthority {
            name: &names.authority,
            root: &root,
            common_name: &names.authority,
        };
        let metadata = service.metadata(NOVA_NOVNCPROXY.name);
        let issuer = authority.compose(namespace, &metadata, desired);
        for (secret, usage) in [(&names.proxy, "client auth"), (&names.host, "server auth")] {
            let signed = Manifest {
                metadata: metadata.clone(),
                spec: certificate(secret, usage, &issuer),
            };
            apply_certificate(namespace, &signed, service.observed, desired);
        }
        let read =
            |secret: &str, purpose: &str| issued(namespace, secret, purpose, service.observed);
        let proxy = read(&names.proxy, OF_PROXY);
        let host = read(&names.host, "the certificate of consoles on hypervisors");
        proxy?;
        let host = host?;
        Ok(Some(Self {
            proxy: Ok(names.proxy),
            authority: host.text("ca.crt")?.to_owned(),
            certificate: host.text("tls.crt")?.to_owned(),
            key: host.text("tls.key")?.to_owned(),
        }))
    }

    /// What a cell goes on with while a certificate of its consoles isn't issued: the hypervisors' certificate that its Secret has, because
    /// servers run with it, and the proxy's, if that is issued. There are none where the Secret has none: neither an upgrade nor the first
    /// start waits for consoles.
    ///
    /// # Errors
    /// The Secret can't be read.
    pub fn published(
        service: &Service<'_>,
        cell: &str,
        published: &Lookup<SecretValues>,
    ) -> Prerequisite<Option<Self>> {
        let Some(secret) = published.as_ref().optional()? else {
            return Ok(None);
        };
        let file = |key: &str| secret.text(key).map(str::to_owned).ok();
        let (Some(authority), Some(certificate), Some(key)) = (
            file(CONSOLE_AUTHORITY),
            file(CONSOLE_CERTIFICATE),
            file(CONSOLE_KEY),
        ) else {
            return Ok(None);
        };
        let proxy = Names::of(service, cell).proxy;
        let issued = issued(service.namespace, &proxy, OF_PROXY, service.observed);
        Ok(Some(Self {
            proxy: issued.map(|_| proxy),
            authority,
            certificate,
            key,
        }))
    }

    /// Leaves the certificates of a cell as they are.
    pub fn keep(service: &Service<'_>, cell: &str, desired: &mut DesiredState) {
        let (namespace, names) = (service.namespace, Names::of(service, cell));
        desired.keep(Key::of::<Manifest<Issuer>>(namespace, &names.authority));
        for name in [&names.authority, &names.proxy, &names.host] {
            desired.keep(Key::of::<Manifest<Certificate>>(namespace, name));
        }
    }

    /// The Secret with the proxy's certificate.
    ///
    /// # Errors
    /// It isn't issued.
    pub fn proxy(&self) -> Prerequisite<&str> {
        self.proxy.as_deref().map_err(Clone::clone)
    }

    /// Adds what hypervisors need to the files of the cell's Secret.
    pub fn publish(&self, files: &mut Files) {
        files.text(CONSOLE_AUTHORITY, &*self.authority);
        files.text(CONSOLE_CERTIFICATE, &*self.certificate);
        files.secret(CONSOLE_KEY, &*self.key);
    }
}

/// Gives the proxy the Secret with its certificate.
pub fn mount(proxy: Program, secret: &str) -> Program {
    proxy.mount("consoles", FOLDER, Source::Secret(secret.to_owned()))
}

/// Has the proxy connect with TLS to the hypervisors that ask for it. QEMU offers one way, with TLS or without, and the proxy takes the
/// first offer that it may take (`RFBAuthSchemeList.find_scheme` in `nova/console/rfb/auths.py`): servers that were started without TLS,
/// and hypervisors without certificates, have consoles too. It reads the files for each connection, and checks no host name
/// (`nova/console/rfb/authvencrypt.py`).
pub fn configure(vnc: &mut Section) {
    vnc.list("auth_schemes", ["vencrypt", "none"])
        .set("vencrypt_ca_certs", format!("{FOLDER}/ca.crt"))
        .set("vencrypt_client_cert", format!("{FOLDER}/tls.crt"))
        .set("vencrypt_client_key", format!("{FOLDER}/tls.key"));
}

/// A certificate of an issuer in Nova's namespace. It has no names, because nothing checks any.
fn certificate(secret: &str, usage: &str, issuer: &IssuerRef) -> Certificate {
    Certificate {
        common_name: Some(secret.to_owned()),
        secret_name: secret.to_owned(),
        usages: vec![usage.to_owned()],
        issuer_ref: issuer.clone(),
        ..Certificate::default()
    }
}
