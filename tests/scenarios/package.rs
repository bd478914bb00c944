//! The packages, as real command line tools push them and real package managers install them.

mod evidence;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use lab::tools::Tool;
use lab::{
    Cluster, Context, Crossplane, DynamicObject, Etcd, Kind, Machine, Program, Release, Result,
    SYSTEM, ensure, eventually, is, kind, output,
};
use serde_json::json;
use tempfile::TempDir;

use lab::claims::{CLAIM_DEFINITION, KINDS, NAMESPACED_DEFINITION};
use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario, core};

/// What pushes packages, and what takes them.
const CLI: &[Need] = &[Need::Tool(Tool::CrossplaneCli), Need::Tool(Tool::Crane)];

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 120 s, namespaced_resources_install_on_crossplane_2_as_the_install_page_says, [CLUSTER, CLI, &[core(Release::V2_4)]]),
    scenario!(Long, 600 s, the_function_package_is_an_image_that_holds_all_it_needs, [CLI]),
    scenario!(Long, 2_400 s, evidence::the_program_is_the_same_from_another_folder, []),
    scenario!(Long, 240 s, configurations_wait_for_the_function_that_a_person_upgrades, [CLUSTER, CLI, &[core(Release::V2_4)]]),
    scenario!(Long, 120 s, claims_install_on_crossplane_2, [CLUSTER, CLI, &[core(Release::V2_4)]]),
    scenario!(Long, 120 s, claims_install_on_crossplane_1_20, [CLUSTER, CLI, &[
        core(Release::V1_20),
        Need::Tool(Tool::CrankV1),
    ]]),
];

/// Each scenario has a network of its own, so each has a registry of this address.
const REGISTRY: &str = "127.0.0.1:5000";
const VERSION: &str = "v1.2.3";
/// The version that packages are upgraded to.
const NEXT: &str = "v1.2.4";

const SOON: Duration = Duration::from_secs(30);
const INSTALLED: Duration = Duration::from_secs(120);

const CONFIGURATION: Kind = kind("pkg.crossplane.io/v1", "Configuration");
const FUNCTION: Kind = kind("pkg.crossplane.io/v1", "Function");
const PROVIDER: Kind = kind("pkg.crossplane.io/v1", "Provider");
const FUNCTION_REVISION: Kind = kind("pkg.crossplane.io/v1", "FunctionRevision");
const PROVIDER_REVISION: Kind = kind("pkg.crossplane.io/v1", "ProviderRevision");
const COMPOSITION: Kind = kind("apiextensions.crossplane.io/v1", "Composition");

fn claims_install_on_crossplane_1_20() -> Result<()> {
    claims_install(Release::V1_20, Tool::CrankV1)
}

fn claims_install_on_crossplane_2() -> Result<()> {
    claims_install(Release::V2_4, Tool::CrossplaneCli)
}

fn claims_install(release: Release, cli: Tool) -> Result<()> {
    let packages = packages(None)?;
    lab::on_a_bare_machine(async move |machine| {
        let management = with_packages(&machine, release, cli, packages.path()).await?;
        install(&machine, &management, release, "configuration-c5c3-v1").await?;
        offers(&management, CLAIM_DEFINITION).await
    })
}

/// A cluster with Crossplane, and a registry with everything.
async fn with_packages(
    machine: &Arc<Machine>,
    release: Release,
    cli: Tool,
    packages: &Path,
) -> Result<Cluster> {
    let etcd = Etcd::start(machine)?;
    let management = Cluster::start(machine, &etcd, "management").await?;
    Crossplane::start(machine, &management, release).await?;
    serve(machine, release, cli, packages).await?;
    Ok(management)
}

