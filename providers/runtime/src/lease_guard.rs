//! What every write is guarded by.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// The right to write, as long as it is valid.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseGuard(Arc<Mutex<Until>>);

/// Until when writing is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Until {
    /// Another replica leads.
    #[default]
    Nobody,
    /// We lead until then.
    Moment(Instant),
    /// There is no other replica.
    Ever,
}

impl LeaseGuard {
    /// For a single replica.
    pub(crate) fn forever() -> Self {
        Self(Arc::new(Mutex::new(Until::Ever)))
    }

    /// Whether writing is allowed now.
    pub(crate) fn is_valid(&self) -> bool {
        match self.get() {
            Until::Nobody => false,
            Until::Moment(moment) => Instant::now() < moment,
            Until::Ever => true,
        }
    }

    fn get(&self) -> Until {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, until: Until) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
