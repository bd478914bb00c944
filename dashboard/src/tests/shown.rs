use c5c3_live::Batch;
use c5c3_plan::Manifest;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{
    Api, CLAIMS, HYPERVISOR_CLUSTERS, NODES, POOLS, SHARES, STORAGE_CLUSTERS, object, page,
};
use crate::pages::draw;
use crate::parts::Part;
use crate::read::{Listed, Trouble};
use crate::request::Request;
use crate::server::Viewers;
use crate::tables;

/// What a page shows, an element a line, without what is around it.
fn shown(page: &str) -> String {
    let (_, main) = page.split_once("<h1>").unwrap();
    let (main, _) = main.split_once("</main>").unwrap();
    format!("<h1>{main}").replace("><", ">\n<")
}

async fn main(objects: &[(&'static str, Vec<Value>)], url: &str) -> String {
    let api = Api {
        objects: objects.iter().cloned().collect(),
        ..Api::default()
    };
    shown(&page(&api.dashboard(Viewers::Own), url).await)
}

#[tokio::test]
async fn overview_shows_what_each_claim_waits_for_and_first_what_needs_a_person() {
    let pool = "HypervisorCluster infrastructure/hv-pool-a isn't Ready";
    let mut waiting = object(
        "tenant-b",
        "staging",
        "False",
        pool,
        json!({"phase": "Pending"}),
    );
    waiting["spec"] = json!({"openStackRelease": "2025.2", "size": "small"});
    let condition = json!({"type": "HypervisorsReady", "status": "False", "reason": "PoolNotReady", "message": pool});
    waiting["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(condition);
    let mut deleted = object("tenant-b", "old", "True", "", json!({"phase": "Ready"}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let claims = vec![
        object("tenant-a", "prod", "True", "", json!({"phase": "Ready"})),
        deleted,
        waiting,
        object(
            "tenant-c",
            "prod",
            "False",
            "tests failed",
            json!({"phase": "Degraded"}),
        ),
    ];
    let pools = vec![object(
        "infrastructure",
        "hv-pool-a",
        "False",
        "",
        json!({"phase": "Provisioning"}),
    )];
    let objects = [
        (CLAIMS, claims),
        (HYPERVISOR_CLUSTERS, pools),
        (STORAGE_CLUSTERS, Vec::new()),
    ];
    insta::assert_snapshot!(main(&objects, "/").await);
}

#[tokio::test]
async fn claim_that_is_ready_shows_conditions_that_may_need_a_person() {
    let mut claim = object("tenant-a", "prod", "True", "", json!({"phase": "Ready"}));
    let conditions = claim["status"]["conditions"].as_array_mut().unwrap();
    for (type_, reason, message) in [
        ("CapacityAvailable", "NearlyFull", "volumes are 90 % full"),
        ("CephConnected", "CephUnreachable", "no answer of st-pool-a"),
        ("ConsolesReady", "WaitingForCertificate", "no console opens"),
        (
            "HypervisorCertificatesReady",
            "WaitingForCertificate",
            "hv-pool-a lacks cert-manager",
        ),
        ("HypervisorsWorking", "Starting", "node-b is down"),
        ("ImagesReady", "Waiting", "Glance lacks debian"),
        ("MigrationBetweenPools", "PoolsSeparate", "resizes fail"),
        ("ImagesAllowed", "Unsupported", "no image fedora"),
        ("MigrationReady", "RequirementMissing", "no OpenSSH"),
        ("Retained", "NothingRetained", ""),
    ] {
        conditions
            .push(json!({"type": type_, "status": "False", "reason": reason, "message": message}));
    }
    let shown = main(&[(CLAIMS, vec![claim])], "/").await;
    for text in [
        "9 conditions aren't True",
        "NearlyFull: volumes are 90 % full",
        "CephUnreachable: no answer of st-pool-a",
        "WaitingForCertificate: no console opens",
        "WaitingForCertificate: hv-pool-a lacks cert-manager",
        "RequirementMissing: no OpenSSH",
        "Starting: node-b is down",
        "Waiting: Glance lacks debian",
        "PoolsSeparate: resizes fail",
        "Unsupported: no image fedora",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    assert!(!shown.contains("Retained"), "{shown}");
}

#[tokio::test]
async fn pool_that_is_ready_shows_nodes_that_a_person_decides_about() {
    let mut pool = object("", "hv-pool-a", "True", "", json!({"nodeCount": 3}));
    let conditions = pool["status"]["conditions"].as_array_mut().unwrap();
    for (type_, reason, message) in [
        ("MinHostsLeased", "Ready", ""),
        ("NodesReady", "NodeNotReady", "node-a hasn't been Ready"),
        ("ReturnedNodesEmpty", "NodeLost", "node-b came back"),
    ] {
        let status = if message.is_empty() { "True" } else { "False" };
        conditions
            .push(json!({"type": type_, "status": status, "reason": reason, "message": message}));
    }
    let shown = main(&[(POOLS, vec![pool])], "/pools").await;
    for text in [
        "2 conditions aren't True",
        "NodeNotReady: node-a hasn't been Ready",
        "NodeLost: node-b came back",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
}

#[tokio::test]
async fn hostile_text_stays_text() {
    let attack = "<script>alert(1)</script>\" onload=\"x\u{1b}[2J";
    let mut claim = object(
        "tenant-a",
        "prod",
        "False",
        attack,
        json!({"phase": attack}),
    );
    claim["spec"] = json!({"openStackRelease": attack, "size": attack});
    let condition = json!({"type": attack, "status": "False", "reason": attack, "message": attack});
    claim["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(condition);
    let shown = main(&[(CLAIMS, vec![claim])], "/").await;
    assert!(
        !shown.contains("<script") && !shown.contains("\" onload") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x\\u{1b}[2J";
    assert_eq!(shown.matches(escaped).count(), 7, "{shown}");
}

#[tokio::test]
async fn claim_of_a_pool_shows_who_has_how_many_nodes() {
    let status = json!({
        "phase": "Ready", "clusterName": "hv-pool-a", "nodeCount": 1200,
        "nodes": {"leased": 1180, "free": 12, "draining": 5, "unavailable": 3},
        "consumers": [
            {"name": "prod", "namespace": "tenant-a", "minHosts": 2, "hosts": 1100, "pending": 0},
            {"name": "staging", "namespace": "tenant-b", "minHosts": 1, "hosts": 80, "pending": 7},
        ],
    });
    let pools = vec![object("infrastructure", "hv-pool-a", "True", "", status)];
    let objects = [(HYPERVISOR_CLUSTERS, pools)];
    insta::assert_snapshot!(main(&objects, "/pools/infrastructure/hv-pool-a").await);
}

#[tokio::test]
async fn pool_shows_its_division_its_shares_and_its_nodes() {
    let lease = "c5c3.node-restriction.kubernetes.io";
    let node = |name: &str, labels: Value, ready: &str| {
        let mut node = json!({
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/hypervisor": "", "topology.kubernetes.io/zone": "zone-a"}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        });
        for (label, value) in labels.as_object().unwrap() {
            node["metadata"]["labels"][format!("{lease}/{label}")] = value.clone();
        }
        node
    };
    let status = json!({
        "nodeCount": 4, "nodes": {"free": 1, "leased": 1, "draining": 1, "unavailable": 1}, "freeVcpus": 128, "freeMemoryGB": 1024,
        "shares": [{"name": "prod", "controlPlane": "prod", "hosts": 1, "draining": 1, "due": 3}],
    });
    let mut pool = object("", "hv-pool-a", "True", "", status);
    pool["spec"] = json!({"mode": "Shared", "reserve": 0});
    let mut share = object(
        "",
        "prod",
        "False",
        "2 nodes are due and not free yet",
        json!({}),
    );
    share["spec"] = json!({"controlPlane": "prod", "weight": 4, "minHosts": 1});
    let nodes = vec![
        node("hv-1", json!({"control-plane": "prod"}), "True"),
        node(
            "hv-2",
            json!({"control-plane": "prod", "lease-phase": "Draining"}),
            "True",
        ),
        node("hv-3", json!({}), "True"),
        node("hv-4", json!({}), "False"),
    ];
    let objects = [(POOLS, vec![pool]), (SHARES, vec![share]), (NODES, nodes)];
    insta::assert_snapshot!(main(&objects, "/pools/hv-pool-a").await);
}

#[tokio::test]
async fn nodes_of_a_control_plane_are_listed_by_their_labels() {
    let api = Api {
        objects: [(POOLS, Vec::new()), (NODES, Vec::new())].into(),
        ..Api::default()
    };
    let dashboard = api.dashboard(Viewers::Own);
    let url = "/pools/hv-pool-a?control-plane=prod&nodes=draining&table=nodes";
    page(&dashboard, url).await;
    let label = "c5c3.node-restriction.kubernetes.io%2F";
    assert_eq!(
        api.asked(),
        [
            format!(
                "{NODES}?&labelSelector={label}control-plane%3Dprod%2C{label}lease-phase&limit=100"
            ),
            format!("{POOLS}?&fieldSelector=metadata.name%3Dhv-pool-a&labelSelector=&limit=1"),
        ]
    );
}

#[tokio::test]
async fn storage_shows_what_pools_have_and_claims_store() {
    let capacity = json!({"total": "500Ti", "used": "420Ti", "available": "80Ti"});
    let pool = json!({"phase": "Ready", "health": "HEALTH_WARN", "capacity": capacity});
    let pools = vec![object("infrastructure", "st-pool-a", "True", "", pool)];
    let gib = 1u64 << 30;
    let ceph = json!({
        "volumePool": {"usedBytes": 150 * gib, "quotaBytes": 200 * gib},
        "imagePool": {"usedBytes": gib * 3 / 2},
    });
    let claims = vec![object(
        "tenant-a",
        "prod",
        "True",
        "",
        json!({"cephResources": ceph}),
    )];
    let objects = [(STORAGE_CLUSTERS, pools), (CLAIMS, claims)];
    insta::assert_snapshot!(main(&objects, "/storage").await);
}

#[test]
fn each_list_that_is_not_there_says_why() {
    let part = Part::Table(&tables::OPENSTACK_CLUSTERS);
    let notice = |trouble: Trouble, namespace: Option<&str>| {
        let listed = Listed {
            kind: tables::OPENSTACK_CLUSTERS.kind,
            namespace: namespace.map(str::to_owned),
            outcome: Err(trouble),
        };
        let request = Request::parse("/", "table=openstack-clusters&continue=x").unwrap();
        let page = draw(
            &request,
            &vec![(part, listed)],
            "https://a/",
            Timestamp::UNIX_EPOCH,
        );
        let shown = shown(&page.into_string());
        let (_, notice) = shown.split_once("<p class=\"notice\">").unwrap();
        notice.split_once("</p>").unwrap().0.trim().to_owned()
    };
    let kind = "<code>openstackclusters.c5c3.io</code>";
    assert_eq!(
        notice(Trouble::Forbidden, None),
        format!(
            "You may not list {kind} in all namespaces. Choose a namespace above, or have that right granted."
        )
    );
    assert_eq!(
        notice(Trouble::Forbidden, Some("a")),
        format!(
            "You may not list {kind} in the namespace <code>a</code>. Choose another namespace, or have that right granted."
        )
    );
    assert_eq!(
        notice(Trouble::Expired, None),
        "The list has changed since its first page was read. <a href=\"/\">Begin again</a>"
    );
    assert_eq!(
        notice(Trouble::Other("no answer".to_owned()), None),
        "no answer"
    );
    assert!(
        notice(Trouble::NotServed, None).starts_with("The cluster serves nothing of this page")
    );
}

#[test]
fn whole_page_has_its_navigation_and_its_time() {
    let mut claim = object("tenant-a", "prod", "True", "", json!({}));
    claim["apiVersion"] = json!("c5c3.io/v1alpha1");
    claim["kind"] = json!("OpenStackCluster");
    let batch = Batch {
        objects: vec![Manifest::try_from(claim).unwrap()],
        next: Some("b".to_owned()),
        remaining: Some(1_234),
    };
    let listed = Listed {
        kind: tables::OPENSTACK_CLUSTERS.kind,
        namespace: Some("tenant-a".to_owned()),
        outcome: Ok(batch),
    };
    let request = Request::parse(
        "/",
        "namespace=tenant-a&table=openstack-clusters&continue=a",
    );
    let part = Part::Table(&tables::OPENSTACK_CLUSTERS);
    let content = vec![(part, listed)];
    let page = draw(
        &request.unwrap(),
        &content,
        "https://api.example.com/",
        Timestamp::UNIX_EPOCH,
    );
    insta::assert_snapshot!(page.into_string().replace("><", ">\n<"));
}
