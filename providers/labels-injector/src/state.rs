//! The nodes and pods of a cluster, as far as their labels are copied.

use std::collections::BTreeMap;

use crate::labels::{Labels, missing};

/// A pod's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its UID.
    pub uid: String,
    /// The node that it is bound to.
    pub node: String,
    /// Its copied labels.
    pub labels: Labels,
}

/// Labels that a pod is to get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The pod.
    pub pod: PodName,
    /// Its UID, where it is known: a pod that was replaced by another of its name isn't changed.
    pub uid: Option<String>,
    /// The labels.
    pub labels: Labels,
}

/// What is known of a cluster.
#[derive(Clone, Debug, Default)]
pub struct State {
    nodes: BTreeMap<String, Labels>,
    pods: BTreeMap<PodName, Pod>,
    /// The pods of each node.
    places: BTreeMap<String, Vec<PodName>>,
}

impl State {
    /// The labels of a node; none where it isn't known.
    pub fn node(&self, name: &str) -> Option<&Labels> {
        self.nodes.get(name)
    }

    /// Takes a node's labels. Returns what its pods are to get.
    pub fn set_node(&mut self, name: String, labels: Labels) -> Vec<Change> {
        if self.nodes.get(&name) == Some(&labels) {
            return Vec::new();
        }
        self.nodes.insert(name.clone(), labels);
        let pods = self.places.get(&name).into_iter().flatten();
        pods.filter_map(|pod| self.change(pod)).collect()
    }

    /// Forgets a node.
    pub fn remove_node(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    /// Takes a pod that is bound to a node. Returns what it is to get.
    pub fn set_pod(&mut self, name: PodName, pod: Pod) -> Option<Change> {
        self.remove_pod(&name);
        let place = self.places.entry(pod.node.clone()).or_default();
        place.push(name.clone());
        self.pods.insert(name.clone(), pod);
        self.change(&name)
    }

    /// Forgets a pod.
    pub fn remove_pod(&mut self, name: &PodName) {
        let Some(pod) = self.pods.remove(name) else {
            return;
        };
        if let Some(place) = self.places.get_mut(&pod.node) {
            place.retain(|other| other != name);
            if place.is_empty() {
                self.places.remove(&pod.node);
            }
        }
    }

    /// Keeps only these nodes, those of a complete list.
    pub fn keep_nodes(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.nodes.retain(|name, _| is_kept(name));
    }

    /// Keeps only these pods, those of a complete list.
    pub fn keep_pods(&mut self, is_kept: impl Fn(&PodName) -> bool) {
        let gone = self.pods.keys().filter(|name| !is_kept(name));
        let gone: Vec<PodName> = gone.cloned().collect();
        gone.iter().for_each(|name| self.remove_pod(name));
    }

    /// What all pods are to get: what failed before is tried again.
    pub fn changes(&self) -> Vec<Change> {
        let pods = self.pods.keys();
        pods.filter_map(|name| self.change(name)).collect()
    }

    fn change(&self, name: &PodName) -> Option<Change> {
        let pod = self.pods.get(name)?;
        let labels = missing(self.nodes.get(&pod.node)?, &pod.labels);
        (!labels.is_empty()).then(|| Change {
            pod: name.clone(),
            uid: Some(pod.uid.clone()),
            labels,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::KEYS;

    fn zone(zone: &str) -> Labels {
        Labels::from([(KEYS[4], zone.to_owned())])
    }

    fn name(name: &str) -> PodName {
        PodName {
            namespace: "default".to_owned(),
            name: name.to_owned(),
        }
    }

    fn on(node: &str, labels: Labels) -> Pod {
        Pod {
            uid: "uid".to_owned(),
            node: node.to_owned(),
            labels,
        }
    }

    fn change(pod: &str, labels: Labels) -> Change {
        Change {
            pod: name(pod),
            uid: Some("uid".to_owned()),
            labels,
        }
    }

    #[test]
    fn pod_gets_its_nodes_labels_whichever_is_seen_first() {
        let mut state = State::default();
        assert_eq!(state.set_pod(name("a"), on("n1", Labels::new())), None);
        assert_eq!(
            state.set_node("n1".to_owned(), zone("z1")),
            [change("a", zone("z1"))]
        );
        assert_eq!(
            state.set_pod(name("b"), on("n1", zone("z0"))),
            Some(change("b", zone("z1")))
        );
        assert_eq!(state.set_pod(name("b"), on("n1", zone("z1"))), None);
    }

    #[test]
    fn change_of_a_node_reaches_its_own_pods_only() {
        let mut state = State::default();
        state.set_node("n1".to_owned(), zone("z1"));
        state.set_node("n2".to_owned(), zone("z2"));
        state.set_pod(name("a"), on("n1", zone("z1")));
        state.set_pod(name("b"), on("n2", zone("z2")));
        assert_eq!(
            state.set_node("n1".to_owned(), zone("z3")),
            [change("a", zone("z3"))]
        );
        assert_eq!(state.set_node("n1".to_owned(), zone("z3")), []);
        assert_eq!(state.changes(), [change("a", zone("z3"))]);
    }

    #[test]
    fn pod_of_the_same_name_on_another_node_follows_that_node() {
        let mut state = State::default();
        state.set_node("n1".to_owned(), zone("z1"));
        state.set_node("n2".to_owned(), zone("z2"));
        state.set_pod(name("a"), on("n1", zone("z1")));
        state.set_pod(name("a"), on("n2", zone("z2")));
        assert_eq!(state.set_node("n1".to_owned(), zone("z3")), []);
    }

    #[test]
    fn what_a_new_list_lacks_is_forgotten() {
        let mut state = State::default();
        state.set_node("n1".to_owned(), zone("z1"));
        state.set_pod(name("a"), on("n1", Labels::new()));
        state.keep_pods(|_| false);
        state.keep_nodes(|_| false);
        assert_eq!(state.changes(), []);
        assert_eq!(state.node("n1"), None);
        assert!(state.places.is_empty(), "{state:?}");
    }
}
