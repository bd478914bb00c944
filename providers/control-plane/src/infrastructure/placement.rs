//! Where pods run, as Kubernetes has it.

use std::collections::BTreeMap;

use c5c3_api::parts::Topology;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm,
};
use provider_openstack::domains;
pub use provider_openstack::{budget, selector, spread, tolerations};

/// Keeps the pods with these labels apart, as far as that goes, narrow domains before wide ones.
pub fn apart(topology: &Topology, labels: &BTreeMap<String, String>) -> PodAntiAffinity {
    let terms = domains(topology).enumerate().map(|(position, key)| {
        let weight = [50, 100].get(position).copied().unwrap_or(100);
        WeightedPodAffinityTerm {
            weight,
            pod_affinity_term: PodAffinityTerm {
                label_selector: Some(selector(labels)),
                topology_key: key.to_owned(),
                ..PodAffinityTerm::default()
            },
        }
    });
    PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: Some(terms.collect()),
        ..PodAntiAffinity::default()
    }
}

/// All of it as an affinity, for a kind that knows nothing else.
pub fn affinity(topology: &Topology, labels: &BTreeMap<String, String>) -> Affinity {
    let requirements = topology
        .node_selector
        .iter()
        .map(|(key, value)| NodeSelectorRequirement {
            key: key.clone(),
            operator: "In".to_owned(),
            values: Some(vec![value.clone()]),
        });
    let nodes = NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: Some(requirements.collect()),
                ..NodeSelectorTerm::default()
            }],
        }),
        ..NodeAffinity::default()
    };
    Affinity {
        node_affinity: Some(nodes).filter(|_| !topology.node_selector.is_empty()),
        pod_anti_affinity: Some(apart(topology, labels)),
        ..Affinity::default()
    }
}
