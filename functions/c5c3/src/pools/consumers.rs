//! What a claim reads of the consumers of a pool: its own entry, and numbers. A pool may have a thousand consumers, and their entries are
//! skipped, so that a claim's call costs the same among all of them.

use c5c3_api::Consumer;
use function_protocol::{Document, DocumentError, Items};
use serde::Deserialize;

use crate::composite::Metadata;

/// Where a pool's composite resource has them.
const PATH: [&str; 2] = ["status", "consumers"];

/// The consumers of a pool, unread.
#[derive(Clone, Copy)]
pub(super) struct Consumers<'a>(&'a Document);

/// What a consumer is promised, of its entry.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Promised {
    min_hosts: Option<u32>,
}

impl<'a> Consumers<'a> {
    /// Those of a pool's composite resource.
    pub(super) fn of(pool: &'a Document) -> Self {
        Self(pool)
    }

    /// A claim's entry: by UID or, where none has it, by name and namespace, since a claim that is restored from a backup has another UID.
    ///
    /// # Errors
    /// An entry that mentions the UID, or else the namespace, of the claim isn't a consumer.
    pub(super) fn find(self, claim: &Metadata) -> Result<Option<Consumer>, DocumentError> {
        let by_uid = match claim.stored_uid() {
            Some(uid) => self.find_by(uid, |consumer| has_uid_of(consumer, claim))?,
            None => None,
        };
        if by_uid.is_some() {
            return Ok(by_uid);
        }
        // Many claims may have one name, each in a namespace of its own.
        let text = match claim.claim_namespace() {
            "" => claim.claim_name(),
            namespace => namespace,
        };
        self.find_by(text, |consumer| has_name_of(consumer, claim))
    }

    /// How many there are.
    ///
    /// # Errors
    /// The list is malformed.
    pub(super) fn count(self) -> Result<usize, DocumentError> {
        self.items()?.try_fold(0, |count: usize, item| {
            item.map(|_| count.saturating_add(1))
        })
    }

    /// The nodes that all together are promised.
    ///
    /// # Errors
    /// What one is promised isn't a number of nodes.
    pub(super) fn promised(self) -> Result<u32, DocumentError> {
        self.items()?.try_fold(0, |sum: u32, item| {
            let Promised { min_hosts } = item?.parse()?;
            Ok(sum.saturating_add(promise(min_hosts)))
        })
    }

    /// The first that has a text and is meant.
    fn find_by(
        self,
        text: &str,
        is_meant: impl Fn(&Consumer) -> bool,
    ) -> Result<Option<Consumer>, DocumentError> {
        for item in self.items()?.mentioning(text) {
            let consumer: Consumer = item?.parse()?;
            if is_meant(&consumer) {
                return Ok(Some(consumer));
            }
        }
        Ok(None)
    }

    fn items(self) -> Result<Items<'a>, DocumentError> {
        self.0.items(&PATH)
    }
}

/// Whether a consumer has the UID of a claim, which no tenant can choose.
pub(super) fn has_uid_of(consumer: &Consumer, claim: &Metadata) -> bool {
    consumer.uid.is_some() && consumer.uid.as_deref() == claim.stored_uid()
}

fn has_name_of(consumer: &Consumer, claim: &Metadata) -> bool {
    consumer.namespace == claim.claim_namespace() && consumer.name == claim.claim_name()
}

/// The nodes that all consumers together are promised.
pub fn promised(consumers: &[Consumer]) -> u32 {
    consumers.iter().map(hosts).fold(0, u32::saturating_add)
}

/// The nodes that a consumer is promised.
pub fn hosts(consumer: &Consumer) -> u32 {
    promise(consumer.min_hosts)
}

