//! Certificates that change while they are served.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{error, info};

use super::TlsError;
use super::files::{Clients, Files};

/// How often the files are read. They are few and small, and a kubelet updates them within a minute or two.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The certificates of a folder, as they are now.
pub struct Credentials {
    directory: PathBuf,
    clients: Clients,
    seen: Files,
    config: watch::Sender<Arc<ServerConfig>>,
}

impl Credentials {
    /// Reads the files of a folder: tls.crt, tls.key and, to verify clients, ca.crt.
    ///
    /// # Errors
    /// A file is missing or unusable.
    pub fn read(directory: &Path, clients: Clients) -> Result<Self, TlsError> {
        let seen = Files::read(directory, clients)?;
        let config = watch::Sender::new(Arc::new(seen.config()?));
        Ok(Self {
            directory: directory.to_owned(),
            clients,
            seen,
            config,
        })
    }

    /// The configuration of a server, as it is now and as it changes.
    pub fn current(&self) -> watch::Receiver<Arc<ServerConfig>> {
        self.config.subscribe()
    }

    /// Takes on new files as they come. Bad ones are reported once, and the last good ones stay in use. Content is
    /// compared, not dates: a kubelet swaps a symbolic link, and some copies keep their dates.
    pub async fn follow(mut self) {
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
        let files = Files::read(&self.directory, self.clients)?;
        if files != self.seen {
            self.config.send_replace(Arc::new(files.config()?));
            self.seen = files;
            info!(directory = %self.directory.display(), "certificates renewed");
        }
        Ok(())
    }
}
