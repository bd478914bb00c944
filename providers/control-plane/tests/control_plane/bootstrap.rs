//! What users find on the first day: flavors, the external network, a network in the tenant's first project.

use provider_composer::{Key, ResourceKind};
use provider_composer_testing::condition;
use provider_control_plane::credentials::flavors;
use provider_control_plane::credentials::neutron::Question;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, key};

fn flavor(name: &str) -> Key {
    let kind = ResourceKind::namespaced("openstack.k-orc.cloud", "v1alpha1", "Flavor", "flavors");
    Key::new(kind, NAMESPACE, name)
}

/// A control plane with an external network on physnet1, and one in the tenant's first project.
pub(crate) fn networks() -> Value {
    json!({
        "access": "Domain",
        "bootstrap": {
            "externalNetwork": {
                "physicalNetwork": "physnet1",
                "subnet": {
                    "cidr": "203.0.113.0/24",
                    "gateway": "203.0.113.1",
                    "allocationPools": [{ "start": "203.0.113.10", "end": "203.0.113.19" }],
                },
            },
            "network": { "cidr": "192.168.0.0/24" },
        },
        "global": { "network": {
            "externalNetwork": "internet",
            "physicalNetworks": [{ "name": "physnet1", "bridge": "br-ex" }],
        } },
    })
}

/// Status, reason and message of ExternalNetworkReady after a change of what is wanted.
fn external(change: impl FnOnce(&mut Value)) -> (String, String, String) {
    let mut spec = networks();
    change(&mut spec);
    let mut stage = Stage::new(spec);
    stage.simulate();
    stage.condition("ExternalNetworkReady")
}

#[test]
fn flavors_are_created_once_nova_is_ready_and_deleted_before_it() {
    let flavors = json!([
        { "name": "m1.small", "vcpus": 1, "ramMB": 2048, "diskGB": 20 },
        { "name": "m1.large", "vcpus": 8, "ramMB": 16384, "diskGB": 80, "public": false },
    ]);
    let mut stage = Stage::new(json!({ "bootstrap": { "flavors": flavors } }));
    stage.held.insert(Node::Nova);
    stage.simulate();
    assert_eq!(stage.cluster.get(&flavor("m1.small")), None);
    assert_eq!(stage.condition("FlavorsReady").0, "False");
    assert_eq!(stage.condition("Ready"), stage.condition("ServicesReady"));
    stage.held.clear();
    stage.simulate();
    let spec = &stage.cluster.get(&flavor("m1.large")).unwrap()["spec"];
    assert_eq!(
        *spec,
        json!({
            "cloudCredentialsRef": { "cloudName": "volumes", "secretName": "k-orc-clouds" },
            "managementPolicy": "managed",
            "resource": { "vcpus": 8, "ram": 16384, "disk": 80, "isPublic": false },
        })
    );
    assert_eq!(stage.condition("FlavorsReady").0, "True");
    stage.want(|spec| {
        spec["bootstrap"]["flavors"]
            .as_array_mut()
            .unwrap()
            .truncate(1)
    });
    stage.simulate();
    let there = ["m1.small", "m1.large"].map(|name| stage.cluster.get(&flavor(name)).is_some());
    assert_eq!(there, [true, false]);
}

/// K-ORC has no field for it.
#[test]
fn flavor_requires_its_traits_before_it_is_ready() {
    let premium = json!({
        "name": "premium", "vcpus": 1, "ramMB": 2048, "diskGB": 20, "traits": ["CUSTOM_COMPLIANCE_PCI", "CUSTOM_TIER_PREMIUM"],
    });
    let other = json!({ "name": "m1.small", "vcpus": 1, "ramMB": 2048, "diskGB": 20 });
    let mut stage = Stage::new(json!({ "bootstrap": { "flavors": [premium, other] } }));
    stage.held.insert(Node::Nova);
    stage.simulate();
    assert!(stage.flavors.borrow().0.is_empty());
    stage.held.clear();
    stage.grant();
    stage.settle();
    // K-ORC creates them.
    stage.grant();
    let composed = stage.reconcile();
    let calls = composed.desired.calls.iter();
    let calls = calls.filter(|call| call.system == flavors::SYSTEM);
    assert_eq!(calls.count(), 1, "for one of two flavors");
    let [_, _, said] = condition(&composed.status, "FlavorsReady").unwrap();
    let message = "waits for Nova to let flavor premium require its traits: until then, its servers may be on hosts without them";
    assert_eq!(said, message);
    stage.simulate();
    assert_eq!(
        json!(stage.flavors.borrow().0),
        json!({ "id-of-premium": {
            "trait:CUSTOM_COMPLIANCE_PCI": "required", "trait:CUSTOM_TIER_PREMIUM": "required",
        } })
    );
    let resource = &stage.cluster.get(&flavor("premium")).unwrap()["spec"]["resource"];
    let expected = json!({ "vcpus": 1, "ram": 2048, "disk": 20, "isPublic": true });
    assert_eq!(*resource, expected);
    assert_eq!(stage.condition("FlavorsReady").0, "True");
}

