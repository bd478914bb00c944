//! Configuration files and policies, validated by the services that read them, of every release. Rows that are purged from their databases,
//! and what is run in Nova's. And what our own operators accept of what users add, compared with them.

mod nova;
mod purged;
mod rendered;
mod resources;
mod validated;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::{ConfigurationFile, OpenStack, Result, Wrong, ensure, tables};
use provider_openstack::Release;

use rendered::rendered;
use resources::resources;

use lab::scenario;
use lab::suite::{Need, Scenario};

/// The services of every release.
const RELEASES: &[Need] = &[
    Need::Python("openstack-2025.1"),
    Need::Python("openstack-2025.2"),
    Need::Python("openstack-2026.1"),
    Need::Python("openstack-2026.2"),
];

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 240 s, what_is_rendered_is_read_by_2025_1, [RELEASES]),
    scenario!(Cloud, 240 s, what_is_rendered_is_read_by_2025_2, [RELEASES]),
    scenario!(Cloud, 240 s, what_is_rendered_is_read_by_2026_1, [RELEASES]),
    scenario!(Cloud, 240 s, what_is_rendered_is_read_by_2026_2, [RELEASES]),
    scenario!(Cloud, 60 s, a_file_with_mistakes_is_found_out, [RELEASES]),
    scenario!(Cloud, 120 s, the_tables_are_what_the_services_say, [RELEASES]),
    scenario!(Cloud, 90 s, operators_validate_values_as_the_oldest_services_do, [RELEASES]),
    scenario!(Cloud, 90 s, operators_validate_values_as_the_newest_services_do, [RELEASES]),
    scenario!(Cloud, 120 s, operators_validate_policies_as_oslo_does, [RELEASES]),
    scenario!(Cloud, 120 s, purged::purge_leaves_rows_of_glance_that_are_in_use, [RELEASES]),
    scenario!(Cloud, 360 s, programs_work_in_databases_of_nova_2025_1, [RELEASES]),
    scenario!(Cloud, 360 s, programs_work_in_databases_of_nova_2025_2, [RELEASES]),
    scenario!(Cloud, 360 s, programs_work_in_databases_of_nova_2026_1, [RELEASES]),
    scenario!(Cloud, 360 s, programs_work_in_databases_of_nova_2026_2, [RELEASES]),
];

/// What every example, every size and every choice of a resource renders is what the services of a release read.
fn is_read(year: u16, half: u8) -> Result<()> {
    let openstack = OpenStack::of(Release::new(year, half))?;
    let rendered = rendered(&resources()?, openstack.release)?;
    let files: Vec<ConfigurationFile> = rendered.files.into_iter().collect();
    ensure!(files.len() > 20, "only {} files", files.len());
    for (file, faults) in files.iter().zip(openstack.faults(&files)?) {
        ensure!(faults.is_empty(), "{faults:?} in {file:?}");
    }
    let services: BTreeSet<&str> = rendered
        .policies
        .iter()
        .map(|(service, _)| *service)
        .collect();
    ensure!(services.len() == 6, "{services:?}");
    for (service, rules) in &rendered.policies {
        let complaints = openstack.policy_complaints(service, rules)?;
        ensure!(complaints.is_none(), "{service} of {rules}: {complaints:?}");
    }
    Ok(())
}

fn what_is_rendered_is_read_by_2025_1() -> Result<()> {
    is_read(2025, 1)
}

fn what_is_rendered_is_read_by_2025_2() -> Result<()> {
    is_read(2025, 2)
}

fn what_is_rendered_is_read_by_2026_1() -> Result<()> {
    is_read(2026, 1)
}

fn what_is_rendered_is_read_by_2026_2() -> Result<()> {
    is_read(2026, 2)
}

