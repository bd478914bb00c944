//! neutron.conf, section by section. It has the options of ML2 and of OVN's driver too: all of Neutron's programs read both.

use c5c3_api::neutron::{Ml2, NetworkType, NeutronSpec, Plugin};
use c5c3_api::parts::name_of;
use provider_openstack::{
    Config, Database, Files, KeystoneAccess, Messaging, Owned, Release, Service, owned_options,
};

use crate::ovn::Ovn;

/// What users set elsewhere.
pub const OWNED: [Owned; 22] = owned_options! {
    "DEFAULT", "auth_strategy" => "nothing: requests without a token are refused";
    "DEFAULT", "core_plugin" => "nothing: ML2 with OVN's driver is the only one";
    "DEFAULT", "service_plugins" => "plugins";
    "DEFAULT", "global_physnet_mtu" => "ml2.mtu";
    "DEFAULT", "dns_domain" => "dns.domain";
    "DEFAULT", "default_availability_zones" => "defaultAvailabilityZones";
    "DEFAULT", "rpc_workers" => "rpcServer";
    "DEFAULT", "rpc_state_report_workers" => "rpcServer";
    "DEFAULT", "transport_url" => "messaging";
    "database", "connection" => "database";
    "ml2", "type_drivers" => "ml2.typeDrivers";
    "ml2", "tenant_network_types" => "ml2.tenantNetworkTypes";
    "ml2", "project_network_types" => "ml2.tenantNetworkTypes";
    "ml2", "mechanism_drivers" => "ml2.mechanismDrivers";
    "ml2", "extension_drivers" => "ml2.extensionDrivers";
    "ml2_type_flat", "flat_networks" => "ml2.physicalNetworks";
    "ml2_type_vlan", "network_vlan_ranges" => "ml2.physicalNetworks";
    // That of agents for DHCP and routers, which OVN replaces.
    "agent", "availability_zone" => "availabilityZone of HypervisorShares, which with claims is the label availability-zone of the pool";
    "ovn", "ovn_nb_connection" => "ovn";
    "ovn", "ovn_sb_connection" => "ovn";
    "nova" => "keystone";
    "placement" => "keystone";
};

/// The drivers for names of ports, of which Neutron takes one: each keeps the name of a port under the same key.
/// <https://docs.openstack.org/neutron/latest/admin/config-dns-int-ext-serv.html>
const DNS_DRIVERS: [&str; 4] = [
    "dns",
    "dns_domain_ports",
    "dns_domain_keywords",
    "subnet_dns_publish_fixed_ip",
];

/// Identifiers of tunnels, as Neutron's documentation has them for OVN.
const TUNNELS: &str = "1:65536";
/// Bytes of Geneve's header with OVN's options; its driver refuses to start with fewer.
const GENEVE_HEADER: u8 = 38;
/// Bytes of VXLAN's header, as Neutron takes them off the MTU of its networks (`VXLAN_ENCAP_OVERHEAD` of neutron-lib).
const VXLAN_HEADER: u8 = 30;
/// Since when the networks of projects aren't called those of tenants.
const PROJECTS: Release = Release::new(2026, 1);

/// What the configuration is made from.
pub struct Facts<'a> {
    /// The service.
    pub service: &'a Service<'a>,
    /// What its user wants.
    pub spec: &'a NeutronSpec,
    /// Its database.
    pub database: &'a Database,
    /// Its message bus.
    pub bus: &'a Messaging,
    /// How it reaches Keystone.
    pub access: &'a KeystoneAccess,
    /// How it reaches OVN.
    pub ovn: &'a Ovn,
}