#[test]
fn flavor_requires_its_traits_again_and_keeps_what_an_administrator_adds() {
    let premium = json!({
        "name": "premium", "vcpus": 1, "ramMB": 2048, "diskGB": 20, "traits": ["CUSTOM_TIER_PREMIUM"],
    });
    let mut stage = Stage::running(json!({ "bootstrap": { "flavors": [premium] } }));
    let by_hand = [
        ("trait:CUSTOM_TIER_PREMIUM", "forbidden"),
        ("hw:mem_page_size", "large"),
    ];
    let by_hand = by_hand.map(|(spec, value)| (spec.to_owned(), value.to_owned()));
    let id = "id-of-premium".to_owned();
    stage.flavors.borrow_mut().0.insert(id, by_hand.into());
    stage.simulate();
    assert_eq!(
        json!(stage.flavors.borrow().0),
        json!({ "id-of-premium": {
            "trait:CUSTOM_TIER_PREMIUM": "required", "hw:mem_page_size": "large",
        } })
    );
}

#[test]
fn networks_are_created_one_after_the_other() {
    let stage = Stage::running(networks());
    let neutron = stage.neutron.borrow();
    let name = "internet".to_owned();
    assert_eq!(
        json!(neutron.answer(&Question::External { name })),
        json!({
            "networks": [{
                "id": "id-of-internet", "physical_network": "physnet1", "vlan": null, "subnets": [{
                    "id": "id-of-203.0.113.0/24", "cidr": "203.0.113.0/24",
                    "pools": [{ "start": "203.0.113.10", "end": "203.0.113.19" }],
                }],
            }],
            "routers": [],
        })
    );
    let (project, name) = ("id-of-tenant".to_owned(), "default".to_owned());
    assert_eq!(
        json!(neutron.answer(&Question::Project { project, name })),
        json!({
            "networks": [{
                "id": "id-of-default", "physical_network": null, "vlan": null, "subnets": [{
                    "id": "id-of-192.168.0.0/24", "cidr": "192.168.0.0/24", "pools": [],
                }],
            }],
            "routers": [{ "id": "id-of-default", "subnets": ["id-of-192.168.0.0/24"] }],
        })
    );
    assert_eq!(stage.condition("ExternalNetworkReady").0, "True");
    assert_eq!(stage.condition("FirstNetworkReady").0, "True");
}

#[test]
fn networks_stay_when_nothing_wants_them_any_more() {
    let mut stage = Stage::running(networks());
    let before = format!("{:?}", stage.neutron.borrow());
    stage.want(|spec| {
        spec["bootstrap"] = json!({});
        spec["global"]["network"]["externalNetwork"] = Value::Null;
    });
    stage.simulate();
    stage.cluster.delete(&key("production"));
    stage.settle();
    assert_eq!(format!("{:?}", stage.neutron.borrow()), before);
}

#[test]
fn addresses_of_an_external_network_follow_the_spec() {
    let mut stage = Stage::running(networks());
    let pools = json!([
        { "start": "203.0.113.30", "end": "203.0.113.39" },
        { "start": "203.0.113.10", "end": "203.0.113.19" },
    ]);
    stage.want(|spec| spec["bootstrap"]["externalNetwork"]["subnet"]["allocationPools"] = pools);
    stage.simulate();
    let neutron = stage.neutron.borrow();
    assert_eq!(
        json!(neutron.external["internet"].subnets[0].pools),
        json!([
            { "start": "203.0.113.10", "end": "203.0.113.19" },
            { "start": "203.0.113.30", "end": "203.0.113.39" },
        ])
    );
}

#[test]
fn an_external_network_without_facts_says_what_to_set() {
    let (status, reason, message) = external(|spec| spec["bootstrap"] = json!({}));
    assert_eq!([status, reason], ["False", "NetworkMissing"]);
    assert_eq!(
        message,
        "Neutron has no external network internet: set bootstrap.externalNetwork, for a claim \
         bootstrap.externalNetworks.internet.allocationPools in the Composition's input, or create it by `openstack network create \
         --external internet`"
    );
}