/// One node where it isn't said how many are promised.
fn promise(min_hosts: Option<u32>) -> u32 {
    min_hosts.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// A claim that is stored in a cluster.
    fn claim() -> Metadata {
        let metadata = json!({
            "name": "prod", "namespace": "tenant", "uid": "own-uid", "creationTimestamp": "2026-01-01T00:00:00Z",
        });
        serde_json::from_value(metadata).unwrap()
    }

    fn pool(consumers: &Value) -> Document {
        let status = json!({"phase": "Ready", "consumers": consumers});
        Document::from_value(&json!({"spec": {}, "status": status})).unwrap()
    }

    fn other(number: u32) -> Value {
        json!({"name": format!("other-{number}"), "namespace": "tenant", "uid": format!("uid-{number}"), "minHosts": number})
    }

    fn found(consumers: &Value) -> Result<Option<Consumer>, String> {
        let pool = pool(consumers);
        let found = Consumers::of(&pool).find(&claim());
        found.map_err(|error| error.to_string())
    }

    #[rstest]
    fn claim_is_found_among_consumers_wherever_it_is(#[values(0, 1, 2, 3)] position: usize) {
        for own in [
            json!({"name": "prod", "namespace": "tenant", "uid": "own-uid", "minHosts": 7, "hosts": 9}),
            json!({"name": "was-renamed", "namespace": "elsewhere", "uid": "own-uid"}),
            json!({"name": "prod", "namespace": "tenant", "uid": "restored"}),
            json!({"name": "prod", "namespace": "tenant"}),
        ] {
            let mut consumers = vec![other(1), other(2), other(3)];
            consumers.insert(position, own.clone());
            let own: Consumer = serde_json::from_value(own).unwrap();
            assert_eq!(found(&json!(consumers)), Ok(Some(own)));
        }
    }

    #[rstest]
    #[case::nobody(json!([]))]
    #[case::others(json!([other(1), other(2)]))]
    #[case::namesake(json!([{"name": "prod", "namespace": "elsewhere", "uid": "uid"}]))]
    #[case::neighbour(json!([{"name": "prod-2", "namespace": "tenant", "uid": "own-uid-2"}]))]
    #[case::name_of_its_uid(json!([{"name": "own-uid", "namespace": "prod", "uid": "tenant"}]))]
    fn claim_that_isnt_admitted_is_not_found(#[case] consumers: Value) {
        assert_eq!(found(&consumers), Ok(None));
    }

    #[test]
    fn claim_is_found_by_uid_before_its_namesake() {
        let namesake =
            json!({"name": "prod", "namespace": "tenant", "uid": "former", "minHosts": 1});
        let own = json!({"name": "prod", "namespace": "tenant", "uid": "own-uid", "minHosts": 2});
        let found = found(&json!([namesake, own])).unwrap().unwrap();
        assert_eq!(found.uid.as_deref(), Some("own-uid"));
        assert_eq!(found.min_hosts, Some(2));
    }

    #[test]
    fn consumers_that_cannot_be_read_stop_only_those_who_need_them() {
        let own = json!({"name": "prod", "namespace": "tenant", "uid": "own-uid"});
        let unreadable = json!({"name": ["x"], "namespace": 1, "minHosts": -1});
        let pool = pool(&json!([unreadable, own, "x"]));
        let consumers = Consumers::of(&pool);
        assert!(consumers.find(&claim()).unwrap().is_some());
        assert_eq!(consumers.count(), Ok(3));
        assert_eq!(
            consumers.promised().unwrap_err().to_string(),
            "status.consumers[0].minHosts: invalid value: integer `-1`, expected u32"
        );
        assert_eq!(
            found(&json!([other(1), {"name": "prod", "uid": "own-uid", "minHosts": "2"}])),
            Err(
                "status.consumers[1].minHosts: invalid type: string \"2\", expected u32".to_owned()
            )
        );
        assert_eq!(
            found(&json!({})),
            Err("status.consumers: invalid type: map, expected a list".to_owned())
        );
    }

    #[test]
    fn pool_without_a_status_has_no_consumers() {
        let pool = Document::from_value(&json!({"spec": {}})).unwrap();
        let consumers = Consumers::of(&pool);
        assert_eq!(consumers.find(&claim()), Ok(None));
        assert_eq!((consumers.count(), consumers.promised()), (Ok(0), Ok(0)));
    }

    prop_compose! {
        fn consumer()(
            name in "[ab]{1,2}",
            namespace in "[ab]{0,2}",
            uid in prop::option::of("[ab]{1,2}"),
            min_hosts in prop::option::of(prop_oneof![0..5_u32, Just(u32::MAX)]),
            hosts in prop::option::of(0..5_u32),
        ) -> Consumer {
            Consumer { name, namespace, uid, min_hosts, hosts, pending: None }
        }
    }

    prop_compose! {
        fn any_claim()(
            name in "[ab]{1,2}",
            namespace in prop::option::of("[ab]{1,2}"),
            uid in "[ab]{0,2}",
            created in prop::sample::select(vec!["", "2026-01-01T00:00:00Z"]),
        ) -> Metadata {
            let metadata = json!({"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": created});
            serde_json::from_value(metadata).unwrap()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn consumers_are_those_that_reading_all_of_them_gives(
            all in prop::collection::vec(consumer(), 0..12),
            claim in any_claim(),
        ) {
            let pool = pool(&json!(all));
            let consumers = Consumers::of(&pool);
            let by_uid = all.iter().find(|consumer| has_uid_of(consumer, &claim));
            let own = by_uid.or_else(|| all.iter().find(|consumer| has_name_of(consumer, &claim)));
            prop_assert_eq!(consumers.find(&claim), Ok(own.cloned()));
            prop_assert_eq!(consumers.count(), Ok(all.len()));
            prop_assert_eq!(consumers.promised(), Ok(promised(&all)));
        }
    }
}