impl Facts<'_> {
    /// Returns the configuration of Neutron's programs in the control plane.
    pub fn neutron_conf(&self, files: &mut Files) -> Config {
        let Self { service, spec, .. } = self;
        let mut config = Config::base();
        let workers = u8::from(spec.rpc_server.is_some());
        let plugins = spec.plugins.iter().map(name_of);
        let plugins = std::iter::once("ovn-router".to_owned()).chain(plugins);
        let section = config.section("DEFAULT");
        section
            .set("auth_strategy", "keystone")
            .set("core_plugin", "ml2")
            .list("service_plugins", plugins)
            .set("global_physnet_mtu", spec.ml2.mtu)
            .set("state_path", "/tmp")
            .set("rpc_workers", workers)
            .set("rpc_state_report_workers", workers)
            // OVN answers DHCP itself; agents of Neutron's own would need the RPC server.
            .set("enable_traditional_dhcp", spec.rpc_server.is_some());
        if let Some(domain) = &spec.dns.domain {
            section.set("dns_domain", domain);
        }
        if !spec.default_availability_zones.is_empty() {
            section.list(
                "default_availability_zones",
                &spec.default_availability_zones,
            );
        }
        self.database
            .configure(service, config.section("database"), files);
        self.bus.configure(service, &mut config, files);
        self.access.configure(service, &mut config, files);
        // Nova learns which ports are up, and Placement how much bandwidth there is, from Neutron's own service user.
        for other in ["nova", "placement"] {
            let section = config.section(other);
            section
                .set("region_name", self.access.region())
                .set("endpoint_type", "internal");
            self.access.authenticate(service, section, files);
        }
        self.ml2(&mut config);
        let section = config.section("ovn");
        self.ovn.configure(section, files);
        section
            .set("ovn_metadata_enabled", true)
            .list("dns_servers", name_servers(&spec.dns.servers));
        config.merge(&service.extra);
        config
    }

    fn ml2(&self, config: &mut Config) {
        let ml2 = &self.spec.ml2;
        let project_types = match self.service.release < PROJECTS {
            true => "tenant_network_types",
            false => "project_network_types",
        };
        let has_vxlan = ml2.type_drivers.contains(&NetworkType::Vxlan);
        // The tunnels of all networks have Geneve's header: nodes offer no other (`ovn-encap-type`).
        let missing = match has_vxlan {
            true => GENEVE_HEADER - VXLAN_HEADER,
            false => 0,
        };
        config
            .section("ml2")
            .list("type_drivers", ml2.type_drivers.iter().map(name_of))
            .list(project_types, ml2.tenant_network_types.iter().map(name_of))
            .list("mechanism_drivers", &ml2.mechanism_drivers)
            .list("extension_drivers", self.extension_drivers())
            .set("path_mtu", ml2.mtu - u32::from(missing));
        let networks = ml2.physical_networks.iter();
        config
            .section("ml2_type_flat")
            .list("flat_networks", networks.map(|network| &network.name));
        config
            .section("ml2_type_vlan")
            .list("network_vlan_ranges", vlan_ranges(ml2));
        config
            .section("ml2_type_geneve")
            .set("max_header_size", GENEVE_HEADER)
            .set("vni_ranges", TUNNELS);
        if has_vxlan {
            config.section("ml2_type_vxlan").set("vni_ranges", TUNNELS);
        }
    }

    /// The drivers of ML2 for what networks and ports have besides, with those that other fields ask for.
    fn extension_drivers(&self) -> Vec<&str> {
        let spec = self.spec;
        let mut drivers: Vec<&str> = spec
            .ml2
            .extension_drivers
            .iter()
            .map(String::as_str)
            .collect();
        let has_dns = drivers.iter().any(|driver| DNS_DRIVERS.contains(driver));
        let asked = [
            ("qos", spec.plugins.contains(&Plugin::Qos)),
            ("dns", spec.dns.domain.is_some() && !has_dns),
        ];
        for (driver, _) in asked.iter().filter(|(_, asked)| *asked) {
            if !drivers.contains(driver) {
                drivers.push(driver);
            }
        }
        drivers
    }
}

/// The name servers of subnets that name none. For a version of IP without any, Neutron would announce those in `/etc/resolv.conf` of its
/// own pod, which servers don't reach; the address that stands for any says that there are none (`get_dhcp_dns_servers` of
/// `neutron/common/ovn/utils.py`).
fn name_servers(given: &[String]) -> impl Iterator<Item = &str> {
    let is_v6 = |address: &str| address.contains(':');
    let absent = ["0.0.0.0", "::"]
        .into_iter()
        .filter(move |any| !given.iter().any(|one| is_v6(one) == is_v6(any)));
    given.iter().map(String::as_str).chain(absent)
}

/// The VLANs of physical networks, as ML2 writes them: `physnet1:1000:1999`, and a name alone for provider networks only.
fn vlan_ranges(ml2: &Ml2) -> impl Iterator<Item = String> {
    ml2.physical_networks
        .iter()
        .map(|network| match network.vlan_range {
            Some(range) => format!("{}:{}:{}", network.name, range.first(), range.last()),
            None => network.name.clone(),
        })
}