fn namespaced_resources_install_on_crossplane_2_as_the_install_page_says() -> Result<()> {
    let packages = packages(Some(Tool::Crane))?;
    lab::on_a_bare_machine(async move |machine| {
        let (release, cli) = (Release::V2_4, Tool::CrossplaneCli);
        let management = with_packages(&machine, release, cli, packages.path()).await?;
        install(&machine, &management, release, "configuration-c5c3-v2").await?;
        offers(&management, NAMESPACED_DEFINITION).await?;

        let page = fs::read_to_string("../docs/install.md")?;
        let manifests: Vec<&str> = page
            .split("```yaml\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect();
        ensure!(manifests.len() >= 4, "the install page lost its manifests");
        for manifest in manifests {
            management.apply(manifest).await?;
        }
        Ok(())
    })
}

/// Crossplane upgrades no dependency by itself, so docs/upgrade.md has a command for the function, too.
fn configurations_wait_for_the_function_that_a_person_upgrades() -> Result<()> {
    let present = packages(Some(Tool::Crane))?;
    let next = packages_by(c5c3_program::cargo(), NEXT, Some(Tool::Crane))?;
    lab::on_a_bare_machine(async move |machine| {
        let (release, cli) = (Release::V2_4, Tool::CrossplaneCli);
        let management = with_packages(&machine, release, cli, present.path()).await?;
        let configuration = "configuration-c5c3-v2";
        install(&machine, &management, release, configuration).await?;
        for name in ["function-c5c3", configuration] {
            let file = next.path().join(name).with_extension("xpkg");
            push(cli, &file, &format!("c5c3/{name}:{NEXT}"))?;
        }

        let upgrade = |name: &str| {
            let package = format!("{REGISTRY}/c5c3/{name}:{NEXT}");
            json!({"spec": {"package": package}})
        };
        management
            .edit(CONFIGURATION, "packaged", upgrade(configuration))
            .await?;
        eventually("the configuration waits", INSTALLED, async || {
            machine.check("crossplane")?;
            let configuration = management.get(CONFIGURATION, "packaged").await?;
            let conditions = configuration.data["status"]["conditions"].to_string();
            ensure!(
                conditions.contains("incompatible dependencies"),
                "{conditions}"
            );
            Ok(())
        })
        .await?;

        management
            .edit(FUNCTION, "c5c3-function-c5c3", upgrade("function-c5c3"))
            .await?;
        eventually("the configuration is healthy", INSTALLED, async || {
            machine.check("crossplane")?;
            is(&management.get(CONFIGURATION, "packaged").await?, "Healthy")
        })
        .await
    })
}

fn the_function_package_is_an_image_that_holds_all_it_needs() -> Result<()> {
    let packages = packages(None)?;
    lab::on_a_bare_machine(async move |machine| {
        serve(
            &machine,
            Release::V2_4,
            Tool::CrossplaneCli,
            packages.path(),
        )
        .await?;
        let image = format!("{REGISTRY}/c5c3/function-c5c3:{VERSION}");
        run(Command::new(Tool::Crane.path()?).args(["validate", "--remote", &image]))?;

        let files = machine.folder().join("image");
        let archive = machine.folder().join("image.tar");
        fs::create_dir_all(&files)?;
        run(Command::new(Tool::Crane.path()?)
            .args(["export", &image])
            .arg(&archive))?;
        run(Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(&files))?;
        let version = run(Command::new("chroot")
            .arg(&files)
            .args(["/c5c3", "--version"]))?;
        ensure!(
            version.starts_with("c5c3 "),
            "the program says it is {version:?}"
        );
        evidence::describes(packages.path(), &files.join("c5c3"))
    })
}

/// The packages for that registry, built outside of the scenario's network; with the program as it is shipped, or with another
/// that stands for it where only Crossplane reads the package.
fn packages(program: Option<Tool>) -> Result<TempDir> {
    packages_by(c5c3_program::cargo(), VERSION, program)
}

/// The same of a version, built by this cargo.
fn packages_by(mut cargo: Command, version: &str, program: Option<Tool>) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    cargo
        .args(["xtask", "package", "--version", version])
        .args(["--registry", &format!("{REGISTRY}/c5c3")])
        .args(["--provider-kubernetes"])
        .arg(format!("{REGISTRY}/contrib/provider-kubernetes"))
        .arg("--output")
        .arg(folder.path());
    if let Some(program) = program {
        cargo.arg("--program").arg(program.path()?);
    }
    run(&mut cargo)?;
    Ok(folder)
}

/// Starts a registry and pushes everything to it, by a command line tool of Crossplane's.
async fn serve(machine: &Machine, release: Release, cli: Tool, packages: &Path) -> Result<()> {
    let program = Program::new(Tool::Crane.path()?)
        .arg("registry")
        .arg("serve")
        .flag("address", REGISTRY);
    machine.start("registry", &program)?;
    eventually("the registry listens", SOON, async || {
        machine.check("registry")?;
        Ok(tokio::net::TcpStream::connect(REGISTRY).await.map(drop)?)
    })
    .await?;

    let module = release.provider_module();
    let provider = machine.folder().join("provider-kubernetes.xpkg");
    run(Command::new(cli.path()?)
        .args(["xpkg", "build", "--package-root"])
        .arg(module.folder()?.join("package"))
        .arg("--package-file")
        .arg(&provider))?;
    let version = module.version()?;
    push(
        cli,
        &provider,
        &format!("contrib/provider-kubernetes:v{version}"),
    )?;
    for name in [
        "function-c5c3",
        "configuration-c5c3-v1",
        "configuration-c5c3-v2",
    ] {
        let file = packages.join(name).with_extension("xpkg");
        push(cli, &file, &format!("c5c3/{name}:{VERSION}"))?;
    }
    Ok(())
}

