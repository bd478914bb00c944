use super::*;

fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Arc<Value> {
    let labels =
        json!({"node-role.kubernetes.io/hypervisor": "", "topology.kubernetes.io/zone": "zone-a"});
    let created = "2026-01-01T00:00:00Z";
    Arc::new(json!({
        "apiVersion": api_version, "kind": kind, "spec": spec,
        "metadata": {"name": name, "labels": labels, "creationTimestamp": created},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }))
}

fn share(name: &str, weight: u32) -> Arc<Value> {
    let spec = json!({"controlPlane": name, "weight": weight, "minHosts": 1});
    object("hypervisor.c5c3.io/v1alpha1", "HypervisorShare", name, spec)
}

/// Four nodes, two for each of two control planes.
fn objects() -> Objects {
    let node = |name: &str, lease: &str| {
        let mut node = object("v1", "Node", name, json!({}));
        Arc::make_mut(&mut node)["metadata"]["labels"]["c5c3.node-restriction.kubernetes.io/control-plane"] =
            json!(lease);
        node
    };
    let pool = "hypervisor.c5c3.io/v1alpha1";
    let pool = object(
        pool,
        "HypervisorPool",
        "hv-pool-a",
        json!({"mode": "Shared"}),
    );
    Objects(BTreeMap::from([
        ("HypervisorPool", vec![pool]),
        ("HypervisorShare", vec![share("a", 1), share("b", 1)]),
        (
            "Node",
            vec![
                node("hv-1", "a"),
                node("hv-2", "b"),
                node("hv-3", "a"),
                node("hv-4", "b"),
            ],
        ),
    ]))
}

fn division(planned: &[Arc<Value>]) -> Division {
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().expect("it is a time");
    let planned: Vec<Manifest> = planned
        .iter()
        .map(|object| Manifest::try_from(Value::clone(object)))
        .collect::<Result<_, _>>()
        .expect("objects are manifests");
    let objects = objects();
    Division {
        before: objects.state(now).expect("there is a pool"),
        after: objects
            .with(planned.iter(), now)
            .state(now)
            .expect("there is a pool"),
    }
}

#[test]
fn shares_and_nodes_are_listed() {
    let state = objects().state(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(
        summary(&state),
        "HypervisorPool hv-pool-a: 4 nodes; 4 leased, 0 draining, 0 free, 0 unavailable\n"
    );
    assert_eq!(
        shares(&state, &state),
        "SHARE  CONTROL PLANE  WEIGHT  MIN  MAX  DUE  LEASED  DRAINING\n\
         a      a              1       1    -    2    2       0\n\
         b      b              1       1    -    2    2       0\n"
    );
    assert_eq!(
        table_of_nodes(&state).lines().nth(1),
        Some("hv-1  zone-a  -     a              Leased")
    );
    let listed = listed(&state);
    assert_eq!(listed["counts"]["leased"], 4);
    assert_eq!(listed["shares"][1]["due"], 2);
    assert_eq!(listed["nodes"][3]["controlPlane"], "b");
}

#[test]
fn nodes_that_the_pool_can_lose_are_listed() {
    let mut objects = objects();
    let state = objects.state(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(removable(&state), "");
    let cordoned = ["hv-5", "hv-6"].map(|name| {
        let spec = json!({"unschedulable": true});
        object("v1", "Node", name, spec)
    });
    objects.0.get_mut("Node").unwrap().extend(cordoned);
    let state = objects.state(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(removable(&state), "Removable: hv-5, hv-6\n");
    assert_eq!(listed(&state)["removable"], json!(["hv-5", "hv-6"]));
}

#[test]
fn change_shows_what_each_share_is_due_and_which_nodes_move() {
    let division = division(&[share("a", 3)]);
    assert!(!division.is_unchanged());
    assert_eq!(
        division.to_string(),
        "HypervisorPool hv-pool-a: 4 nodes; 4 leased, 0 draining, 0 free, 0 unavailable\n\n\
         SHARE  CONTROL PLANE  WEIGHT  MIN  MAX  DUE     LEASED  DRAINING\n\
         a      a              1 -> 3  1    -    2 -> 3  2       0\n\
         b      b              1       1    -    2 -> 1  2 -> 1  0 -> 1\n\n\
         drain hv-4 of b\n"
    );
}

#[test]
fn share_that_gets_no_other_nodes_is_shown_as_held() {
    let mut held = share("a", 1);
    Arc::make_mut(&mut held)["spec"]["held"] = json!(true);
    let division = division(&[held]);
    let shares = shares(&division.before, &division.after);
    assert!(shares.contains("- -> held"), "{shares}");
    assert_eq!(listed(&division.after)["shares"][0]["held"], true);
}

#[test]
fn same_share_changes_nothing() {
    let division = division(&[share("a", 1)]);
    assert!(division.is_unchanged());
    assert!(
        division
            .to_string()
            .ends_with("\nno node is moved at once\n"),
        "{division}"
    );
}

#[test]
fn new_share_counts_as_the_youngest() {
    let mut new = share("c", 1);
    Arc::make_mut(&mut new)["spec"]["minHosts"] = json!(9);
    let division = division(&[new]);
    let shares = shares(&division.before, &division.after);
    assert_eq!(
        shares.lines().last(),
        Some("c      c              - -> 1  - -> 9  -    - -> 2  - -> 0  - -> 0"),
        "{shares}"
    );
}