/// The check finds every kind of fault: else its silence would mean nothing.
fn a_file_with_mistakes_is_found_out() -> Result<()> {
    let openstack = OpenStack::of(Release::new(2026, 1))?;
    let mistakes = [
        ("keystone", "[cache]\nmemcach_servers = a\n", Wrong::Unknown),
        ("keystone", "[cahce]\nenabled = true\n", Wrong::Unknown),
        ("keystone", "[DEFAULT]\nlog_config = a\n", Wrong::Renamed),
        (
            "keystone",
            "[token]\ncache_on_issue = true\n",
            Wrong::Deprecated,
        ),
        ("keystone", "[token]\nexpiration = 1h\n", Wrong::Value),
        ("keystone", "[cache]\nbackend = redis\n", Wrong::Value),
        (
            "keystone",
            "[database]\nconnection = a\nconnection = b\n",
            Wrong::Value,
        ),
        (
            "placement",
            "[keystone_authtoken]\nauth_type = v3appcred\n",
            Wrong::Auth,
        ),
        (
            "placement",
            "[keystone_authtoken]\nauth_type = v3applicationcredential\nauth_url = http://a\n",
            Wrong::Auth,
        ),
        (
            "glance",
            "[keystone_authtoken]\nauth_type = password\nauth_url = http://a\nusrname = a\n",
            Wrong::Unknown,
        ),
        (
            "glance",
            "[DEFAULT]\nenabled_backends = fast:s3\n[fast]\ns3_store_hots = a\n",
            Wrong::Unknown,
        ),
        (
            "glance",
            "[DEFAULT]\nenabled_backends = rbd\n",
            Wrong::Value,
        ),
        ("nova", "[vnc]\nnovncproxy_prt = 1\n", Wrong::Unknown),
        ("nova", "[libvirt]\nvirt_type = kmv\n", Wrong::Value),
        ("nova", "[serial_console]\nport_range = 1\n", Wrong::Value),
        (
            "nova",
            "[placement]\nauth_type = password\nauth_url = http://a\nusrname = a\n",
            Wrong::Unknown,
        ),
        ("neutron", "[ml2]\ntype_driver = geneve\n", Wrong::Unknown),
        (
            "neutron",
            "[DEFAULT]\nglobal_physnet_mtu = a\n",
            Wrong::Value,
        ),
        (
            "neutron-ovn-agent",
            "[ovn]\novn_sb_connections = a\n",
            Wrong::Unknown,
        ),
        (
            "cinder",
            "[DEFAULT]\nenabled_backends = a\n[a]\nrbd_pol = a\n",
            Wrong::Unknown,
        ),
        ("cinder", "[DEFAULT]\nquota_volumes = a\n", Wrong::Value),
        ("placement", "nonsense\n", Wrong::File),
    ];
    let files = mistakes.map(|(service, text, _)| ConfigurationFile {
        service,
        text: text.to_owned(),
    });
    for ((service, text, wrong), faults) in mistakes.into_iter().zip(openstack.faults(&files)?) {
        let found = faults.iter().any(|fault| fault.what == wrong);
        ensure!(
            found,
            "{service} doesn't say that {text:?} is {wrong:?}: {faults:?}"
        );
    }
    Ok(())
}

fn the_tables_are_what_the_services_say() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/openstack/options");
    let tables = tables()?;
    ensure!(
        tables.len() == fs::read_dir(&folder)?.count(),
        "{:?}",
        tables.keys()
    );
    for (name, text) in tables {
        ensure!(
            fs::read_to_string(folder.join(&name))? == text,
            "{name} isn't what the services say: run `cargo run -p lab --bin lab-tables`"
        );
    }
    Ok(())
}

fn operators_validate_values_as_the_oldest_services_do() -> Result<()> {
    validated::values(Release::new(2025, 1))
}

fn operators_validate_values_as_the_newest_services_do() -> Result<()> {
    validated::values(Release::new(2026, 2))
}

fn operators_validate_policies_as_oslo_does() -> Result<()> {
    validated::policies(Release::new(2026, 2))
}

fn programs_work_in_databases_of_nova_2025_1() -> Result<()> {
    nova::programs(2025, 1)
}

fn programs_work_in_databases_of_nova_2025_2() -> Result<()> {
    nova::programs(2025, 2)
}

fn programs_work_in_databases_of_nova_2026_1() -> Result<()> {
    nova::programs(2026, 1)
}

fn programs_work_in_databases_of_nova_2026_2() -> Result<()> {
    nova::programs(2026, 2)
}
