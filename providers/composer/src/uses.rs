//! What composers do with the objects of kinds.

use c5c3_kinds::ResourceKind;

/// What a composer does with the objects of a kind. The operator's role follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The kind.
    pub kind: ResourceKind,
    /// What it does with them.
    pub access: Access,
}

/// What a composer does with the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reads them.
    Reads,
    /// Reads them, and sets labels on those that exist.
    Labels,
    /// Creates and changes them, and never deletes them: they have data that outlasts the subject.
    Keeps,
    /// Creates, changes and deletes them.
    Composes,
}

impl Use {
    /// Reads the objects of a kind.
    pub const fn reads(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Reads,
        }
    }

    /// Reads the objects of a kind, and sets labels on them.
    pub const fn labels(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Labels,
        }
    }

    /// Creates and changes objects of a kind without an owner, and never deletes them.
    pub const fn keeps(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Keeps,
        }
    }

    /// Creates, changes and deletes the objects of a kind.
    pub const fn composes(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Composes,
        }
    }
}
