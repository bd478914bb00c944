//! References to pools, and ranges of VLANs: what Rust reads is what the API server takes.

use c5c3_api::{
    HypervisorClusterSpec, PoolName, PoolNetwork, SharingMode, StorageClusterSpec, VlanRange,
    schema,
};
use regex::Regex;
use serde_json::json;

#[test]
fn pool_names_are_read_as_the_schema_has_them() {
    let schema = schema::structural::<PoolName>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    let longest = "a".repeat(63);
    let too_long = "a".repeat(64);
    let cases = [
        ("hv-pool-a", Some((None, "hv-pool-a"))),
        (
            "infrastructure/hv-pool-a",
            Some((Some("infrastructure"), "hv-pool-a")),
        ),
        ("7", Some((None, "7"))),
        (&longest, Some((None, longest.as_str()))),
        (&too_long, None),
        ("", None),
        ("/hv-pool-a", None),
        ("infrastructure/", None),
        ("a/b/c", None),
        ("HV-Pool-A", None),
        ("-a", None),
        ("a-", None),
        ("a_b", None),
        ("a.b", None),
        ("pöol", None),
        ("a\n", None),
    ];
    for (text, expected) in cases {
        let read = text.parse::<PoolName>();
        let parts = read
            .as_ref()
            .ok()
            .map(|pool| (pool.namespace(), pool.name()));
        assert_eq!(parts, expected, "{text:?}");
        assert_eq!(
            pattern.is_match(text),
            expected.is_some(),
            "{text:?} in the schema"
        );
        if let Ok(pool) = read {
            assert_eq!(pool.to_string(), text);
        }
    }
    let error = "HV".parse::<PoolName>().unwrap_err().to_string();
    assert!(
        error.starts_with("\"HV\" is not a valid pool: write its name, or namespace/name"),
        "{error}"
    );
}

#[test]
fn vlan_ranges_are_read_as_the_schema_has_them() {
    let schema = schema::structural::<VlanRange>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for id in 0..=4200 {
        let text = format!("{id}-4094");
        assert_eq!(
            text.parse::<VlanRange>().is_ok(),
            pattern.is_match(&text),
            "{text}"
        );
        let text = format!("1-{id}");
        assert_eq!(
            text.parse::<VlanRange>().is_ok(),
            pattern.is_match(&text),
            "{text}"
        );
    }
    for text in [
        "", "-", "1", "1-", "-1", "1-2-3", "1:2", "01-2", "+1-2", " 1-2", "a-b", "99999-1",
    ] {
        assert!(text.parse::<VlanRange>().is_err(), "{text:?}");
        assert!(!pattern.is_match(text), "{text:?} in the schema");
    }
    assert!("200-100".parse::<VlanRange>().is_err());
    let range: VlanRange = "100-199".parse().unwrap();
    assert_eq!(
        (range.first(), range.last(), range.to_string().as_str()),
        (100, 199, "100-199")
    );
}

#[test]
fn network_of_a_pool_is_one_of_a_control_plane_with_an_interface() {
    let written = json!({ "name": "physnet1", "bridge": "br-ex", "vlanRange": "100-199", "interface": "eth1" });
    let network: PoolNetwork = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&network).unwrap(), written);
    let part = network.with_vlans("100-109".parse().ok());
    let expected = json!({ "name": "physnet1", "bridge": "br-ex", "vlanRange": "100-109" });
    assert_eq!(serde_json::to_value(part).unwrap(), expected);

    let schema = schema::structural::<PoolNetwork>();
    let properties = schema["properties"].as_object().unwrap();
    let properties: Vec<&String> = properties.keys().collect();
    assert_eq!(properties, ["name", "bridge", "vlanRange", "interface"]);
    assert_eq!(schema["required"], json!(["name", "bridge"]));
}

#[test]
fn a_label_makes_a_pool_dedicated_unless_its_mode_is_given() {
    let mode = |labels: serde_json::Value, sharing: serde_json::Value| {
        let pool =
            json!({ "region": "eu-de-1", "name": "a", "labels": labels, "sharing": sharing });
        let hypervisor: HypervisorClusterSpec = serde_json::from_value(pool.clone()).unwrap();
        let storage: StorageClusterSpec = serde_json::from_value(pool).unwrap();
        assert_eq!(hypervisor.sharing_mode(), storage.sharing_mode());
        hypervisor.sharing_mode()
    };
    assert_eq!(mode(json!({}), json!({})), SharingMode::Shared);
    assert_eq!(
        mode(json!({ "dedicated": "true" }), json!({})),
        SharingMode::Dedicated
    );
    assert_eq!(
        mode(json!({ "dedicated": "false" }), json!({})),
        SharingMode::Shared
    );
    assert_eq!(
        mode(
            json!({ "dedicated": "false" }),
            json!({ "mode": "Dedicated" })
        ),
        SharingMode::Dedicated
    );
    assert_eq!(
        mode(json!({ "dedicated": "true" }), json!({ "mode": "Shared" })),
        SharingMode::Shared
    );
}

#[test]
fn capacity_is_read_from_either_place() {
    let capacity = |pool: serde_json::Value| {
        let pool: StorageClusterSpec = serde_json::from_value(pool).unwrap();
        pool.target_capacity().map(str::to_owned)
    };
    let name = json!({ "region": "eu-de-1", "name": "a" });
    let with = |key: &str, value: serde_json::Value| {
        let mut pool = name.clone();
        pool[key] = value;
        pool
    };
    assert_eq!(capacity(name.clone()), None);
    assert_eq!(
        capacity(with("capacity", json!("500Ti"))).as_deref(),
        Some("500Ti")
    );
    assert_eq!(
        capacity(with("ceph", json!({ "targetCapacity": "1Pi" }))).as_deref(),
        Some("1Pi")
    );
}
