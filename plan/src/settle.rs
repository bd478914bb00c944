//! What runs, until nothing changes.

use std::collections::BTreeSet;

use crate::Error;
use crate::store::{Key, Store};

/// Something that runs in a cluster and changes objects: Crossplane, a provider, an operator.
pub trait Reconciler {
    /// Looks at every object that concerns it, and does what is to be done about it now. Doing it again when nothing has
    /// changed in between changes nothing.
    ///
    /// # Errors
    /// It can't go on at all.
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error>;
}

/// More rounds than any chain of objects, each of which waits for the one before it, has needed.
const ROUNDS: usize = 100;

/// Runs all reconcilers, one after the other, until none of them changes anything.
///
/// # Errors
/// One of them failed, or they never come to rest.
pub fn settle(store: &mut Store, reconcilers: &mut [&mut dyn Reconciler]) -> Result<(), Error> {
    let mut changed = BTreeSet::new();
    for _ in 0..ROUNDS {
        for reconciler in reconcilers.iter_mut() {
            reconciler.reconcile(store)?;
        }
        changed = store.take_changed();
        if changed.is_empty() {
            return Ok(());
        }
    }
    Err(Error::Unsettled {
        rounds: ROUNDS,
        changing: list(&changed),
    })
}

fn list(changed: &BTreeSet<Key>) -> String {
    let names: Vec<String> = changed.iter().map(Key::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::Manifest;
    use crate::store::MANAGEMENT;

    /// Counts up to a number, or without end.
    struct Counter {
        count: u64,
        last: Option<u64>,
    }

    impl Reconciler for Counter {
        fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
            if self.last.is_none_or(|last| self.count < last) {
                self.count += 1;
            }
            let thing = json!({
                "apiVersion": "test/v1", "kind": "Counter", "metadata": { "name": "one" }, "spec": self.count,
            });
            store.apply(MANAGEMENT, Manifest::try_from(thing).unwrap(), None);
            Ok(())
        }
    }

    #[test]
    fn it_ends_when_nothing_changes() {
        let mut store = Store::default();
        let mut counter = Counter {
            count: 0,
            last: Some(7),
        };
        settle(&mut store, &mut [&mut counter]).unwrap();
        assert_eq!(counter.count, 7);
    }

    #[test]
    fn what_never_rests_is_named() {
        let mut store = Store::default();
        let mut counter = Counter {
            count: 0,
            last: None,
        };
        let error = settle(&mut store, &mut [&mut counter]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "after 100 rounds these still change: Counter one in management"
        );
    }
}