fn push(cli: Tool, file: &Path, reference: &str) -> Result<()> {
    run(Command::new(cli.path()?)
        .args(["xpkg", "push", "--package-files"])
        .arg(file)
        .arg(format!("{REGISTRY}/{reference}")))
    .map(drop)
}

/// Installs a configuration, and waits until it is healthy and what it depends on is there.
async fn install(
    machine: &Machine,
    management: &Cluster,
    release: Release,
    configuration: &str,
) -> Result<()> {
    let package = json!({
        "apiVersion": CONFIGURATION.api_version,
        "kind": CONFIGURATION.kind,
        "metadata": {"name": "packaged"},
        "spec": {"package": format!("{REGISTRY}/c5c3/{configuration}:{VERSION}")},
    });
    management.apply(&package.to_string()).await?;
    for (packages, revisions, name) in [
        (FUNCTION, FUNCTION_REVISION, "c5c3-function-c5c3"),
        (PROVIDER, PROVIDER_REVISION, "contrib-provider-kubernetes"),
    ] {
        certify(machine, management, release, revisions, name).await?;
        eventually(&format!("{name} is installed"), INSTALLED, async || {
            machine.check("crossplane")?;
            is(&management.get(packages, name).await?, "Installed")?;
            let unpacked = match release {
                Release::V1_20 => "Healthy",
                Release::V2_4 => "RevisionHealthy",
            };
            is(&revision(management, revisions, name).await?, unpacked)
        })
        .await?;
    }
    eventually("the configuration is healthy", INSTALLED, async || {
        machine.check("crossplane")?;
        is(&management.get(CONFIGURATION, "packaged").await?, "Healthy")
    })
    .await
}

/// Gives a package its certificate, as whoever runs packages in place of Crossplane has to; this lab does.
async fn certify(
    machine: &Machine,
    management: &Cluster,
    release: Release,
    revisions: Kind,
    name: &str,
) -> Result<()> {
    let identity = machine.authority().server(&[name])?;
    let secret = format!("{name}-tls-server");
    let certificate = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "namespace": SYSTEM},
        "stringData": {
            "ca.crt": machine.authority().certificate(),
            "tls.crt": identity.certificate,
            "tls.key": identity.key,
        },
    });
    management.apply(&certificate.to_string()).await?;
    if release == Release::V2_4 {
        let revision = eventually(&format!("{name} is found"), INSTALLED, async || {
            machine.check("crossplane")?;
            revision(management, revisions, name).await
        })
        .await?;
        let status = json!({ "tlsServerSecretName": secret });
        management
            .set_status(revisions, &revision.name_any(), status)
            .await?;
    }
    Ok(())
}

/// The only revision of a package.
async fn revision(management: &Cluster, revisions: Kind, package: &str) -> Result<DynamicObject> {
    let label = format!("pkg.crossplane.io/package={package}");
    let found = management.list(revisions, &label).await?;
    found
        .into_iter()
        .next()
        .with_context(|| format!("{package} has no revision"))
}

/// Fine when the four kinds are served, each composed by a function that is installed.
async fn offers(management: &Cluster, definition: Kind) -> Result<()> {
    eventually("the definitions are established", SOON, async || {
        let definitions = management.list(definition, "").await?;
        ensure!(
            definitions.len() == KINDS.len(),
            "{} definitions",
            definitions.len()
        );
        definitions
            .iter()
            .try_for_each(|definition| is(definition, "Established"))
    })
    .await?;
    for kind in KINDS {
        management.list(kind, "").await?;
    }

    let mut composed = BTreeSet::new();
    for composition in management.list(COMPOSITION, "").await? {
        let spec = &composition.data["spec"];
        let composite = spec["compositeTypeRef"]["kind"]
            .as_str()
            .context("a composition of nothing")?;
        composed.insert(composite.trim_start_matches('X').to_owned());
        for step in spec["pipeline"]
            .as_array()
            .context("a composition without a pipeline")?
        {
            let function = step["functionRef"]["name"]
                .as_str()
                .context("a step without a function")?;
            is(&management.get(FUNCTION, function).await?, "Installed")?;
        }
    }
    ensure!(
        composed == KINDS.map(|kind| kind.kind.to_owned()).into(),
        "composed are {composed:?}"
    );
    Ok(())
}

fn run(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}");
    output(command, &what)
}
