//! What our composers render of a service: configuration files, variables that stand for options, policies.

use std::collections::BTreeSet;

use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use lab::{ConfigurationFile, Context, Result, ensure};
use provider_cinder::Cinder;
use provider_composer::{Composer, Custom, Failure};
use provider_glance::Glance;
use provider_keystone::Keystone;
use provider_neutron::Neutron;
use provider_nova::Nova;
use provider_openstack::{NOVA_METADATA, NOVA_NOVNCPROXY, Release};
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

/// The service or agent that reads each configuration file.
const READERS: [(&str, &str); 7] = [
    ("keystone.conf", "keystone"),
    ("glance-api.conf", "glance"),
    ("placement.conf", "placement"),
    ("neutron.conf", "neutron"),
    ("neutron-ovn-agent.ini", "neutron-ovn-agent"),
    ("nova.conf", "nova"),
    ("cinder.conf", "cinder"),
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
        let mut missing: BTreeSet<&str> = expected(service).iter().copied().collect();
        for (secret, object) in cluster.all::<Secret>() {
            let keys = object["data"].as_object().into_iter().flatten();
            for (key, _) in keys {
                let text = cluster.value(secret, key).unwrap_or_default();
                if let Some((_, service)) = READERS.iter().find(|(file, _)| file == key) {
                    missing.remove(key.as_str());
                    rendered.files.insert(ConfigurationFile { service, text });
                } else if key == "policy.yaml" {
                    rendered.policies.insert((service, text));
                }
            }
        }
        ensure!(
            missing.is_empty(),
            "{release} of {resource} has no {missing:?}"
        );
        let name = resource["metadata"]["name"].as_str().unwrap_or_default();
        let text = variables(&cluster, name);
        rendered.files.insert(ConfigurationFile { service, text });
    }
    Ok(rendered)
}

/// The files that every resource of a service is given.
fn expected(service: &str) -> &'static [&'static str] {
    match service {
        "keystone" => &["keystone.conf"],
        "glance" => &["glance-api.conf"],
        "placement" => &["placement.conf"],
        "cinder" => &["cinder.conf"],
        "neutron" => &["neutron.conf", "neutron-ovn-agent.ini"],
        _ => &["nova.conf"],
    }
}

/// A resource with all that it names, at rest in one release.
pub fn composed(resource: &Value, release: Release) -> Result<(&'static str, Cluster), Failure> {
    match resource["kind"].as_str() {
        Some("Keystone") => settled("keystone", Keystone, resource, release),
        Some("Glance") => settled("glance", Glance, resource, release),
        Some("Neutron") => settled("neutron", Neutron, resource, release),
        Some("Cinder") => settled("cinder", Cinder, resource, release),
        Some("Nova") => settled("nova", Nova, resource, release),
        _ => settled("placement", Placement, resource, release),
    }
}

fn settled<C: Composer + Send + Sync + 'static>(
    service: &'static str,
    composer: C,
    resource: &Value,
    release: Release,
) -> Result<(&'static str, Cluster), Failure> {
    let mut resource = resource.clone();
    resource["metadata"]["namespace"] = json!(provider_openstack_fixtures::NAMESPACE);
    resource["spec"]["release"] = json!(release.to_string());
    let mut cluster = Cluster::with_infrastructure();
    provide(&resource, &mut cluster);
    if service != "keystone" {
        cluster.put::<Custom<KeystoneSpec>>("keystone", keystone());
    }
    let (operator, name) = (
        composer,
        cluster.put_document::<Custom<C::Spec>>(&resource.to_string()),
    );
    // A mistake is reported at the latest once every prerequisite is ready; what is right comes to rest.
    for _ in 0..3 {
        cluster.compose(&operator, &name)?;
        cluster.simulate();
    }
    cluster.settle(&operator, &name);
    Ok((service, cluster))
}

/// Creates what a resource refers to, and what it looks for by usual names.
fn provide(resource: &Value, cluster: &mut Cluster) {
    let spec = &resource["spec"];
    for name in names(spec) {
        cluster.secret(&name, &VALUES);
        cluster.put::<Manifest<mariadb::MariaDb>>(&name, json!({ "spec": {} }));
        cluster.put::<Manifest<rabbitmq::RabbitmqCluster>>(&name, json!({ "spec": {} }));
    }
    cluster.ovn();
    let serving = cluster.get::<Custom<OvnClusterSpec>>("ovn").cloned();
    let reference = spec["ovn"]["clusterRef"]["name"].as_str();
    if let (Some(name), Some(ovn)) = (reference, serving) {
        cluster.put::<Custom<OvnClusterSpec>>(name, ovn);
        cluster.secret(&format!("{name}-client"), &VALUES);
    }
    let name = resource["metadata"]["name"].as_str().unwrap_or_default();
    let mut served = vec![name.to_owned(), format!("{name}-{}", NOVA_METADATA.name)];
    for cell in spec["cells"].as_array().into_iter().flatten() {
        let cell = cell["name"].as_str().unwrap_or_default();
        served.push(format!("{name}-{cell}-{}", NOVA_NOVNCPROXY.name));
        for secret in ["db-credentials", "rabbitmq-credentials"] {
            cluster.secret(&format!("nova-{cell}-{secret}"), &VALUES);
        }
    }
    for endpoint in served {
        cluster.secret(&format!("{endpoint}-tls"), &VALUES);
    }
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
