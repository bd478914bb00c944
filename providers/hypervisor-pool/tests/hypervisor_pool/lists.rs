//! What a share lists of its cluster, which may have thousands of nodes, and on each a pod of every agent.

use std::cell::RefCell;
use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use provider_composer::{
    ExternalRequest, Key, Lookup, ObservedState, Operator, Resource, ResourceKind, Selection,
    Source,
};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorShare, LEASE};
use serde_json::{Value, json};

use crate::dead::stop;
use crate::fixture::*;

/// A cluster that records lists.
struct Recorded<'a> {
    cluster: &'a Cluster,
    lists: RefCell<Vec<Selection>>,
}

impl Source for Recorded<'_> {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        self.cluster.object(key)
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        self.lists.borrow_mut().push(selection.clone());
        Source::objects(self.cluster, selection)
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        self.cluster.external(request)
    }
}

#[test]
fn share_lists_its_own_nodes_and_the_pods_of_its_agents_once() {
    let mut cluster = cluster();
    let network = json!({ "name": "physnet1", "bridge": "br-ex" });
    put_pool(
        &mut cluster,
        json!({ "mode": "Shared", "physicalNetworks": [network] }),
    );
    settle(&mut cluster, "prod");
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    stop(&mut cluster, "node-b");
    cluster.wait(SignedDuration::from_mins(20));
    settle(&mut cluster, "prod");

    let recorded = Recorded {
        cluster: &cluster,
        lists: RefCell::default(),
    };
    let share = Arc::new(cluster.get(&share_key("prod")).unwrap().clone());
    let observed = ObservedState::new(&recorded, cluster.now());
    HypervisorShare.composed(&share, &observed).unwrap();
    let lists = recorded.lists.borrow();
    let of = |kind: ResourceKind| -> Vec<&Selection> {
        let lists = lists.iter();
        lists.filter(|listed| listed.kind == kind).collect()
    };
    let leased = Selection::new(Node::KIND, "", &[(LEASE, "prod")]);
    assert_eq!(of(Node::KIND), [&leased]);
    let agents = Selection::new(Pod::KIND, "agents-prod", &[]);
    assert_eq!(of(Pod::KIND), [&agents]);
}
