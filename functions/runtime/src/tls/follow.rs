//! Certificates that change while they are served.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{error, info};

use super::TlsError;
use super::files::Files;

/// How often the files are read. They are few and small, and a kubelet updates them within a minute or two.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The certificates of a folder, as they are now.
pub(crate) struct Credentials {
    directory: PathBuf,
    seen: Files,
    config: watch::Sender<Arc<ServerConfig>>,
}

impl Credentials {
    pub(crate) fn read(directory: &Path) -> Result<Self, TlsError> {
        let seen = Files::read(directory)?;
        let config = watch::Sender::new(Arc::new(seen.config()?));
        Ok(Self {
            directory: directory.to_owned(),
            seen,
            config,
        })
    }

    pub(crate) fn current(&self) -> watch::Receiver<Arc<ServerConfig>> {
        self.config.subscribe()
    }

    /// Takes on new files as they come. Bad ones are reported once, and the last good ones stay in use. Content is
    /// compared, not dates: a kubelet swaps a symbolic link, and some copies keep their dates.
    pub(crate) async fn follow(mut self) {
        let mut reported = String::new();
        loop {
            sleep(LOOK_EVERY).await;
            match self.renew() {
                Ok(()) => reported.clear(),
                Err(failure) => {
                    let failure = failure.to_string();
                    if failure != reported {
                        error!(
                            error = failure,
                            "new certificates cannot be used; the old ones stay in use"
                        );
                        reported = failure;
                    }
                }
            }
        }
    }

    fn renew(&mut self) -> Result<(), TlsError> {
        let files = Files::read(&self.directory)?;
        if files != self.seen {
            self.config.send_replace(Arc::new(files.config()?));
            self.seen = files;
            info!(directory = %self.directory.display(), "certificates renewed");
        }
        Ok(())
    }
}
