//! Certificates of OVN's servers, of its clients and of its nodes.

use c5c3_api::ovn_cluster::ISSUER_EXCLUSIVE;
use c5c3_api::parts::IssuerRef;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Key, ObservedState, Progress, Reason, SecretValues};
use provider_openstack::{Prerequisite, apply_certificate, issued, opaque};

use crate::network::{Database, Network};
use crate::ovsdb::ClientCertificate;

/// The folder of a pod with certificate and key.
pub(crate) const FOLDER: &str = "/etc/ovn/tls";
/// The component that the objects are labelled with.
const COMPONENT: &str = "tls";

/// What connections are encrypted with.
pub(crate) struct Encryption {
    /// The Secret with the servers' certificate, which northd has too.
    pub(crate) servers: String,
    /// The certificate of clients in the control plane.
    pub(crate) client: ClientCertificate,
    /// The certificate of nodes, which is never the servers'.
    pub(crate) node: Prerequisite<ClientCertificate>,
}

impl Network<'_> {
    /// The Secret for clients in the namespace.
    fn client_secret(&self) -> String {
        self.named("client")
    }

    /// The certificate of clients in the control plane. None where connections aren't encrypted.
    pub(crate) fn client(
        &self,
        observed: &ObservedState<'_>,
    ) -> Prerequisite<Option<ClientCertificate>> {
        if !self.spec.tls.enabled {
            return Ok(None);
        }
        let (secret, purpose) = (self.client_secret(), "the clients' certificate");
        let values = SecretValues::read(observed, self.namespace, &secret, purpose)?;
        certificate(&values).map(Some)
    }

    /// Composes certificates where cert-manager issues them, else the clients' Secret. None where connections aren't
    /// encrypted.
    pub(crate) fn encryption(
        &self,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Prerequisite<Option<Encryption>> {
        let tls = &self.spec.tls;
        if !tls.enabled {
            return Ok(None);
        }
        let given = tls.cert_secret_ref.as_ref().map(|given| given.name.clone());
        let servers = given.unwrap_or_else(|| self.named("tls"));
        let Some(issuer) = &tls.issuer_ref else {
            let purpose = "certificate, key and ca.crt of OVN: create it, or set tls.issuerRef (of a ControlPlane: global.tls.internalIssuerRef)";
            let certificate = self.certificate(&servers, purpose, observed);
            let certificate = certificate.inspect_err(|_| {
                desired.keep(Key::of::<Secret>(self.namespace, &self.client_secret()));
            })?;
            let secret = self.secret(COMPONENT, Some(&certificate));
            desired.apply(self.namespace, &self.client_secret(), &secret);
            let purpose = "certificate, key and ca.crt of the nodes: create it, or set tls.issuerRef (of a ControlPlane: global.tls.internalIssuerRef)";
            return Ok(Some(Encryption {
                servers,
                client: certificate,
                node: self.certificate(&self.named("chassis-tls"), purpose, observed),
            }));
        };
        let services = Database::ALL.map(|database| self.host(self.service(database)));
        let names = services
            .iter()
            .flat_map(|host| [host.clone(), format!("*.{host}")])
            .chain([self.host(&self.named("sb-relay"))]);
        let (client, node) = (self.client_secret(), self.named("chassis-tls"));
        let each = [
            (&servers, names.collect()),
            (&client, vec![]),
            (&node, vec![]),
        ];
        for (secret, names) in each {
            self.issue(secret, names, issuer, observed, desired);
        }
        let purpose = "a certificate from cert-manager";
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let [own, client, node] =
            [&servers, &client, &node].map(|secret| self.certificate(secret, purpose, observed));
        own?;
        Ok(Some(Encryption {
            servers,
            client: client?,
            node,
        }))
    }

    /// Reports an issuer that may sign for others. OVSDB takes every certificate of the issuer for a client that may change everything.
    pub(crate) fn report_issuer(&self, desired: &mut DesiredState) {
        let tls = &self.spec.tls;
        let issuer = tls.issuer_ref.as_ref().filter(|_| tls.enabled);
        let shared = issuer.filter(|issuer| issuer.is_shared());
        if let Some(shared) = shared {
            let message = format!(
                "every certificate of ClusterIssuer {}, also of others, gives access to the databases: when no client has to connect for \
                 some minutes, name in tls.issuerRef an Issuer that signs for this OVNCluster alone (of a ControlPlane: as its condition \
                 {ISSUER_EXCLUSIVE} says)",
                shared.name
            );
            let progress = Progress::failed(Reason::IssuerShared, message);
            desired.conditions.note(ISSUER_EXCLUSIVE, &progress);
        }
    }

    /// Composes a certificate: of servers, which are clients too, or of clients alone, which have no names.
    fn issue(
        &self,
        secret: &str,
        names: Vec<String>,
        issuer: &IssuerRef,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        let server = (!names.is_empty()).then(|| "server auth".to_owned());
        let usages = server.into_iter().chain(["client auth".to_owned()]);
        let certificate = Manifest {
            metadata: self.metadata(COMPONENT),
            spec: Certificate {
                common_name: Some(secret.to_owned()),
                secret_name: secret.to_owned(),
                dns_names: names,
                usages: usages.collect(),
                issuer_ref: issuer.clone(),
                ..Certificate::default()
            },
        };
        apply_certificate(self.namespace, &certificate, observed, desired);
    }

    /// The certificate in a Secret, or why cert-manager hasn't issued it.
    fn certificate(
        &self,
        secret: &str,
        purpose: &str,
        observed: &ObservedState<'_>,
    ) -> Prerequisite<ClientCertificate> {
        let values = issued(self.namespace, secret, purpose, observed)?;
        certificate(&values)
    }

    /// A Secret with a certificate, if there is one.
    pub(crate) fn secret(
        &self,
        component: &str,
        certificate: Option<&ClientCertificate>,
    ) -> Secret {
        let values = certificate.map(|certificate| {
            [
                ("ca.crt", certificate.authority.as_str()),
                ("tls.crt", certificate.certificate.as_str()),
                ("tls.key", certificate.key.as_str()),
            ]
        });
        opaque(self.metadata(component), values.into_iter().flatten())
    }
}

fn certificate(values: &SecretValues) -> Prerequisite<ClientCertificate> {
    Ok(ClientCertificate {
        authority: values.text("ca.crt")?.to_owned(),
        certificate: values.text("tls.crt")?.to_owned(),
        key: values.text("tls.key")?.to_owned(),
    })
}
