//! The end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Comes with the first SIGTERM or SIGINT after this was called.
///
/// # Errors
/// The operating system gives no signals.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
