//! nova-migration: prepares a node for servers that come from other hosts, and takes their disks.
//!
//! For a resize or a cold migration, the nova-compute of the old host runs a few commands on the new one over SSH, wherever disks are
//! (`migrate_disk_and_power_off` in nova/virt/libvirt/driver.py, `SshDriver` in nova/virt/libvirt/volume/remotefs.py).

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{CELL, HypervisorPoolSpec, MIGRATION_KEY};
use k8s_openapi::api::core::v1::{Container, EnvVar, Secret, SecretVolumeSource, Volume};
use provider_composer::{
    DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason, SecretValues, named,
};
use provider_openstack::{Prerequisite, empty_dir, labelled, opaque, secret_volume, variable};

use super::propagated;
use crate::configuration::Configuration;
use crate::pod::{
    Agent, Rights, container, host_folder, mount, node_variables, probe, resources, with_user,
};
use crate::pods::Pods;
use crate::{images, status};

/// The agent, and the Secret with the key by which hosts know each other: all of the share, and those of other pools of the cell.
pub const MIGRATION: &str = "nova-migration";
/// The key of the Secret, as in Secrets of the type `kubernetes.io/ssh-auth`.
const PRIVATE_KEY: &str = "ssh-privatekey";
/// Where containers have the Secret.
pub const KEY_FOLDER: &str = "/etc/nova/migration";
/// The port of each node. It isn't that of the node's own SSH server.
const PORT: u16 = 8022;
/// `openstack`, the user and the group that images of OpenStack's services have (package/images). It owns nothing else on a node.
const USER: i64 = 42424;

/// Composes the Secret with the key of Nova's cell. Another one, which shares had before cells had keys, stays: hosts know each other by it.
pub fn key(
    namespace: &str,
    cell: &str,
    nova: &Prerequisite<Configuration>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) {
    let is_free = match observed.get::<SecretValues>(namespace, MIGRATION) {
        Lookup::Found(secret) => is_of_cell(&secret),
        Lookup::Missing => true,
        Lookup::Unknown(_) => false,
    };
    match nova.as_ref().map(Configuration::migration_key) {
        Ok(Some(key)) if is_free => {
            let labels = BTreeMap::from([(CELL.to_owned(), cell.to_owned())]);
            let secret = opaque(labelled(labels), [(PRIVATE_KEY, key)]);
            desired.apply(namespace, MIGRATION, &secret);
        }
        _ => desired.keep(Key::of::<Secret>(namespace, MIGRATION)),
    }
}

/// Whether a Secret has the key of the cell.
pub fn is_of_cell(secret: &Live<SecretValues>) -> bool {
    secret.metadata.labels.contains_key(CELL)
}

/// Whether servers can move between the hosts of the share.
pub fn progress(
    namespace: &str,
    observed: &ObservedState<'_>,
    pods: &Prerequisite<Pods>,
) -> Progress {
    match observed.body::<SecretValues>(namespace, MIGRATION) {
        Lookup::Found(secret) => {
            if secret.value(PRIVATE_KEY).is_none() {
                return Progress::failed(
                    Reason::InvalidSecret,
                    format!(
                        "the Secret {MIGRATION} of the namespace {namespace} has no private key in its key {PRIVATE_KEY}: delete the \
                         Secret, and the operator creates it anew"
                    ),
                );
            }
            match status::rollout(namespace, MIGRATION, observed) {
                Progress::Ready => Progress::Ready,
                rollout => lacking(pods).unwrap_or(rollout),
            }
        }
        Lookup::Missing => Progress::waiting(
            Reason::WaitingFor("Configuration"),
            format!(
                "waits for the SSH key of Nova's cell, {MIGRATION_KEY} in the Secret with Nova's configuration: if it has none, upgrade the \
                 nova-operator, and where you copy the Secret yourself, copy it again"
            ),
        ),
        Lookup::Unknown(message) => Progress::Unknown { message },
    }
}

/// What nodes lack, as the agent said before it ended.
fn lacking(pods: &Prerequisite<Pods>) -> Option<Progress> {
    let pods = pods.as_ref().ok()?;
    let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, message) in pods.said(MIGRATION) {
        nodes.entry(message).or_default().push(node);
    }
    let messages = nodes
        .iter()
        .map(|(message, nodes)| format!("{}: {message}", named(nodes, ", ")));
    let messages: Vec<String> = messages.collect();
    let is_any = !messages.is_empty();
    is_any.then(|| Progress::waiting(Reason::RequirementMissing, messages.join("; ")))
}

/// The variables by which nova-compute and nova-migration find each other.
pub fn variables() -> Vec<EnvVar> {
    vec![variable("MIGRATION_PORT", PORT.to_string())]
}

/// The key for a client of root's, which refuses one that its group may read. A nova-compute starts without it.
pub fn client_key() -> Volume {
    Volume {
        name: "migration".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(MIGRATION.to_owned()),
            default_mode: Some(0o400),
            optional: Some(true),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// The SSH server of a node. It runs as a user who only owns what other hosts have brought, so that whoever has the key reaches no
/// disk of a server that is on the node. It waits until the node's files are those of the lease.
///
/// # Errors
/// The pool has no image for the release.
pub fn nova_migration(
    pool: &HypervisorPoolSpec,
    nova: &Configuration,
    lease: &str,
) -> Prerequisite<Agent> {
    let image = images::of(nova, &pool.images)?;
    let server = container(
        MIGRATION,
        &image,
        include_str!("../scripts/nova-migration.sh"),
        Rights::Capabilities(&[]),
    );
    let mut env = node_variables();
    env.extend(variables());
    env.push(variable("LEASE", lease));
    let server = Container {
        args: Some(vec![
            include_str!("../scripts/migration-command.sh").to_owned(),
        ]),
        env: Some(env),
        resources: Some(resources("10m", "16Mi", "512Mi")),
        readiness_probe: Some(probe(&["pgrep", "sshd"])),
        volume_mounts: Some(vec![
            mount("key", KEY_FOLDER),
            mount("run-migration", "/run/migration"),
            propagated("nova", "/var/lib/nova", "HostToContainer"),
        ]),
        ..with_user(server, USER)
    };
    Ok(Agent {
        containers: vec![server],
        volumes: vec![
            secret_volume("key", MIGRATION),
            empty_dir("run-migration"),
            host_folder("nova", "/var/lib/nova"),
        ],
        group: Some(USER),
        // Disks that are being copied are copied to their end.
        grace: 180,
        ..Agent::default()
    })
}
