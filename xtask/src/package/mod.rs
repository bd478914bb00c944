//! `cargo xtask package`: the Crossplane packages, built without Docker.

mod oci;
mod program;
mod reference;
mod sources;
#[cfg(test)]
mod tests;
mod xpkg;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use c5c3_api::Generation;
use c5c3_program::Build;
use clap::Args;
use serde_json::Value;

use program::StaticProgram;
use reference::{Location, Version};
use xpkg::{DependencyKind, Kind, Package};

const FUNCTION: &str = "function-c5c3";

/// What the packages say of where they are and what they need.
#[derive(Args)]
pub struct Options {
    /// The place that the packages will be pushed to; the configurations look for the function there
    #[arg(long, value_name = "REGISTRY", default_value = c5c3_api::REGISTRY)]
    registry: Location,
    /// The version that the packages will be tagged with
    #[arg(long, value_name = "VERSION", default_value = concat!("v", env!("CARGO_PKG_VERSION")))]
    version: Version,
    /// Where the configurations look for provider-kubernetes, if not where it is published
    #[arg(long, value_name = "REFERENCE")]
    provider_kubernetes: Option<Location>,
    /// A static program for the function's package, instead of building c5c3
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder to write the packages to [default: target/package in the repository]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// A package that is ready to be pushed.
struct Built {
    name: String,
    archive: Vec<u8>,
}

/// Builds the three packages and writes them, each as `<name>.xpkg`.
///
/// # Errors
/// When a source is missing or unfit for its package, the program doesn't build, or a file can't be written.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let configurations = configurations(root, options)?;
    let function = function(root)?;
    let program = match &options.program {
        Some(file) => StaticProgram::read(file)?,
        None => StaticProgram::read(&Build::Release.program(root)?)?,
    };

    let output = options
        .output
        .clone()
        .unwrap_or_else(|| root.join("target/package"));
    fs::create_dir_all(&output)
        .with_context(|| format!("cannot make the folder {}", output.display()))?;
    for package in archives(&function, &configurations, &program, &options.version)? {
        let path = output.join(package.name).with_extension("xpkg");
        fs::write(&path, package.archive)
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn archives(
    function: &Package,
    configurations: &[Package],
    program: &StaticProgram,
    version: &Version,
) -> Result<Vec<Built>> {
    let with_program = std::iter::once((function, Some(program)));
    let without = configurations
        .iter()
        .map(|configuration| (configuration, None));
    with_program
        .chain(without)
        .map(|(package, program)| {
            let name = package.metadata.metadata.name.clone();
            let image = package
                .image(program, version)
                .and_then(|image| image.archive());
            Ok(Built {
                archive: image.with_context(|| format!("cannot build {name}"))?,
                name,
            })
        })
        .collect()
}

fn function(root: &Path) -> Result<Package> {
    Ok(Package {
        metadata: sources::metadata(root, Kind::Function, FUNCTION)?,
        documents: Vec::new(),
    })
}

fn configurations(root: &Path, options: &Options) -> Result<Vec<Package>> {
    Generation::ALL
        .into_iter()
        .map(|generation| configuration(root, generation, options))
        .collect()
}

fn configuration(root: &Path, generation: Generation, options: &Options) -> Result<Package> {
    let name = format!("configuration-c5c3-{}", generation.version());
    let mut metadata = sources::metadata(root, Kind::Configuration, &name)?;
    let mut documents = sources::documents(root, generation)?;

    for dependency in &mut metadata.spec.depends_on {
        match (dependency.kind, &options.provider_kubernetes) {
            (DependencyKind::Function, _) => {
                dependency.package = dependency.package.moved_to(&options.registry);
                dependency.version = options.version.or_later();
                let installed_as = dependency.package.package_name();
                for composition in documents
                    .iter_mut()
                    .filter(|document| document["kind"] == "Composition")
                {
                    call_function(composition, &installed_as)?;
                }
            }
            (DependencyKind::Provider, Some(location)) => dependency.package = location.clone(),
            (DependencyKind::Provider, None) => {}
        }
    }
    Ok(Package {
        metadata,
        documents,
    })
}

/// Makes a composition call our function by the name that Crossplane installs it under.
fn call_function(composition: &mut Value, installed_as: &str) -> Result<()> {
    let mut called = false;
    for step in composition["spec"]["pipeline"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        let name = &mut step["functionRef"]["name"];
        if *name == FUNCTION {
            *name = installed_as.into();
            called = true;
        }
    }
    ensure!(
        called,
        "the composition {} has no step that calls {FUNCTION}",
        composition["metadata"]["name"]
    );
    Ok(())
}
