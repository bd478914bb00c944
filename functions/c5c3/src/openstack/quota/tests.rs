use super::*;

#[test]
fn quota_follows_from_a_size_but_for_what_the_size_gives_itself() {
    let preset: SizePreset = serde_json::from_value(serde_json::json!({
        "infrastructure": {
            "mariadb": { "storageSize": "100Gi", "resources": { "requests": { "cpu": "2", "memory": "8Gi" } } },
            "rabbitmq": { "storageSize": "20Gi", "resources": { "limits": { "cpu": 1, "memory": "4Gi" } } },
        },
        "services": { "keystone": { "replicas": 3, "autoscaling": { "maxReplicas": 9 } } },
        "share": { "weight": 1 },
        "quota": { "pods": 7, "count/services": "100" },
    }))
    .unwrap();
    let backup = serde_json::from_value(serde_json::json!({})).unwrap();
    let before = Before::default();
    let hard = hard(
        &preset,
        0,
        &preset.infrastructure,
        Some(&backup),
        None,
        &before,
    );
    let hard: Vec<(&str, &str)> = hard
        .iter()
        .map(|(resource, amount)| (resource.as_str(), amount.as_str()))
        .collect();
    assert_eq!(
        hard,
        [
            ("count/services", "100"),
            ("persistentvolumeclaims", "33"),
            ("pods", "7"),
            ("requests.cpu", "43"),
            ("requests.memory", "99Gi"),
            ("requests.storage", "703Gi"),
        ]
    );
}

#[test]
fn quota_has_room_for_what_a_size_says_of_ovn() {
    let needed = |ovn: serde_json::Value| {
        let pieces = serde_json::json!({ "ovn": ovn });
        infrastructure(&serde_json::from_value(pieces).unwrap())
    };
    let usual = needed(serde_json::json!({}));
    let small =
        needed(serde_json::json!({ "northbound": { "replicas": 1 }, "northd": { "replicas": 1 } }));
    assert_eq!(small, usual);
    let large = needed(serde_json::json!({
        "southbound": {
            "replicas": 5,
            "storage": { "size": "20Gi" },
            "resources": { "requests": { "cpu": "1", "memory": "2Gi" } },
        },
        "relay": { "replicas": 2 },
        "backup": { "storage": { "size": "50Gi" } },
    }));
    assert_eq!(large.pods - usual.pods, 4.0);
    assert_eq!(large.volumes - usual.volumes, 3.0);
    assert_eq!((large.storage - usual.storage) / GIB, 120.0);
    assert_eq!((large.memory - usual.memory) / GIB, 9.75);
    assert!((large.cores - usual.cores - 4.9).abs() < 1e-6);
}

#[test]
fn quota_has_room_for_components_that_a_size_may_state() {
    let needed = |services: serde_json::Value| optional(&serde_json::from_value(services).unwrap());
    let two = serde_json::json!({ "replicas": 2 });
    let pairs = needed(serde_json::json!({
        "nova": { "metadata": two, "noVncProxy": two },
        "neutron": { "periodicWorkers": two, "ovnMaintenanceWorker": two },
    }));
    assert_eq!(pairs, Amounts::default());
    let more = needed(serde_json::json!({
        "nova": {
            "metadata": { "replicas": 2, "autoscaling": { "maxReplicas": 6 } },
            "noVncProxy": { "replicas": 3, "resources": { "requests": { "memory": "1Gi" } } },
        },
        "neutron": { "periodicWorkers": { "replicas": 4 } },
    }));
    assert_eq!(more.pods, 7.0);
    assert!((more.cores - 1.9).abs() < 1e-6);
    assert_eq!(more.memory / MIB, 4.0 * 448.0 + 2560.0 + 512.0);
}

#[test]
fn quota_has_room_for_the_pods_of_another_cell() {
    let needed = |nova: serde_json::Value| cell(&serde_json::from_value(nova).unwrap());
    let usual = needed(serde_json::json!({}));
    assert_eq!(usual.pods, 11.0, "three, two, and Jobs");
    let large = needed(serde_json::json!({
        "conductor": { "replicas": 3, "resources": { "requests": { "memory": "1Gi" } } },
        "noVncProxy": { "replicas": 2 },
    }));
    assert_eq!(large.pods, 13.0);
    assert_eq!(
        (large.memory - usual.memory) / MIB,
        4.0 * 1216.0 - 3.0 * 448.0 + 448.0
    );
}

#[test]
fn quota_is_not_lowered_below_what_is_used() {
    let amounts = |memory: Option<&str>| {
        let memory = memory.map(|memory| ("requests.memory".to_owned(), memory.to_owned()));
        memory.into_iter().collect()
    };
    let lowered = |hard: Option<&str>, used: Option<&str>| {
        let before = Before {
            hard: amounts(hard),
            used: amounts(used),
        };
        before.lowered("requests.memory", 60.0 * GIB) / GIB
    };
    assert_eq!(lowered(None, None), 60.0, "it is new");
    assert_eq!(lowered(Some("40Gi"), Some("40Gi")), 60.0, "it grows");
    assert_eq!(lowered(Some("100Gi"), None), 100.0, "use isn't known");
    assert_eq!(lowered(Some("100Gi"), Some("90Gi")), 100.0);
    assert_eq!(lowered(Some("100Gi"), Some("64Gi")), 80.0);
    assert_eq!(lowered(Some("100Gi"), Some("68719476736")), 80.0);
    assert_eq!(lowered(Some("100Gi"), Some("20Gi")), 60.0);
}

#[test]
fn quota_has_room_for_the_most_replicas_of_an_api() {
    let most = |api: serde_json::Value| {
        let preset: SizePreset = serde_json::from_value(serde_json::json!({
            "infrastructure": {}, "services": { "nova": { "api": api } }, "share": { "weight": 1 },
        }))
        .unwrap();
        preset.services.components()[3].0
    };
    let scaled = serde_json::json!({ "replicas": 3, "autoscaling": { "maxReplicas": 9 } });
    assert_eq!(
        [most(serde_json::json!({ "replicas": 5 })), most(scaled)],
        [5, 9]
    );
}

#[test]
fn quota_has_room_for_backups_of_volumes() {
    let preset: SizePreset = serde_json::from_value(serde_json::json!({
        "infrastructure": {}, "services": {}, "share": { "weight": 1 },
    }))
    .unwrap();
    let backup: Component<1> = serde_json::from_value(serde_json::json!({
        "replicas": 2, "resources": { "requests": { "cpu": "1", "memory": "2Gi" } },
    }))
    .unwrap();
    let before = Before::default();
    let allowed = |backup: Option<&Component<1>>| {
        let hard = hard(&preset, 0, &preset.infrastructure, None, backup, &before);
        ["pods", "requests.cpu", "requests.memory"].map(|resource| {
            let amount: Quantity = hard[resource].parse().unwrap();
            amount.amount()
        })
    };
    let [with, without] = [allowed(Some(&backup)), allowed(None)];
    // Amounts are whole numbers.
    for (resource, least) in [3.0, 3.9, 6.5 * GIB].into_iter().enumerate() {
        assert!(with[resource] - without[resource] >= least, "{with:?}");
    }
}
