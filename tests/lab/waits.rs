//! What a scenario waits for, which it says when it is stopped.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::Error;

thread_local! {
    /// What this thread's scenario waits for, and what it saw last instead.
    static WAITS: RefCell<BTreeMap<usize, (String, String)>> = const { RefCell::new(BTreeMap::new()) };
}

/// The scenario waits for something until this is dropped.
pub(crate) struct Wait(usize);

impl Wait {
    /// Begins to wait for something.
    pub fn begin(what: &str) -> Self {
        WAITS.with_borrow_mut(|waits| {
            let number = waits.last_key_value().map_or(0, |(last, _)| last + 1);
            waits.insert(number, (what.to_owned(), "nothing".to_owned()));
            Self(number)
        })
    }

    /// Keeps what was seen instead.
    pub fn saw(&self, error: &Error) {
        WAITS.with_borrow_mut(|waits| {
            if let Some((_, seen)) = waits.get_mut(&self.0) {
                *seen = format!("{error:#}");
            }
        });
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        // Nothing is left of it when the thread ends.
        let _ = WAITS.try_with(|waits| waits.borrow_mut().remove(&self.0));
    }
}

/// What this thread's scenario waits for, one after the other.
pub(crate) fn waits() -> String {
    WAITS.with_borrow(|waits| {
        let waits = waits.values();
        let waits = waits.map(|(what, seen)| format!("{what}: not yet; last seen: {seen}"));
        waits.collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn waits_are_said_until_they_end() {
        assert_eq!(waits(), "");
        let first = Wait::begin("the claim is Ready");
        let second = Wait::begin("the Shoot is there");
        second.saw(&anyhow!("there is none"));
        assert_eq!(
            waits(),
            "the claim is Ready: not yet; last seen: nothing\nthe Shoot is there: not yet; last seen: there is none"
        );
        drop(first);
        assert_eq!(
            waits(),
            "the Shoot is there: not yet; last seen: there is none"
        );
        drop(second);
        assert_eq!(waits(), "");
    }
}
