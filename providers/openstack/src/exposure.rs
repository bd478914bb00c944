//! The exposure of an API outside the cluster, by an Ingress or a Gateway.

use std::collections::BTreeMap;

use c5c3_api::parts::{self, Exposure, RequestTimeout};
use c5c3_kinds::Manifest;
use c5c3_kinds::gateway::{
    Backend, BackendTlsPolicy, HttpRoute, Rule, Target, Timeouts, Validation,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule,
    IngressServiceBackend, IngressSpec, IngressTLS, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason};

use crate::component::Component;
use crate::definition::ComponentKind;
use crate::objects::{config_map, labelled};
use crate::prerequisite::Prerequisite;
use crate::registry::GLANCE;
use crate::served;
use crate::service::Service;
use crate::tls::Certificate;

/// Annotations that an Ingress may have: those that affect only connections to this service. Others can add controller
/// configuration, host names, or references to Secrets and services of other namespaces.
const ANNOTATIONS: [&str; 19] = [
    "cert-manager.io/cluster-issuer",
    "cert-manager.io/issuer",
    "haproxy-ingress.github.io/backend-protocol",
    "haproxy.org/server-ssl",
    "nginx.ingress.kubernetes.io/backend-protocol",
    "nginx.ingress.kubernetes.io/client-body-buffer-size",
    "nginx.ingress.kubernetes.io/force-ssl-redirect",
    "nginx.ingress.kubernetes.io/limit-connections",
    "nginx.ingress.kubernetes.io/limit-rps",
    "nginx.ingress.kubernetes.io/proxy-body-size",
    "nginx.ingress.kubernetes.io/proxy-buffering",
    "nginx.ingress.kubernetes.io/proxy-connect-timeout",
    "nginx.ingress.kubernetes.io/proxy-read-timeout",
    "nginx.ingress.kubernetes.io/proxy-request-buffering",
    "nginx.ingress.kubernetes.io/proxy-send-timeout",
    "nginx.ingress.kubernetes.io/proxy-ssl-name",
    "nginx.ingress.kubernetes.io/ssl-redirect",
    "nginx.ingress.kubernetes.io/whitelist-source-range",
    "traefik.ingress.kubernetes.io/router.entrypoints",
];

/// Annotations for image uploads and downloads, which ingress-nginx otherwise limits to 1 MiB, keeps on its disk, and ends where Glance is
/// silent for a minute while it stores an image (<https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/>).
/// How long clients may pause, a minute, is for all Ingresses of a controller alike.
const IMAGES: [(&str, &str); 4] = [
    ("nginx.ingress.kubernetes.io/proxy-body-size", "0"),
    ("nginx.ingress.kubernetes.io/proxy-read-timeout", "900"),
    ("nginx.ingress.kubernetes.io/proxy-request-buffering", "off"),
    ("nginx.ingress.kubernetes.io/proxy-send-timeout", "900"),
];

/// Annotations for connections on which nothing is sent for a while, such as those of consoles.
const IDLE: [(&str, &str); 2] = [
    ("nginx.ingress.kubernetes.io/proxy-read-timeout", "3600"),
    ("nginx.ingress.kubernetes.io/proxy-send-timeout", "3600"),
];

/// Why an Ingress can't have some annotations.
fn refused(annotations: &BTreeMap<String, String>) -> Option<Progress> {
    let plain = |value: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" ,-./:_".contains(&byte);
        value.bytes().all(plain)
    };
    let why = annotations.iter().find_map(|(name, value)| {
        match (ANNOTATIONS.contains(&name.as_str()), plain(value)) {
            (false, _) => Some(format!(
                "{name:?} isn't allowed: remove it, or ask the platform team to configure the Ingress controller; allowed are {}",
                ANNOTATIONS.join(", ")
            )),
            (true, false) => Some(format!(
                "the value of {name} must consist of letters, digits, spaces and the characters , - . / : _"
            )),
            (true, true) => None,
        }
    })?;
    let message = format!("expose.ingress.annotations: {why}");
    Some(Progress::failed(Reason::AnnotationNotAllowed, message))
}

