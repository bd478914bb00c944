//! Where pods run, as Kubernetes has it.

use std::collections::BTreeMap;

use c5c3_api::parts::Topology;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodAffinityTerm, PodAntiAffinity, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
pub use provider_openstack::{budget, selector, tolerations};

/// The failure domains that are spread over where nothing is said, widest first.
const DOMAINS: [&str; 2] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];

/// Spreads the pods with these labels over failure domains, as far as that goes.
pub fn spread(
    topology: &Topology,
    labels: &BTreeMap<String, String>,
) -> Vec<TopologySpreadConstraint> {
    let constraint = |key: &str| TopologySpreadConstraint {
        max_skew: 1,
        topology_key: key.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(selector(labels)),
        ..TopologySpreadConstraint::default()
    };
    domains(topology).map(constraint).collect()
}

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

fn domains(topology: &Topology) -> impl Iterator<Item = &str> {
    let given = topology.spread_over.iter().map(String::as_str);
    let usual = DOMAINS
        .into_iter()
        .filter(|_| topology.spread_over.is_empty());
    given.chain(usual)
}
