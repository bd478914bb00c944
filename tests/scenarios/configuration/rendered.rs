//! What our composers render of a service: configuration files, variables that stand for options, policies.

use std::collections::BTreeSet;

use c5c3_api::glance::GlanceSpec;
use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::placement::PlacementSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use lab::{ConfigurationFile, Context, Result};
use provider_composer::{Custom, Failure, Operator};
use provider_glance::Glance;
use provider_keystone::Keystone;
use provider_openstack::Release;
use provider_openstack_fixtures::Cluster;
use provider_placement::Placement;
use serde_json::{Value, json};

/// What any Secret may be asked for.
const VALUES: [(&str, &str); 13] = [
    ("username", "somebody"),
    ("password", "p$ss\"w:rd/ #"),
    ("secret", "p$ss\"w:rd/ #"),
    ("accessKey", "access"),
    ("secretKey", "$ecret"),
    ("userID", "somebody"),
    ("keyring", "[client.somebody]\n\tkey = secret\n"),
    ("ceph.conf", "[global]\n"),
    ("application_credential_id", "1f2e"),
    ("application_credential_secret", "$ecret"),
    ("tls.crt", "certificate"),
    ("tls.key", "key"),
    ("ca.crt", "authority"),
];

/// The configuration files and the policies of a release.
#[derive(Default)]
pub struct Rendered {
    /// Each once.
    pub files: BTreeSet<ConfigurationFile>,
    /// By service, each once.
    pub policies: BTreeSet<(&'static str, String)>,
}

/// What each resource is given in one release.
pub fn rendered(resources: &[Value], release: Release) -> Result<Rendered> {
    let mut rendered = Rendered::default();
    for resource in resources {
        let (service, cluster) = composed(resource, release)
            .with_context(|| format!("{release} of {resource} can't be composed"))?;
        let name = resource["metadata"]["name"].as_str().unwrap_or_default();
        let prefix = format!("{name}-config-");
        let mut found = cluster.all::<Secret>().into_iter();
        let (secret, files) = found
            .rfind(|(secret, _)| secret.starts_with(&prefix))
            .with_context(|| format!("{release} of {resource} has no configuration"))?;
        for key in files["data"]
            .as_object()
            .into_iter()
            .flat_map(|data| data.keys())
        {
            let text = cluster.value(secret, key).unwrap_or_default();
            if key.ends_with(".conf") {
                rendered.files.insert(ConfigurationFile { service, text });
            } else if key == "policy.yaml" {
                rendered.policies.insert((service, text));
            }
        }
        let text = variables(&cluster, name);
        rendered.files.insert(ConfigurationFile { service, text });
    }
    Ok(rendered)
}

/// A resource with all that it names, at rest in one release.
pub fn composed(resource: &Value, release: Release) -> Result<(&'static str, Cluster), Failure> {
    let mut resource = resource.clone();
    resource["metadata"]["namespace"] = json!(provider_openstack_fixtures::NAMESPACE);
    resource["spec"]["release"] = json!(release.to_string());
    let mut cluster = Cluster::with_infrastructure();
    for secret in names(&resource["spec"]) {
        cluster.secret(&secret, &VALUES);
    }
    let text = resource.to_string();
    let (service, operator, name): (_, Box<dyn Operator>, _) = match resource["kind"].as_str() {
        Some("Keystone") => (
            "keystone",
            Box::new(Keystone),
            cluster.put_document::<Custom<KeystoneSpec>>(&text),
        ),
        Some("Glance") => (
            "glance",
            Box::new(Glance),
            cluster.put_document::<Custom<GlanceSpec>>(&text),
        ),
        _ => (
            "placement",
            Box::new(Placement),
            cluster.put_document::<Custom<PlacementSpec>>(&text),
        ),
    };
    if service != "keystone" {
        cluster.put::<Custom<KeystoneSpec>>("keystone", keystone());
    }
    // A mistake is reported at the latest when nothing is awaited any more; all that is right comes to rest.
    for _ in 0..3 {
        cluster.compose(operator.as_ref(), &name)?;
        cluster.play();
    }
    cluster.settle(operator.as_ref(), &name);
    Ok((service, cluster))
}

/// The Keystone that the other services look for.
fn keystone() -> Value {
    json!({
        "spec": { "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } } },
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "endpoint": "https://keystone.openstack.svc.cluster.local:5000",
        },
    })
}

/// The names of everything that a resource refers to.
fn names(value: &Value) -> Vec<String> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().flat_map(names).collect(),
        _ => return Vec::new(),
    };
    let named = fields.iter().flat_map(|(field, value)| {
        let name = ["name", "secretName"]
            .into_iter()
            .find_map(|name| value[name].as_str());
        let name = name.filter(|_| field.ends_with("Ref")).map(str::to_owned);
        name.into_iter().chain(names(value))
    });
    named.collect()
}

/// The variables of the API's pods that stand for options, as a file
/// (<https://docs.openstack.org/oslo.config/latest/reference/drivers.html>).
fn variables(cluster: &Cluster, name: &str) -> String {
    let deployment = cluster.get::<Deployment>(name);
    let variables = deployment
        .and_then(|deployment| {
            deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array()
        })
        .into_iter()
        .flatten();
    let options = variables.filter_map(|variable| {
        let (section, option) = variable["name"]
            .as_str()?
            .strip_prefix("OS_")?
            .split_once("__")?;
        let section = if section == "DEFAULT" {
            section.to_owned()
        } else {
            section.to_lowercase()
        };
        let value = variable["value"]
            .as_str()
            .unwrap_or_default()
            .replace("$(POD_IP)", "192.0.2.1");
        Some(format!(
            "[{section}]\n{} = {value}\n",
            option.to_lowercase()
        ))
    });
    options.collect()
}
