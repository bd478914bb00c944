//! The command `images`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use c5c3_plan::Format;
use c5c3_plan::images::{Mirror, copies, images, listing, skopeo, table};
use clap::{Args, ValueEnum};

use crate::task::{compositions, print};

#[derive(Args)]
pub struct Images {
    /// OpenStack releases, for instance 2025.2; none given: all that this version knows
    #[arg(value_name = "RELEASE")]
    pub releases: Vec<String>,
    /// Say what to copy to this registry, with a path in it or without
    #[arg(long, value_name = "REGISTRY")]
    pub mirror: Option<Mirror>,
    /// List Cortex's image too, which this project doesn't publish: it can be copied where you have it
    #[arg(long)]
    pub cortex: bool,
    /// How they are listed
    #[arg(long, short, value_enum, value_name = "FORM", default_value_t = ImagesOutput::Table)]
    pub output: ImagesOutput,
    /// Compositions, or inputs of them, to use instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    pub compositions: Option<PathBuf>,
}

/// How images are listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImagesOutput {
    /// For people
    Table,
    /// A list of images, each with its digest, its place in the mirror, and what sets it
    Json,
    /// The same as YAML
    Yaml,
    /// A line for each image: its place, a space, and its place in the mirror
    Copy,
    /// What `skopeo sync --src yaml` copies
    Skopeo,
}

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
