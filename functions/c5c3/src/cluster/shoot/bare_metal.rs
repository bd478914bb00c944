//! Bare metal, which Gardener must neither replace nor take from elsewhere.

use function_protocol::Fatal;

use crate::input::GardenerPreset;

/// Where bare metal comes from.
#[derive(Clone, Copy)]
pub struct BareMetal<'a> {
    /// IronCore's machine pool, if one is named.
    pub machine_pool: Option<&'a str>,
    /// Whether the machines hold servers or data, so that Gardener may neither replace nor delete them by itself.
    pub keeps: bool,
}

impl GardenerPreset {
    /// Bare metal keeps servers and disks, so nothing may replace it without a person; and a pool gets the machines that it
    /// names, in its zone.
    pub(super) fn check_bare_metal(&self, bare_metal: BareMetal<'_>) -> Result<(), Fatal> {
        const REPLACED: &str =
            "lets Gardener replace bare metal, with the servers and data on it: gardener.";
        let selects = |placeholder: &str| {
            let config = self.worker_config.as_ref();
            config.is_some_and(|config| config.has(placeholder))
        };
        let problem = if bare_metal.keeps && self.maintenance.auto_update.machine_image_version {
            format!("{REPLACED}maintenance.autoUpdate.machineImageVersion is true; set it to false")
        } else if bare_metal.keeps
            && self
                .machine_image
                .as_ref()
                .is_none_or(|image| image.version.is_none())
        {
            format!("{REPLACED}machineImage has no version; give the one that machines have")
        } else if bare_metal.machine_pool.is_some() && !selects("{machinePool}") {
            "can't select the machines of a machine pool: put {machinePool} into gardener.workerConfig"
                .to_owned()
        } else if !selects("{zone}") {
            "can't select the machines of a zone: put {zone} into gardener.workerConfig".to_owned()
        } else {
            return Ok(());
        };
        Err(Fatal::new(format!("the Composition's input {problem}")))
    }
}
