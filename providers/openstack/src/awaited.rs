//! What has to be there first.

use provider_composer::{Key, Progress, Seen, World};

/// Something that has to be there first: it, or how far it has come.
pub type Awaited<T> = Result<T, Progress>;

/// How far something awaited has come.
pub fn progress<T>(awaited: &Awaited<T>) -> Progress {
    match awaited {
        Ok(_) => Progress::Ready,
        Err(progress) => progress.clone(),
    }
}

/// Fine once a condition of an object holds. Until then it is waited for, for a reason, with what the object says itself.
pub(crate) fn holds(key: &Key, type_: &str, reason: &str, world: &World<'_>) -> Awaited<()> {
    let why = match world.condition(key, type_) {
        Seen::Found(Some(condition)) if condition.status == "True" => return Ok(()),
        Seen::Found(Some(condition)) if !condition.message.is_empty() => {
            format!(": {}", condition.message)
        }
        Seen::Found(_) | Seen::Missing => String::new(),
        Seen::Unread(message) => return Err(Progress::Unknown { message }),
    };
    Err(Progress::waiting(reason, format!("waits for {key}{why}")))
}
