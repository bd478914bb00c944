//! Which labels a pod takes over from its node.

use std::collections::BTreeMap;

/// The labels that are copied.
pub const KEYS: [&str; 5] = [
    "kubernetes.metal.cloud.sap/bb",
    "kubernetes.metal.cloud.sap/cluster",
    "kubernetes.metal.cloud.sap/name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Values of those of [`KEYS`] that an object has.
pub type Labels = BTreeMap<&'static str, String>;

/// The copied labels among all of an object's.
pub fn copied(labels: Option<&BTreeMap<String, String>>) -> Labels {
    let value = |key: &'static str| Some((key, labels?.get(key)?.clone()));
    KEYS.into_iter().filter_map(value).collect()
}

/// What a pod lacks of its node's labels, or has with another value. A label that the node doesn't have stays as it is.
pub fn missing(node: &Labels, pod: &Labels) -> Labels {
    let missing = node
        .iter()
        .filter(|(key, value)| pod.get(*key) != Some(value));
    missing.map(|(key, value)| (*key, value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_labels_are_neither_read_nor_written() {
        let labels = BTreeMap::from([
            ("app".to_owned(), "web".to_owned()),
            (KEYS[4].to_owned(), "zone-a".to_owned()),
        ]);
        assert_eq!(
            copied(Some(&labels)),
            Labels::from([(KEYS[4], "zone-a".to_owned())])
        );
        assert_eq!(copied(None), Labels::new());
    }

    fn labels() -> impl Strategy<Value = Labels> {
        let pair = (0..KEYS.len(), "[a-c]");
        proptest::collection::vec(pair, 0..8).prop_map(|pairs| {
            pairs
                .into_iter()
                .map(|(key, value)| (KEYS[key], value))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn pod_has_all_of_its_nodes_labels_afterwards_and_then_lacks_none(node in labels(), pod in labels()) {
            let mut after = pod.clone();
            after.extend(missing(&node, &pod));
            for (key, value) in &node {
                prop_assert_eq!(&after[key], value);
            }
            for (key, value) in &pod {
                prop_assert!(node.contains_key(key) || after[key] == *value);
            }
            prop_assert_eq!(missing(&node, &after), Labels::new());
        }
    }
}