impl Service<'_> {
    /// URL of the API for clients outside the cluster, without a path. If the API isn't exposed, the URL within the cluster.
    pub fn public_endpoint(&self) -> String {
        match &self.common.expose {
            Some(exposure) => exposure.url(),
            None => self.endpoint(),
        }
    }
}

impl Component<'_> {
    /// Applies the Ingress or the HTTPRoute, if the component is exposed, and returns its progress.
    pub(crate) fn expose(
        &self,
        certificate: &Prerequisite<Option<Certificate>>,
        desired: &mut DesiredState,
    ) -> Option<Progress> {
        let (Some(exposure), Some(port)) = (self.expose, self.definition.port()) else {
            return None;
        };
        let namespace = self.service.namespace;
        if let Some(ingress) = &exposure.ingress {
            if let Some(refused) = refused(&ingress.annotations) {
                desired.keep(Key::of::<Ingress>(namespace, &self.object));
                return Some(refused);
            }
            desired.apply(namespace, &self.object, &self.ingress(exposure, ingress));
        }
        let Some(gateway) = &exposure.gateway else {
            let ingress = exposure.ingress.as_ref()?;
            return Some(served::by_ingress(self, ingress));
        };
        let unreadable = match self.unreadable_policy(certificate) {
            Ok(unreadable) => unreadable,
            Err(message) => {
                desired.keep(Key::of::<Manifest<HttpRoute>>(namespace, &self.object));
                self.keep_trust(desired);
                return Some(Progress::Unknown { message });
            }
        };
        let route = self.route(exposure, gateway, port);
        desired.apply(namespace, &self.object, &route);
        if let Some(message) = unreadable {
            self.keep_trust(desired);
            return Some(Progress::Unknown { message });
        }
        self.trust(certificate, desired);
        Some(served::by_gateway(self, exposure, gateway))
    }

    fn route(
        &self,
        exposure: &Exposure,
        gateway: &parts::Gateway,
        port: u16,
    ) -> Manifest<HttpRoute> {
        let spec = HttpRoute {
            parent_refs: vec![gateway.clone()],
            hostnames: vec![exposure.hostname.clone()],
            rules: vec![Rule {
                backend_refs: vec![Backend {
                    name: self.object.clone(),
                    port,
                }],
                // Without it, Gateways have a limit of their own, for instance Envoy's of 15 s, which ends uploads of images and calls
                // that the API still answers (https://gateway.envoyproxy.io/docs/tasks/traffic/http-timeouts/). The API has its own.
                // GKE's Gateway refuses a route that has it (https://github.com/kserve/kserve/issues/5311).
                timeouts: match exposure.request_timeout.unwrap_or_default() {
                    RequestTimeout::Unlimited => Some(Timeouts {
                        request: "0s".to_owned(),
                    }),
                    RequestTimeout::Gateway => None,
                },
            }],
        };
        Manifest {
            metadata: self.exposed_metadata(),
            spec,
        }
    }

    /// Metadata without the label of the release, so that a change of release writes nothing that the webhook of a controller which is
    /// away would have to admit. A refused write makes the service Stalled, which rolls the release of a control plane back.
    fn exposed_metadata(&self) -> ObjectMeta {
        labelled(self.selector())
    }

    /// The annotations of the Ingress: what requests need, unless the user says otherwise, and those of the user.
    fn annotations(&self, said: &parts::Ingress) -> BTreeMap<String, String> {
        let needed: &[(&str, &str)] = match self.definition.kind {
            ComponentKind::Proxy { .. } => &IDLE,
            ComponentKind::Wsgi { .. } if self.service.definition.name == GLANCE.name => &IMAGES,
            _ => &[],
        };
        let needed = needed.iter();
        let needed = needed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        needed.chain(said.annotations.clone()).collect()
    }

    fn ingress(&self, exposure: &Exposure, said: &parts::Ingress) -> Ingress {
        let backend = IngressBackend {
            service: Some(IngressServiceBackend {
                name: self.object.clone(),
                port: Some(ServiceBackendPort {
                    name: Some("api".to_owned()),
                    number: None,
                }),
            }),
            resource: None,
        };
        let host = exposure.hostname.clone();
        let certificate = said.tls_secret_name.clone();
        Ingress {
            metadata: ObjectMeta {
                annotations: Some(self.annotations(said))
                    .filter(|annotations| !annotations.is_empty()),
                ..self.exposed_metadata()
            },
            spec: Some(IngressSpec {
                ingress_class_name: said.class_name.clone(),
                tls: Some(vec![IngressTLS {
                    hosts: Some(vec![host.clone()]),
                    secret_name: certificate,
                }]),
                rules: Some(vec![IngressRule {
                    host: Some(host),
                    http: Some(HTTPIngressRuleValue {
                        paths: vec![HTTPIngressPath {
                            path: Some("/".to_owned()),
                            path_type: "Prefix".to_owned(),
                            backend,
                        }],
                    }),
                }]),
                ..IngressSpec::default()
            }),
            ..Ingress::default()
        }
    }

    /// Why the BackendTLSPolicy of an encrypted API can't be read, if it can't. The API serves within the cluster all the same.
    ///
    /// # Errors
    /// Why the route must stay as it is: it can't be read itself, or it would be the first to lead a Gateway to the API, without the policy.
    fn unreadable_policy(
        &self,
        certificate: &Prerequisite<Option<Certificate>>,
    ) -> Result<Option<String>, String> {
        let (namespace, name) = (self.service.namespace, &self.object);
        let observed = self.service.observed;
        let route = observed.object(&Key::of::<Manifest<HttpRoute>>(namespace, name));
        let policy = Key::of::<Manifest<BackendTlsPolicy>>(namespace, name);
        let is_encrypted = !matches!(certificate, Ok(None));
        let policy = is_encrypted.then(|| observed.object(&policy));
        match (route, policy) {
            (Lookup::Unknown(why), _) => Err(why),
            (Lookup::Missing, Some(Lookup::Unknown(why))) => Err(format!(
                "{why}: HTTPRoute {name} isn't created, because without a BackendTLSPolicy the Gateway would send requests to the API \
                 unencrypted; install Gateway API 1.4 or newer if the cluster has none"
            )),
            (Lookup::Found(_), Some(Lookup::Unknown(why))) => Ok(Some(format!(
                "{why}: HTTPRoute {name} is applied, but whether the Gateway trusts the certificate of the API isn't known"
            ))),
            _ => Ok(None),
        }
    }

    /// Keeps what makes Gateways connect to the API with TLS.
    fn keep_trust(&self, desired: &mut DesiredState) {
        let namespace = self.service.namespace;
        desired.keep(Key::of::<Manifest<BackendTlsPolicy>>(
            namespace,
            &self.object,
        ));
        desired.keep(Key::of::<ConfigMap>(namespace, &self.authority()));
    }

    /// The ConfigMap with the authority of the API's certificate, for Gateways.
    fn authority(&self) -> String {
        format!("{}-authority", self.object)
    }

    /// Makes Gateways connect to the API with TLS and verify its certificate, if the API has one.
    fn trust(&self, certificate: &Prerequisite<Option<Certificate>>, desired: &mut DesiredState) {
        let authority = self.authority();
        let certificate = match certificate {
            Ok(Some(certificate)) => certificate,
            Ok(None) => return,
            Err(_) => return self.keep_trust(desired),
        };
        let target = |kind: &str, name: &str| Target {
            group: String::new(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        let mut validation = Validation {
            hostname: self.host(),
            ca_certificate_refs: Vec::new(),
            well_known: None,
        };
        match &certificate.authority {
            Some(text) => {
                let map = config_map(self.metadata(), [("ca.crt", text.clone())]);
                desired.apply(self.service.namespace, &authority, &map);
                validation.ca_certificate_refs = vec![target("ConfigMap", &authority)];
            }
            None => validation.well_known = Some("System".to_owned()),
        }
        let spec = BackendTlsPolicy {
            target_refs: vec![target("Service", &self.object)],
            validation,
        };
        let policy = Manifest {
            metadata: self.exposed_metadata(),
            spec,
        };
        desired.apply(self.service.namespace, &self.object, &policy);
    }
}
