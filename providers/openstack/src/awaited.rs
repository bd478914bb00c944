//! What has to be there first.

use provider_composer::Progress;

/// Something that has to be there first: it, or how far it has come.
pub type Awaited<T> = Result<T, Progress>;

/// How far something awaited has come.
pub fn progress<T>(awaited: &Awaited<T>) -> Progress {
    match awaited {
        Ok(_) => Progress::Ready,
        Err(progress) => progress.clone(),
    }
}
