//! What has to be there first.

use provider_composer::{Key, Lookup, ObservedState, Progress, Reason};

/// Something that has to be there first: it, or how far it has come.
pub type Awaited<T> = Result<T, Progress>;

/// How far something awaited has come.
pub fn progress<T>(awaited: &Awaited<T>) -> Progress {
    match awaited {
        Ok(_) => Progress::Ready,
        Err(progress) => progress.clone(),
    }
}

/// Several awaited things at once: [`all`] of a tuple.
pub trait All {
    /// What is there once all of them are.
    type Output;
    /// All of them, or how far the first that isn't there has come.
    fn all(self) -> Awaited<Self::Output>;
}

macro_rules! tuples {
    ($(($($type:ident $value:ident),+);)+) => {$(
        impl<'a, $($type),+> All for ($(&'a Awaited<$type>,)+) {
            type Output = ($(&'a $type,)+);

            fn all(self) -> Awaited<Self::Output> {
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

/// Waits for all of several things: `all((&database, &access))` is both, or the progress of the first that isn't there.
///
/// # Errors
/// How far the first that isn't there has come.
pub fn all<T: All>(awaited: T) -> Awaited<T::Output> {
    awaited.all()
}

/// Waits until a condition of an object holds.
///
/// # Errors
/// It doesn't hold yet, for this reason, with what the object says itself.
pub fn holds(key: &Key, type_: &str, reason: Reason, observed: &ObservedState<'_>) -> Awaited<()> {
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
