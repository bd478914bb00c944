//! What hypervisors need to run nova-compute: a Secret for each cell, which the hypervisor-pool operator hands to nodes.

use c5c3_api::hypervisor::{CELL, MIGRATION_KEY};
use c5c3_api::nova;
use provider_composer::{DesiredState, Lookup, SecretValues};
use provider_openstack::{
    AgentSecret, Config, Files, Messaging, Prerequisite, Release, Service, all,
    compute_configuration,
};

use crate::cells::Cell;
use crate::config::{CONFIG, Facts, STATE, path};
use crate::consoles::Consoles;
use crate::options;

/// Sections of the privileged helpers of nova-compute, os-vif and os-brick.
const PRIVILEGED: [&str; 3] = [
    "nova_sys_admin",
    "vif_plug_ovs_privileged",
    "privsep_osbrick",
];

fn secret<'a>(service: &'a Service<'a>, cell: &'a str) -> AgentSecret<'a> {
    AgentSecret::of(service, format!("{cell}-compute")).label(CELL, cell)
}

/// Composes the Secret of a cell.
///
/// # Errors
/// There is no key of the pool with servers' disks, the SSH key isn't generated yet, or certificates can't be read.
pub fn publish(
    facts: &Facts<'_>,
    cell: &Cell<'_>,
    bus: &Messaging,
    consoles: &Prerequisite<Option<Consoles>>,
    desired: &mut DesiredState,
) -> Prerequisite<()> {
    let (ephemeral, clouds, consoles, key) =
        all((facts.ephemeral, facts.clouds, consoles, &cell.migration_key))?;
    let mut files = Files::default();
    let mut config = nova_conf(facts, cell.spec, bus, &mut files);
    if let Some(ephemeral) = ephemeral {
        ephemeral.configure(&mut config, &mut files);
    }
    files.config(CONFIG, &config);
    clouds.write(facts.service, facts.access, &mut files);
    if let Some(consoles) = consoles {
        consoles.publish(&mut files);
    }
    if let Some(key) = key {
        files.secret(MIGRATION_KEY, key.as_str());
    }
    secret(facts.service, &cell.spec.name).apply(files, desired);
    Ok(())
}

/// Looks for the Secret of a cell.
pub fn published(service: &Service<'_>, cell: &str) -> Lookup<SecretValues> {
    secret(service, cell).lookup()
}

/// The release that the Secret of a cell tells hypervisors to run.
pub fn release(published: &Lookup<SecretValues>) -> Option<Release> {
    AgentSecret::release(published.as_ref().found()?)
}

/// What stands for the configuration that the Secret of a cell gives hypervisors, if it is composed. One that stays as it is may have former
/// credentials.
pub fn configuration(service: &Service<'_>, cell: &str, desired: &DesiredState) -> Option<String> {
    compute_configuration(&secret(service, cell).composed(desired)?)
}

/// The same of a cell that is being removed, if it has this application credential. Its Secret isn't composed again, and its hypervisors keep
/// what they have.
pub fn last_configuration(service: &Service<'_>, cell: &str, credential: &str) -> Option<String> {
    let secret = published(service, cell).found()?;
    let file = secret.text(CONFIG).ok()?;
    compute_configuration(&secret).filter(|_| file.contains(credential))
}

/// Leaves the Secret of a cell as it is.
pub fn keep(service: &Service<'_>, cell: &str, desired: &mut DesiredState) {
    secret(service, cell).keep(desired);
}

/// The configuration of nova-compute. The node adds `host`, `my_ip` and what it keeps for itself in a second file, and `virt_type`
/// where it has no KVM.
fn nova_conf(facts: &Facts<'_>, cell: &nova::Cell, bus: &Messaging, files: &mut Files) -> Config {
    let mut config = facts.common(bus, files);
    config
        .section("DEFAULT")
        .set("compute_driver", "libvirt.LibvirtDriver")
        .set("resume_guests_state_on_host_boot", true);
    config
        .section("compute")
        .set("provider_config_location", "/etc/nova/provider_config");
    config
        .section("libvirt")
        .set("virt_type", "kvm")
        .set("connection_uri", "qemu:///system")
        .same_as("live_migration_inbound_addr", "my_ip")
        .set("live_migration_scheme", "tls")
        .set("live_migration_with_native_tls", true);
    config
        .section("vnc")
        .same_as("server_listen", "my_ip")
        .same_as("server_proxyclient_address", "my_ip")
        .set("novncproxy_base_url", facts.console(cell));
    config
        .section("os_vif_ovs")
        .set("ovsdb_connection", "unix:/run/openvswitch/db.sock");
    config
        .section("oslo_concurrency")
        .set("lock_path", format!("{STATE}/lock"));
    for section in PRIVILEGED {
        config.section(section).set(
            "helper_command",
            format!("privsep-helper --config-file {}", path()),
        );
    }
    // The check of a server group's policy on the host reads the API's database, which a cell has no access to; so where two
    // requests race, they may end on one host (https://docs.openstack.org/nova/latest/admin/cells.html, on upcalls).
    config
        .section("workarounds")
        .set("disable_group_policy_check_upcall", true);
    config.merge(&facts.service.extra.part(options::takes));
    config
}
