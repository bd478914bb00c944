//! What is passed on to every service alike.

use std::collections::BTreeSet;

use c5c3_api::control_plane::Overrides;
use c5c3_api::hypervisor::FIRST_CELL;
use c5c3_api::parts::{
    AppCredentialRef, Common, Dependency, Exposure, ExtraConfig, Image, IssuerRef, KeystoneAccess,
    PolicyOverrides, Tls,
};
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use provider_composer::DesiredState;
use provider_openstack::table::{MEMCACHED, Tags};
use provider_openstack::{
    KEYSTONE, Options, PublishedImage, ServiceDefinition, apply_certificate, dependency_kinds,
    keystone_credentials,
};

use crate::graph::{Node, Step};
use crate::infrastructure::named;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// What every service has.
    pub(crate) fn common(
        &self,
        step: &Step,
        service: &ServiceDefinition,
        tags: &Tags,
        overrides: &Overrides,
    ) -> Common {
        let global = &self.spec().global;
        Common {
            release: Some(tags.release.to_string()),
            image: self.image(tags.of_service(service), &overrides.image),
            tls: self.tls(),
            expose: self.exposed(step.name, overrides.expose.as_ref()),
            topology: global.topology.clone(),
            monitoring: global.monitoring,
            policy_overrides: merged(
                global.policy_overrides.as_ref(),
                overrides.policy_overrides.as_ref(),
            ),
            extra_config: self.extra_config(service, tags, overrides),
            extra_config_secrets: overrides.extra_config_secrets.clone(),
            depends_on: self.depends_on(step),
        }
    }

    /// The options of a service that its user sets, and those that set the quotas of projects. An option that the user sets by a name that
    /// it had before, or in a Secret, is no quota's: the service's operator takes its name of now, and refuses to have it twice.
    fn extra_config(
        &self,
        service: &ServiceDefinition,
        tags: &Tags,
        overrides: &Overrides,
    ) -> ExtraConfig {
        let mut options = overrides.extra_config.clone();
        let ExtraConfig(quotas) = self.spec().bootstrap.quotas.options_of(service.name);
        if quotas.is_empty() {
            return options;
        }
        let given = given(service, tags, overrides);
        for (section, quotas) in quotas {
            for (option, most) in quotas {
                let place = (section.clone(), option);
                if !given.contains(&place) {
                    let (section, option) = place;
                    options.0.entry(section).or_default().insert(option, most);
                }
            }
        }
        options
    }

    /// An image of the release, but for what its user says.
    pub(crate) fn image(&self, published: PublishedImage, said: &Image) -> Image {
        let images = &self.spec().global.images;
        let repository = said.repository.clone();
        let repository =
            repository.unwrap_or_else(|| published.repository(images.registry.as_deref()));
        let tag = said.tag.clone();
        Image {
            repository: Some(repository),
            tag: Some(tag.unwrap_or_else(|| published.tag.to_owned())),
            pull_secrets: match said.pull_secrets.is_empty() {
                true => images.pull_secrets.clone(),
                false => said.pull_secrets.clone(),
            },
            ..said.clone()
        }
    }

    /// Memcached's image, which is Docker's own unless there is a mirror.
    pub(crate) fn memcached_image(&self) -> String {
        MEMCACHED.reference(self.spec().global.images.registry.as_deref())
    }

    /// Encryption of a service's endpoint within the cluster.
    pub(crate) fn tls(&self) -> Tls {
        Tls {
            enabled: self.spec().global.tls.enabled,
            issuer_ref: self.internal_issuer(),
            cert_secret_ref: None,
        }
    }

    /// How an API, or the consoles, are reached from outside. For an Ingress that has no certificate the public issuer is asked
    /// for one.
    pub(super) fn exposed(&self, name: &str, said: Option<&Exposure>) -> Option<Exposure> {
        let mut exposure = said?.clone();
        if self.public_certificate(&exposure).is_some()
            && let Some(ingress) = &mut exposure.ingress
        {
            ingress.tls_secret_name = Some(public_secret(name));
        }
        Some(exposure)
    }

    /// How the API of a service is reached from outside, with the Secret of its certificate.
    pub(crate) fn exposure(&self, service: &ServiceDefinition) -> Option<Exposure> {
        let said = self.services.overrides(service.name)?;
        self.exposed(service.name, said.expose.as_ref())
    }

    /// The issuer of the certificate of a public host name, where it has none.
    fn public_certificate(&self, exposure: &Exposure) -> Option<&IssuerRef> {
        let tls = &self.spec().global.tls;
        let ingress = exposure.ingress.as_ref()?;
        let lacks = tls.enabled && ingress.tls_secret_name.is_none();
        tls.issuer_ref.as_ref().filter(|_| lacks)
    }

    /// Composes the certificates of public host names. The public issuer is asked for no other name.
    pub(crate) fn public_certificates(&self, desired: &mut DesiredState) {
        let services = self.enabled().filter_map(|service| {
            let said = self.services.overrides(service.name)?;
            Some((service.name.to_owned(), said.expose.as_ref()?))
        });
        let cells = self.cells();
        let consoles = cells.filter_map(|(cell, exposure)| Some((consoles_of(cell), exposure?)));
        for (name, exposure) in services.chain(consoles) {
            let Some(issuer) = self.public_certificate(exposure) else {
                continue;
            };
            let certificate = Certificate {
                secret_name: public_secret(&name),
                dns_names: vec![exposure.hostname.clone()],
                usages: vec!["server auth".to_owned()],
                issuer_ref: issuer.clone(),
                ..Certificate::default()
            };
            let certificate = Manifest::of(certificate);
            apply_certificate(self.namespace(), &certificate, self.observed, desired);
        }
    }

    /// How a service authenticates to Keystone.
    pub(crate) fn keystone_access(&self, step: &Step) -> KeystoneAccess {
        let external = self.spec().infrastructure.memcached.external.as_ref();
        KeystoneAccess {
            memcached_servers: external.map_or_else(Vec::new, |cache| cache.servers.clone()),
            ..self.access(AppCredentialRef {
                secret_name: keystone_credentials(step.name),
            })
        }
    }

    /// How whatever refers to its credential by `Credential` authenticates to Keystone.
    pub(crate) fn access<Credential>(&self, credential: Credential) -> KeystoneAccess<Credential> {
        KeystoneAccess {
            auth_url: Some(self.endpoint(&KEYSTONE)),
            region: self.region().to_owned(),
            app_credential_ref: Some(credential),
            ..KeystoneAccess::default()
        }
    }

    /// What a service waits for, as its own operator is told.
    pub(crate) fn depends_on(&self, step: &Step) -> Vec<Dependency> {
        let needs = self.graph.needs(step).filter_map(|need| {
            let (kind, name) = need.objects.first()?;
            let mut known = dependency_kinds();
            known.any(|known| known == *kind).then(|| Dependency {
                kind: kind.kind.to_owned(),
                name: (*name).to_owned(),
                condition: "Ready".to_owned(),
            })
        });
        needs.collect()
    }

    /// The user of a service that another one proves itself to, if it runs.
    pub(crate) fn service_user(&self, node: Node) -> Option<c5c3_api::parts::NamedRef> {
        self.graph.contains(node).then(|| named(node.step().name))
    }
}

