//! tempest.conf, section by section, and the choice of tests.

use c5c3_api::tempest::{TempestSpec, tested_services};
use provider_openstack::{Config, Files, KeystoneAccess, Owned, Service, owned_options};
use serde_json::{Value, json};

/// The folder in which a run writes.
const WORKSPACE: &str = "/tmp/tempest";

/// What users set elsewhere.
pub const OWNED: [Owned<'_>; 8] = owned_options! {
    "auth" => "nothing: each run has an administrator and projects of its own";
    "service_available" => "tests.services";
    "identity", "uri_v3" => "keystone.authUrl";
    "identity", "region" => "keystone.region";
    "identity", "default_domain_id" => "nothing: each run has a domain of its own";
    "identity", "ca_certificates_file" => "nothing: the CA is in the Secret of Keystone's certificate";
    "DEFAULT", "resource_name_prefix" => "nothing: by it what a run leaves behind is found and deleted";
    "oslo_concurrency", "lock_path" => "nothing: a run writes to its pod only";
};

/// The configuration of Tempest, without accounts and what each run discovers.
pub fn tempest_conf(
    service: &Service<'_>,
    prefix: &str,
    access: &KeystoneAccess,
    files: &mut Files,
) -> Config {
    let mut config = Config::default();
    config
        .section("DEFAULT")
        .set("use_stderr", false)
        // Otherwise every request would be between the results on standard error. Those of a failed test are with its result.
        .set("log_file", format!("{WORKSPACE}/tempest.log"))
        .set("resource_name_prefix", prefix);
    let identity = config.section("identity");
    identity
        .set("uri_v3", access.auth_url())
        .set("region", access.region())
        .set("v3_endpoint_type", "internal");
    if let Some(path) = access.authority(service, files) {
        identity.set("ca_certificates_file", path);
    }
    let tested = tested_services().map(|(_, section)| section);
    let others = tested.filter(|section| *section != "identity");
    for section in others.chain(["object-storage"]) {
        config.section(section).set("endpoint_type", "internal");
    }
    let locks = format!("{WORKSPACE}/locks");
    config.section("oslo_concurrency").set("lock_path", locks);
    // Servers' addresses can't be reached from pods.
    config.section("validation").set("run_validation", false);
    config.merge(&service.extra);
    config
}

/// The choice of tests, as the program that runs them reads it. `owner` is the description of the domain of a run.
pub fn choice(spec: &TempestSpec, owner: &str) -> Value {
    let tests = &spec.tests;
    let mut choice = json!({
        "owner": owner,
        "services": tests.services,
        "include": tests.include_regex.as_deref().unwrap_or_default(),
        "exclude": tests.exclude_regex.as_deref().unwrap_or_default(),
        "concurrency": tests.concurrency,
    });
    // Without it, what is tested has the digest that earlier versions gave it, so that an upgrade repeats no tests.
    if let Some(network) = &spec.external_network {
        choice["network"] = json!(network);
    }
    choice
}
