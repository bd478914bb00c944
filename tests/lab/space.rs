//! The disk that a cloud fills.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sys::statvfs::statvfs;

/// What RabbitMQ keeps free, in GiB: below, it takes no messages (`disk_free_limit` of its cluster operator).
const KEPT_FREE: u64 = 2;

/// What an image needs, in GiB: in the node's registry, and unpacked.
const IMAGE: u64 = 1;

/// Checks that so many images, and what RabbitMQ keeps free, fit on the disk of a machine's folder.
///
/// # Errors
/// When they don't, or when that isn't known.
pub(crate) fn check_space(folder: &Path, images: usize) -> Result<()> {
    let disk = statvfs(folder);
    let disk =
        disk.with_context(|| format!("the free disk space of {} is unknown", folder.display()))?;
    let free = disk.blocks_available().saturating_mul(disk.fragment_size()) >> 30;
    is_enough(folder, images, free)
}

fn is_enough(folder: &Path, images: usize, free: u64) -> Result<()> {
    let images = u64::try_from(images).unwrap_or(u64::MAX);
    let needed = images.saturating_mul(IMAGE).saturating_add(KEPT_FREE);
    ensure!(
        free >= needed,
        "the cloud needs {needed} GiB on the disk of {} for its images and for what RabbitMQ keeps free, and {free} are free: delete what \
         isn't needed there, for instance what Go compiled, by `go clean -cache`, or name a folder on another disk by TMPDIR",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cloud_does_not_start_on_a_disk_on_which_rabbitmq_takes_no_messages() {
        let folder = Path::new("/tmp/lab");
        assert!(is_enough(folder, 13, 15).is_ok());
        let error = is_enough(folder, 13, 14).unwrap_err().to_string();
        assert!(
            error.contains("needs 15 GiB on the disk of /tmp/lab") && error.contains("14 are free"),
            "{error}"
        );
    }
}
