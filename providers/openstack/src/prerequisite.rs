//! Prerequisites: what must exist or be ready before a service can be configured.

use provider_composer::{Key, Lookup, ObservedState, Progress, Reason};

/// A prerequisite, or its progress while it isn't ready.
pub type Prerequisite<T> = Result<T, Progress>;

/// The progress of a prerequisite.
pub fn progress<T>(prerequisite: &Prerequisite<T>) -> Progress {
    match prerequisite {
        Ok(_) => Progress::Ready,
        Err(progress) => progress.clone(),
    }
}

/// A tuple of prerequisites, see [`all`].
pub trait All {
    /// The prerequisites, once all are ready.
    type Output;
    /// Returns all of them, or the progress of the first that isn't ready.
    fn all(self) -> Prerequisite<Self::Output>;
}

macro_rules! tuples {
    ($(($($type:ident $value:ident),+);)+) => {$(
        impl<'a, $($type),+> All for ($(&'a Prerequisite<$type>,)+) {
            type Output = ($(&'a $type,)+);

            fn all(self) -> Prerequisite<Self::Output> {
                let ($($value,)+) = self;
                Ok(($($value.as_ref().map_err(Clone::clone)?,)+))
            }
        }
    )+};
}

tuples! {
    (A a, B b);
    (A a, B b, C c);
    (A a, B b, C c, D d);
    (A a, B b, C c, D d, E e);
    (A a, B b, C c, D d, E e, F f);
}

/// Combines prerequisites: `all((&database, &access))` is both, or the progress of the first that isn't ready.
///
/// # Errors
/// The progress of the first that isn't ready.
pub fn all<T: All>(prerequisites: T) -> Prerequisite<T::Output> {
    prerequisites.all()
}

/// Waits until the condition Ready of all objects is True.
///
/// # Errors
/// That of one isn't. The progress has this reason, and the condition's message.
pub(crate) fn are_ready(
    keys: &[Key],
    reason: Reason,
    observed: &ObservedState<'_>,
) -> Prerequisite<()> {
    let mut each = keys.iter();
    each.try_for_each(|key| holds(key, "Ready", reason, observed))
}

/// Waits until a condition of an object is True.
///
/// # Errors
/// The condition isn't True. The progress has this reason, and the condition's message.
pub fn holds(
    key: &Key,
    type_: &str,
    reason: Reason,
    observed: &ObservedState<'_>,
) -> Prerequisite<()> {
    let why = match observed.condition(key, type_) {
        Lookup::Found(Some(condition)) if condition.status == "True" => return Ok(()),
        Lookup::Found(Some(condition)) if !condition.message.is_empty() => {
            format!(": {}", condition.message)
        }
        Lookup::Found(_) | Lookup::Missing => String::new(),
        Lookup::Unknown(message) => return Err(Progress::Unknown { message }),
    };
    Err(Progress::waiting(reason, format!("waits for {key}{why}")))
}

/// What a status says of a part of a service, for instance a cell.
pub fn said(progress: &Progress) -> &str {
    match progress.is_ready() {
        true => "Ready",
        false => progress.message(),
    }
}

/// The progress of all parts, each by its name.
pub fn sum(states: &[(String, Progress)]) -> Progress {
    let mut unready = states.iter().filter(|(_, state)| !state.is_ready());
    let Some((_, first)) = unready.next() else {
        return Progress::Ready;
    };
    let each = states.iter();
    let each: Vec<String> = each
        .map(|(name, state)| format!("{name}: {}", said(state)))
        .collect();
    let message = each.join("; ");
    first.clone().explained(|_| message)
}
