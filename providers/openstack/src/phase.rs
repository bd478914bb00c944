//! The phases of an upgrade.

/// The phase of an upgrade in which a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the first installation. Also while the older release runs, if no task of the same database is [`Phase::Expand`].
    Sync,
    /// While the older release runs: adds what the new release needs.
    Expand,
    /// After the last pod of the older release has terminated, and all that the pods call runs the new one: removes what only the older
    /// release needed.
    Contract,
}

impl Phase {
    /// The value of the Job's label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Expand => "expand",
            Self::Contract => "contract",
        }
    }
}
