//! The command `images`.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use c5c3_plan::Format;
use c5c3_plan::images::{copies, images, listing, skopeo, table};

use crate::cli::{Images, ImagesOutput};
use crate::task::{compositions, print};

/// Lists the images of releases.
pub fn run(arguments: &Images) -> Result<ExitCode> {
    ensure!(
        arguments.output != ImagesOutput::Copy || arguments.mirror.is_some(),
        "--output copy says where images are copied to: add --mirror, for instance --mirror registry.example.com/mirror"
    );
    let compositions = compositions(arguments.compositions.as_deref())?;
    let images = images(
        &arguments.releases,
        &compositions,
        arguments.mirror.as_ref(),
        arguments.cortex,
    )?;
    print(&match arguments.output {
        ImagesOutput::Table => table(&images),
        ImagesOutput::Json => listing(&images, Format::Json)?,
        ImagesOutput::Yaml => listing(&images, Format::Yaml)?,
        ImagesOutput::Copy => copies(&images),
        ImagesOutput::Skopeo => skopeo(&images)?,
    })?;
    Ok(ExitCode::SUCCESS)
}
