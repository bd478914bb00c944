//! What many tests begin with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Values by name, each made once for all tests of a process.
pub struct Shared<T>(Mutex<BTreeMap<String, Arc<OnceLock<T>>>>);

impl<T: Clone> Shared<T> {
    /// No value yet.
    pub const fn empty() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns a copy of the value of a name, which the first to ask makes while others wait.
    pub fn get(&self, name: String, make: impl FnOnce() -> T) -> T {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Arc::clone(values.entry(name).or_default());
        drop(values);
        value.get_or_init(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_made_once_for_each_name() {
        let values = Shared::empty();
        let get = |name: &str, value: u32| values.get(name.to_owned(), || value);
        assert_eq!([get("a", 1), get("a", 2), get("b", 3)], [1, 1, 3]);
    }
}
