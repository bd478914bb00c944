//! `cargo xtask package`: the Crossplane packages, built without Docker.

mod bom;
mod oci;
mod program;
mod provenance;
mod reference;
mod sources;
#[cfg(test)]
mod tests;
mod xpkg;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use c5c3_api::Generation;
use c5c3_program::{Build, Compiler};
use clap::Args;
use provider_openstack::table::{REGISTRY, RELEASES};
use serde_json::{Value, json};

use crate::pins::{self, Pin, Requirements};
use bom::Registry;
use program::StaticProgram;
use provenance::Sources;
use reference::{Location, Version};
use xpkg::{DependencyKind, Kind, Package};

const FUNCTION: &str = "function-c5c3";

/// The file with the bill of materials of the program.
const BILL: &str = "c5c3.cdx.json";

/// The file with the packages' provenance.
const PROVENANCE: &str = "provenance.json";

/// A file that is written: its name and its contents.
type File = (String, Vec<u8>);

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
    /// Who builds the packages, as an URI, for their provenance
    #[arg(
        long,
        value_name = "URI",
        default_value = "https://c5c3.io/build/by-hand"
    )]
    builder: String,
    /// The folder to write the packages to [default: target/package in the repository]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// A package that is ready to be pushed.
struct Built {
    name: String,
    archive: Vec<u8>,
}

/// Builds the three packages and writes them, each as `<name>.xpkg`, the bills of materials of the program and of each image, and the
/// packages' provenance. Nothing is known of how a program that is given was built, so it gets neither.
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
    let mut files: Vec<File> = archives(&function, &configurations, &program, &options.version)?
        .into_iter()
        .map(|package| (format!("{}.xpkg", package.name), package.archive))
        .collect();
    match &options.program {
        Some(file) => eprintln!(
            "neither {BILL} nor {PROVENANCE} is written, since nothing is known of how {} was built; leave out --program to have both",
            file.display()
        ),
        None => files.extend(evidence(root, options, &program, &files)?),
    }
    files.extend(bills_of_images(root)?);

    let output = options
        .output
        .clone()
        .unwrap_or_else(|| root.join("target/package"));
    write(&output, files)
}

/// Writes the files into a folder, which keeps no bill and no provenance of earlier packages.
fn write(output: &Path, files: Vec<File>) -> Result<()> {
    fs::create_dir_all(output)
        .with_context(|| format!("cannot make the folder {}", output.display()))?;
    for name in [BILL, PROVENANCE] {
        let earlier = output.join(name);
        if earlier.exists() {
            fs::remove_file(&earlier)
                .with_context(|| format!("cannot remove {}", earlier.display()))?;
        }
    }
    for (name, contents) in files {
        let path = output.join(name);
        fs::write(&path, contents).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The bill of materials of the program, and the provenance of the program, the packages and that bill.
fn evidence(
    root: &Path,
    options: &Options,
    program: &StaticProgram,
    packages: &[File],
) -> Result<[File; 2]> {
    let crates = bom::shipped_crates(root)?;
    let version = options.version.to_string();
    let bill = bom::bill("application", "c5c3", &version, Registry::Cargo, &crates);
    let bill = (BILL.to_owned(), document(&bill));
    let mut subjects = vec![("c5c3", program.contents.as_slice())];
    subjects.extend(
        packages
            .iter()
            .chain([&bill])
            .map(|(name, contents)| (name.as_str(), contents.as_slice())),
    );
    let statement = provenance(root, options, &crates)?.statement(&subjects);
    Ok([bill, (PROVENANCE.to_owned(), document(&statement))])
}

/// What the packages of this working tree are built from.
fn provenance<'a>(root: &Path, options: &'a Options, crates: &'a [Pin]) -> Result<Sources<'a>> {
    let commit = provenance::commit(root);
    if commit.is_none() {
        eprintln!("the provenance names no commit: build from a clone without changes");
    }
    let lock = root.join("Cargo.lock");
    Ok(Sources {
        builder: &options.builder,
        parameters: json!({
            "registry": options.registry.to_string(),
            "version": options.version.to_string(),
            "providerKubernetes": options.provider_kubernetes.as_ref().map(ToString::to_string),
        }),
        compiler: Compiler::of(root)?,
        commit,
        lock: fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?,
        crates,
    })
}

/// A bill of what pip installs into each image, by file.
fn bills_of_images(root: &Path) -> Result<Vec<File>> {
    pins::requirements(root)?
        .into_iter()
        .map(
            |Requirements {
                 service,
                 release,
                 pins,
             }| {
                let tag = RELEASES
                    .iter()
                    .find(|tags| tags.release.to_string() == release)
                    .and_then(|tags| tags.of(&service))
                    .with_context(|| format!("no image is of {service} {release}"))?;
                let name = format!("{REGISTRY}/{service}");
                let bill = bom::bill("container", &name, tag, Registry::Pypi, &pins);
                Ok((format!("{service}-{tag}.cdx.json"), document(&bill)))
            },
        )
        .collect()
}

/// JSON for a file.
fn document(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
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
        documents: sources::inputs(root)?,
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
                dependency.version = format!(">={}", options.version);
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