/// What the exposure of a cell's consoles is called.
pub(super) fn consoles_of(cell: &str) -> String {
    match cell {
        FIRST_CELL => "consoles".to_owned(),
        cell => format!("consoles-{cell}"),
    }
}

/// The Secret with the certificate of a service's public host name.
fn public_secret(service: &str) -> String {
    format!("{service}-public-tls")
}

/// The options that a user gives a service, by section and name, as its release calls them.
fn given(
    service: &ServiceDefinition,
    tags: &Tags,
    overrides: &Overrides,
) -> BTreeSet<(String, String)> {
    let known = Options::of(service.name, tags.release);
    let all = overrides.given_options();
    let called = all.map(|given| {
        let (section, name) = (given.section, given.name);
        match known.map(|known| known.find(section, name)) {
            Some(Ok(now)) => (now.section.to_owned(), now.name.to_owned()),
            Some(Err(_)) | None => (section.to_owned(), name.to_owned()),
        }
    });
    called.collect()
}

/// Rules of the control plane, and those of a service, which win.
fn merged(
    global: Option<&PolicyOverrides>,
    service: Option<&PolicyOverrides>,
) -> Option<PolicyOverrides> {
    let (Some(global), Some(service)) = (global, service) else {
        return global.or(service).cloned();
    };
    let mut merged = global.clone();
    merged.rules.extend(service.rules.clone());
    if service.config_map_ref.is_some() {
        merged.config_map_ref = service.config_map_ref.clone();
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: &[(&str, &str)], map: Option<&str>) -> PolicyOverrides {
        let each = rules.iter();
        PolicyOverrides {
            rules: each
                .map(|(rule, who)| ((*rule).to_owned(), (*who).to_owned()))
                .collect(),
            config_map_ref: map.map(named),
        }
    }

    #[test]
    fn rule_of_a_service_wins_over_a_global_one() {
        let global = rules(&[("a", "role:admin"), ("b", "role:admin")], Some("global"));
        let service = rules(&[("b", "!"), ("c", "@")], None);
        assert_eq!(
            merged(Some(&global), Some(&service)),
            Some(rules(
                &[("a", "role:admin"), ("b", "!"), ("c", "@")],
                Some("global")
            ))
        );
        assert_eq!(merged(None, Some(&service)), Some(service));
        assert_eq!(merged(None, None), None);
    }
}
