//! What our operators accept of what users add, compared with the services themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lab::{ConfigurationFile, OpenStack, Result, Wrong, ensure};
use provider_openstack::{Known, Options, Release};
use serde_json::json;

use super::rendered::composed;

/// Values that are right for some options and wrong for others.
const VALUES: [&str; 18] = [
    "true",
    "Off",
    "7",
    "-3",
    "0.5",
    "a",
    "a,b",
    "1,2",
    "[a,b]",
    "[1,2]",
    "a:b,c:d",
    "a:[b]",
    "http://example.com/v3",
    "ftp://example.com",
    "db.example.com",
    "192.0.2.999",
    "2001:db8::1",
    "",
];
/// How many values are made up for each option, besides those.
const OWN: usize = 4;

/// Every option of every service, with each of those values, and with some that are near its own bounds and choices.
pub fn values(release: Release) -> Result<()> {
    let openstack = OpenStack::of(release)?;
    let mut asked = Vec::new();
    for service in [
        "cinder",
        "keystone",
        "glance",
        "neutron",
        "nova",
        "placement",
    ] {
        let Some(options) = Options::of(service, release) else {
            lab::bail!("nobody knows what {service} reads");
        };
        let all: Vec<Known> = options.all().collect();
        ensure!(all.len() > 100, "{service} has only {} options", all.len());
        for turn in 0..VALUES.len() + OWN {
            let given = all.iter().map(|known| (*known, value(known, turn)));
            asked.push((service, given.collect::<Vec<_>>()));
        }
    }
    let files: Vec<ConfigurationFile> = asked
        .iter()
        .map(|(service, given)| file(service, given))
        .collect();
    for ((service, given), faults) in asked.iter().zip(openstack.faults(&files)?) {
        let of = |wrong| {
            let faults = faults.iter().filter(move |fault| fault.what == wrong);
            faults
                .map(|fault| (fault.section.as_str(), fault.option.as_str()))
                .collect::<BTreeSet<_>>()
        };
        // Those of ways to authenticate are known to the service only where one is chosen.
        let (refused, unknown) = (of(Wrong::Value), of(Wrong::Unknown));
        for (known, value) in given
            .iter()
            .filter(|(known, _)| !unknown.contains(&(known.section, known.name)))
        {
            let ours = known.check(value);
            let theirs = refused.contains(&(known.section, known.name));
            ensure!(
                ours.is_err() == theirs,
                "{service} {release} [{}] {} = {value:?}, {}: {ours:?}, and the service refuses it: {theirs}",
                known.section,
                known.name,
                known.kind
            );
        }
    }
    Ok(())
}

fn value(known: &Known, turn: usize) -> String {
    let Some(turn) = turn.checked_sub(VALUES.len()) else {
        return VALUES[turn].to_owned();
    };
    let (_, inner) = known.kind.split_once('(').unwrap_or_default();
    let inner = inner.trim_end_matches(')');
    if let Some((low, high)) = inner.split_once("..") {
        let bound =
            |bound: &str, by: i128| bound.parse::<i128>().map(|bound| (bound + by).to_string());
        let near = [
            bound(low, 0),
            bound(low, -1),
            bound(high, 0),
            bound(high, 1),
        ];
        return near[turn % near.len()].clone().unwrap_or_default();
    }
    let choices: Vec<&str> = inner.split('|').collect();
    // A dollar begins a reference to another option, which is nothing that a value alone decides.
    let choice = choices[turn % choices.len()].replace('$', "");
    match turn % 2 {
        0 => choice,
        _ => choice.to_uppercase(),
    }
}

fn file(service: &'static str, given: &[(Known, String)]) -> ConfigurationFile {
    let mut text = String::new();
    let mut section = "";
    for (known, value) in given {
        if known.section != section {
            section = known.section;
            let _ = writeln!(text, "[{section}]");
        }
        let _ = writeln!(text, "{} = {value}", known.name);
    }
    ConfigurationFile { service, text }
}

/// Rules, right and wrong, of a service.
const RULES: [(&str, &[(&str, &str)]); 15] = [
    ("placement", &[("placement:usages", "role:admin")]),
    (
        "placement",
        &[(
            "placement:usages",
            "role:admin or (role:reader and project_id:%(project_id)s)",
        )],
    ),
    ("placement", &[("placement:usage", "role:admin")]),
    ("placement", &[("placement:usages", "role:admin or")]),
    ("placement", &[("placement:usages", "(role:admin")]),
    ("placement", &[("placement:usages", "admin")]),
    ("placement", &[("placement:usages", "rule:admin_apy")]),
    (
        "glance",
        &[
            ("add_image", "rule:get_image"),
            ("get_image", "rule:add_image"),
        ],
    ),
    ("keystone", &[("identity:create_project", "not role:guest")]),
    (
        "nova",
        &[(
            "os_compute_api:servers:create",
            "rule:project_member_api and not role:guest",
        )],
    ),
    ("nova", &[("os_compute_api:server:create", "role:admin")]),
    (
        "neutron",
        &[("create_network", "role:admin or role:member")],
    ),
    ("neutron", &[("create_netwrk", "role:admin")]),
    ("cinder", &[("volume:create", "role:admin or role:member")]),
    ("cinder", &[("volume:creat", "role:admin")]),
];

/// Each of those rules is refused by both or by none.
pub fn policies(release: Release) -> Result<()> {
    let openstack = OpenStack::of(release)?;
    for (service, rules) in RULES {
        let rules: BTreeMap<&str, &str> = rules.iter().copied().collect();
        let resource = match service {
            "keystone" => json!({ "kind": "Keystone", "metadata": { "name": service }, "spec": {
                "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } },
                "policyOverrides": { "rules": rules },
            } }),
            "glance" => json!({ "kind": "Glance", "metadata": { "name": service }, "spec": {
                "storage": { "backend": "file" },
                "policyOverrides": { "rules": rules },
            } }),
            "nova" => json!({ "kind": "Nova", "metadata": { "name": service }, "spec": {
                "policyOverrides": { "rules": rules },
            } }),
            "cinder" => json!({ "kind": "Cinder", "metadata": { "name": service }, "spec": {
                "policyOverrides": { "rules": rules },
            } }),
            "neutron" => json!({ "kind": "Neutron", "metadata": { "name": service }, "spec": {
                "ovn": {},
                "policyOverrides": { "rules": rules },
            } }),
            _ => json!({ "kind": "Placement", "metadata": { "name": service }, "spec": {
                "policyOverrides": { "rules": rules },
            } }),
        };
        let ours = composed(&resource, release).err();
        let theirs = openstack.policy_complaints(service, &json!(rules).to_string())?;
        ensure!(
            ours.is_some() == theirs.is_some(),
            "{service} {rules:?}: we say {ours:?}, oslo.policy says {theirs:?}"
        );
    }
    Ok(())
}