#[test]
fn command_in_a_message_has_the_name_of_a_network_as_one_argument() {
    let (_, reason, message) = external(|spec| {
        spec["bootstrap"] = json!({});
        spec["global"]["network"]["externalNetwork"] = json!("a'; reboot #");
    });
    assert_eq!(reason, "NetworkMissing");
    let command = r"`openstack network create --external 'a'\''; reboot #'`";
    assert!(message.ends_with(command), "{message}");
}

#[test]
fn an_external_network_on_another_physical_network_is_refused() {
    let (status, reason, message) = external(|spec| {
        spec["bootstrap"]["externalNetwork"]["physicalNetwork"] = json!("physnet9")
    });
    assert_eq!([status, reason], ["False", "NetworkMissing"]);
    assert_eq!(
        message,
        "bootstrap.externalNetwork is on physical network physnet9, and hypervisors are wired to physnet1: name one of these, or \
         add physnet9 to global.network.physicalNetworks"
    );
}

#[test]
fn addresses_outside_the_network_are_refused() {
    for (start, end) in [
        ("203.0.113.9", "203.0.114.9"),
        ("203.0.113.19", "203.0.113.10"),
        ("203.0.113.0", "203.0.113.9"),
    ] {
        let range = json!([{ "start": start, "end": end }]);
        let (status, reason, _) = external(|spec| {
            spec["bootstrap"]["externalNetwork"]["subnet"]["allocationPools"] = range;
        });
        assert_eq!([status, reason], ["False", "Invalid"], "{start} {end}");
    }
}

#[test]
fn an_existing_network_on_another_vlan_is_left_alone() {
    let mut stage = Stage::running(networks());
    let before = format!("{:?}", stage.neutron.borrow());
    stage.want(|spec| spec["bootstrap"]["externalNetwork"]["vlan"] = json!(100));
    stage.simulate();
    let (status, reason, _) = stage.condition("ExternalNetworkReady");
    assert_eq!([status, reason], ["False", "NameTaken"]);
    assert_eq!(format!("{:?}", stage.neutron.borrow()), before);
}

#[test]
fn networks_without_neutron_or_access_are_refused() {
    let (status, reason, _) =
        external(|spec| spec["services"] = json!({ "neutron": { "enabled": false } }));
    assert_eq!([status, reason], ["False", "Unsupported"]);
    let mut spec = networks();
    spec["access"] = Value::Null;
    let mut stage = Stage::new(spec);
    stage.simulate();
    let (status, reason, _) = stage.condition("FirstNetworkReady");
    assert_eq!([status, reason], ["False", "Unsupported"]);
}

#[test]
fn quotas_are_options_of_services_where_extra_config_says_nothing_else() {
    let stage = Stage::running(json!({
        "bootstrap": { "quotas": { "servers": 50, "vcpus": -1, "volumes": 200, "floatingIPs": 5 } },
        "services": { "nova": { "extraConfig": { "quota": { "instances": "7" } } } },
    }));
    let options = |node| stage.object(node).unwrap()["spec"]["extraConfig"].clone();
    assert_eq!(
        options(Node::Nova),
        json!({ "quota": { "instances": "7", "cores": "-1" } })
    );
    assert_eq!(
        options(Node::Neutron),
        json!({ "quotas": { "quota_floatingip": "5" } })
    );
    assert_eq!(
        options(Node::Cinder),
        json!({ "DEFAULT": { "quota_volumes": "200", "use_default_quota_class": "false" } })
    );
    assert_eq!(options(Node::Glance), Value::Null);
}

/// The operator of a service refuses an option that is given twice, and takes the name of now where it is given by two.
#[test]
fn quotas_set_no_option_that_is_given_by_a_former_name_or_in_a_secret() {
    let ports = json!({
        "section": "quotas", "option": "quota_port",
        "secretKeyRef": { "name": "limits", "key": "ports" },
    });
    let stage = Stage::running(json!({
        "bootstrap": { "quotas": { "servers": 50, "vcpus": 100, "ports": 5, "routers": 3 } },
        "services": {
            "nova": { "extraConfig": { "DEFAULT": { "quota_instances": "7" } } },
            "neutron": { "extraConfigSecrets": [ports] },
        },
    }));
    let options = |node| stage.object(node).unwrap()["spec"]["extraConfig"].clone();
    assert_eq!(
        options(Node::Nova),
        json!({ "DEFAULT": { "quota_instances": "7" }, "quota": { "cores": "100" } })
    );
    assert_eq!(
        options(Node::Neutron),
        json!({ "quotas": { "quota_router": "3" } })
    );
}
