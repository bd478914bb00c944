//! Shares that were created again, as by a restore from a backup, and the namespaces of their agents.

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::HypervisorShare;
use serde_json::{Value, json};

use crate::drain::has;
use crate::fixture::*;

fn namespace_key() -> Key {
    Key::of::<Namespace>("", "agents-prod")
}

fn uid(cluster: &Cluster) -> Value {
    cluster.get(&share_key("prod")).unwrap()["metadata"]["uid"].clone()
}

/// The controller of the namespace.
fn controller(cluster: &Cluster) -> Value {
    let namespace = cluster.get(&namespace_key()).unwrap();
    namespace["metadata"]["ownerReferences"][0]["uid"].clone()
}

/// What the agents of a share must find on a node.
fn lease_on_nodes(cluster: &Cluster, agent: &str) -> Value {
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
    let check = &set.unwrap()["spec"]["template"]["spec"]["initContainers"][0];
    let mut variables = check["env"].as_array().unwrap().iter();
    let lease = variables.find(|variable| variable["name"] == "LEASE");
    lease.unwrap()["value"].clone()
}

/// Deletes the share of which someone removed the finalizer, with everything that it owns.
fn lose_share(cluster: &mut Cluster) {
    cluster.edit(&share_key("prod"), |share| {
        share["metadata"]["finalizers"] = json!([]);
    });
    cluster.delete(&share_key("prod"));
    assert_eq!(cluster.get(&namespace_key()), None);
}

/// The condition while nothing is composed in the namespace, whose agents stay, with what holds the nodes.
fn waits(cluster: &mut Cluster) -> [String; 3] {
    cluster.settle(&HypervisorShare, &share_key("prod"));
    for agent in AGENTS {
        assert!(has(cluster, agent), "{agent}");
    }
    for kind in [StatefulSet::KIND, PodDisruptionBudget::KIND] {
        for node in ["node-a", "node-b"] {
            let key = Key::new(kind, "agents-prod", &format!("hold-{node}"));
            assert!(cluster.get(&key).is_some(), "{key}");
        }
    }
    assert_eq!(
        condition(cluster, "prod", "NodesProtected"),
        waiting(
            "waits for the Namespace agents-prod, in which the pods run that keep Gardener from deleting the machines of this share; \
             until then it may delete them with their servers"
        )
    );
    condition(cluster, "prod", "AgentsReady")
}

fn waiting(message: &str) -> [String; 3] {
    ["False", "Starting", message].map(str::to_owned)
}

#[test]
fn share_that_is_created_again_keeps_its_nodes_by_its_identity() {
    let mut cluster = settled();
    let earlier = uid(&cluster);
    let lease = json!(format!("prod {}", earlier.as_str().unwrap()));
    for agent in ["openvswitch", "libvirt"] {
        assert_eq!(lease_on_nodes(&cluster, agent), lease, "{agent}");
    }
    lose_share(&mut cluster);

    put_share(&mut cluster, "prod", json!({}));
    assert_ne!(uid(&cluster), earlier);
    set(&mut cluster, "prod", "identity", earlier.clone());
    settle(&mut cluster, "prod");
    for agent in ["openvswitch", "libvirt"] {
        assert_eq!(lease_on_nodes(&cluster, agent), lease, "{agent}");
    }
    assert_eq!(controller(&cluster), uid(&cluster));
    assert_eq!(leases(&cluster), planes(["prod", "prod", "", ""]));
}

/// Another share of the same name, which belongs to another control plane.
#[test]
fn share_without_the_identity_of_the_earlier_one_has_its_own() {
    let mut cluster = settled();
    lose_share(&mut cluster);
    put_share(&mut cluster, "prod", json!({}));
    settle(&mut cluster, "prod");
    let own = json!(format!("prod {}", uid(&cluster).as_str().unwrap()));
    assert_eq!(lease_on_nodes(&cluster, "openvswitch"), own);
}

#[test]
fn namespace_of_an_earlier_share_is_left_to_the_garbage_collector() {
    let mut cluster = settled();
    cluster.edit(&namespace_key(), |namespace| {
        namespace["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    });
    assert_eq!(
        waits(&mut cluster),
        waiting(
            "waits for Kubernetes to delete the Namespace agents-prod of an earlier HypervisorShare prod with the UID earlier, and \
             creates it again with its agents; servers keep running. If the Namespace is still there after some minutes, delete it"
        )
    );
    assert_eq!(controller(&cluster), "earlier");

    cluster.delete(&namespace_key());
    settle(&mut cluster, "prod");
    assert_eq!(controller(&cluster), uid(&cluster));
}

#[test]
fn namespace_that_is_being_deleted_is_created_again() {
    let mut cluster = settled();
    cluster.edit(&namespace_key(), |namespace| {
        namespace["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    });
    cluster.hold(Namespace::KIND);
    cluster.delete(&namespace_key());
    assert_eq!(
        waits(&mut cluster),
        waiting(
            "waits for Kubernetes to delete the Namespace agents-prod, which is then created again with its agents"
        )
    );
    cluster.release(&namespace_key());
    settle(&mut cluster, "prod");
    assert_eq!(controller(&cluster), uid(&cluster));
}

/// Tools that restore a backup leave out ownerReferences.
#[test]
fn namespace_without_an_owner_that_the_operator_applied_is_taken_over() {
    let mut cluster = settled();
    cluster.edit(&namespace_key(), |namespace| {
        let metadata = namespace["metadata"].as_object_mut().unwrap();
        metadata.remove("ownerReferences").unwrap();
    });
    let reconciled = cluster.reconcile(&HypervisorShare, &share_key("prod"));
    assert!(reconciled.is_ok());
    for agent in AGENTS {
        assert!(has(&cluster, agent), "{agent}");
    }
    assert_eq!(controller(&cluster), uid(&cluster));
    assert_eq!(
        condition(&cluster, "prod", "AgentsReady"),
        waiting("waits for the Namespace agents-prod")
    );
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "HostsReady")[0],
        "True",
        "it is composed again"
    );
}

/// Its labels alone don't make it the share's: whoever created it could read the configuration.
#[test]
fn namespace_without_an_owner_that_someone_else_created_is_refused() {
    let mut cluster = cluster();
    let labels = json!({
        "c5c3.io/owner-kind": "HypervisorShare", "c5c3.io/owner-namespace": "", "c5c3.io/owner-name": "prod",
    });
    cluster.put(
        &namespace_key(),
        &json!({ "metadata": { "labels": labels } }),
    );
    reconcile(&mut cluster, "prod");
    let inside = cluster.objects().keys();
    let inside = inside.filter(|key| key.namespace.as_deref() == Some("agents-prod"));
    assert_eq!(inside.collect::<Vec<_>>(), Vec::<&Key>::new());
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NameTaken");
}
