//! `crossplane render` with every example, by the lines of the README, gives what the composers give.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use c5c3_api::Generation;
use function_c5c3_fixtures::{Call, Outcome, Site, composition, text, yaml};
use lab::tools::Tool;
use lab::{
    Context, DynamicObject, FunctionProgram, Machine, Program, Result, documents, ensure,
    eventually, minutes,
};
use serde_json::{Value, json};

use lab::scenario;
use lab::suite::{Need, Scenario, core};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 120 s, every_example_renders_with_2, [&[
        Need::Tool(Tool::CrossplaneCli),
        core(lab::Release::V2_4),
    ]]),
    scenario!(Long, 120 s, every_example_renders_with_1_20, [&[Need::Tool(Tool::CrankV1)]]),
];

const CLAIM: &str = "examples/claims/customer-a-prod.yaml";
const COMPOSITION: &str = "openstack-production";

fn every_example_renders_with_1_20() -> Result<()> {
    every_example_renders(Generation::V1)
}

fn every_example_renders_with_2() -> Result<()> {
    every_example_renders(Generation::V2)
}

fn every_example_renders(generation: Generation) -> Result<()> {
    let mut programs = vec![("c5c3", FunctionProgram::c5c3()?.program)];
    match generation {
        Generation::V1 => programs.push(("crossplane", Tool::CrankV1.path()?)),
        Generation::V2 => programs.extend([
            ("crossplane", Tool::CrossplaneCli.path()?),
            ("crossplane-core", Tool::CrossplaneV2.path()?),
        ]),
    }
    lab::on_a_bare_machine(async move |machine| {
        let terminal = Terminal::open(&machine, &programs)?;
        let readme = Readme::read(generation)?;
        readme.serve(&machine, &terminal).await?;

        let pools = pools_of(generation);
        let claim = yaml(CLAIM).remove(0);
        let as_written = terminal.run(&readme.render)?;
        terminal.compare(generation, &claim, &yaml(&pools), &as_written)?;

        let mut times = Vec::new();
        for (name, site) in Site::examples() {
            let ready = match name.as_str() {
                "claims" => yaml(&pools),
                _ => site.pools(generation),
            };
            for document in &site.documents {
                // Of a pool that is also required, version 2 would render the required one.
                let mut world = ready.clone();
                world.retain(|pool| pool["metadata"]["name"] != document["metadata"]["name"]);
                let script = readme
                    .render
                    .replace(
                        CLAIM,
                        &terminal.write("claim", std::slice::from_ref(document))?,
                    )
                    .replace(COMPOSITION, composition(document))
                    .replace(&pools, &terminal.write("pools", &world)?);
                let started = Instant::now();
                let rendered = terminal.run(&script)?;
                times.push(started.elapsed());
                let of = text(document, "/metadata/name");
                terminal
                    .compare(generation, document, &world, &rendered)
                    .with_context(|| format!("{of} of {name}"))?;
            }
        }
        ensure!(times.len() >= 30, "only {} examples", times.len());
        println!(
            "{} renders with {generation:?}: {} ms each, {} ms the slowest",
            times.len(),
            times.iter().sum::<Duration>().as_millis() / times.len() as u128,
            times.iter().max().map_or(0, Duration::as_millis)
        );
        Ok(())
    })
}

/// The lines of the README's section on `crossplane render`.
struct Readme {
    function: String,
    render: String,
}

impl Readme {
    fn read(generation: Generation) -> Result<Self> {
        let readme = fs::read_to_string(root().join("README.md"))?;
        let section = readme
            .split("### crossplane render\n")
            .nth(1)
            .and_then(|rest| rest.split("\n## ").next())
            .context("the README lost its section on `crossplane render`")?;
        let lines = section
            .split("```sh\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next())
            .context("the README lost its lines for `crossplane render`")?
            .replace("cargo run --release -- ", "c5c3 ")
            .replace("cargo run -- ", "c5c3 ");
        let mut parts = lines.split("# Crossplane ");
        let mut part = |begins: &str| {
            parts
                .next()
                .filter(|part| part.starts_with(begins))
                .with_context(|| format!("the README has no lines for {begins:?}"))
        };
        let function = part("c5c3 function ")?;
        let (v2, v1) = (part("2.x")?, part("1.20")?);
        let render = match generation {
            Generation::V1 => v1,
            Generation::V2 => v2,
        };
        let pools = pools_of(generation);
        ensure!(
            [CLAIM, COMPOSITION, &pools]
                .iter()
                .all(|name| render.contains(name)),
            "the README's lines name other files: {render}"
        );
        Ok(Self {
            function: function.trim().trim_end_matches('&').to_owned(),
            render: format!("# Crossplane {render}"),
        })
    }

    /// Starts the function.
    async fn serve(&self, machine: &Machine, terminal: &Terminal) -> Result<()> {
        let script = format!("exec {}", self.function);
        let program = Program::new("bash")
            .arg("-c")
            .arg(script)
            .env("PATH", &terminal.path);
        machine.start("function", &program)?;
        eventually("the function listens", minutes(1), async || {
            machine.check("function")?;
            Ok(tokio::net::TcpStream::connect("127.0.0.1:9443")
                .await
                .map(drop)?)
        })
        .await
    }
}

/// Where a reader of the README types: a checkout with the programs on the path.
struct Terminal {
    folder: PathBuf,
    path: String,
}

impl Terminal {
    fn open(machine: &Machine, programs: &[(&str, PathBuf)]) -> Result<Self> {
        let folder = machine.folder().join("checkout");
        let programs_folder = machine.folder().join("bin");
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(&programs_folder)?;
        for (name, program) in programs {
            symlink(program, programs_folder.join(name))?;
        }
        for name in ["examples", "compositions"] {
            symlink(root().join(name), folder.join(name))?;
        }
        let path = format!(
            "{}:{}",
            programs_folder.display(),
            std::env::var("PATH").context("no PATH")?
        );
        Ok(Self { folder, path })
    }

    fn run(&self, script: &str) -> Result<String> {
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("PATH", &self.path)
            .output()
            .context("cannot run bash")?;
        ensure!(
            output.status.success(),
            "{script}\nfailed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes a file of documents, and answers with its path from here.
    fn write(&self, name: &str, documents: &[Value]) -> Result<String> {
        let file = format!("{name}.yaml");
        let documents: Vec<String> = documents.iter().map(Value::to_string).collect();
        fs::write(self.folder.join(&file), documents.join("\n---\n"))?;
        Ok(file)
    }

    /// Fine when what was rendered is what the composers make of the same composite resource among the same pools.
    fn compare(
        &self,
        generation: Generation,
        document: &Value,
        world: &[Value],
        rendered: &str,
    ) -> Result<()> {
        let composite = match generation {
            Generation::V1 => {
                serde_saphyr::from_str(&fs::read_to_string(self.folder.join("xr.yaml"))?)?
            }
            Generation::V2 => document.clone(),
        };
        let input = format!("compositions/input/{}.yaml", composition(document));
        let call = Call {
            composite,
            input: Some(yaml(&input).remove(0)),
            world: world.to_vec(),
            observed: BTreeMap::new(),
        };
        let expected = call.run();
        ensure!(expected.fatal.is_none(), "{:?}", expected.fatal);
        ensure!(!expected.desired.is_empty(), "nothing is composed");
        let rendered = documents(rendered)?;
        let (composite, composed) = rendered.split_first().context("nothing is rendered")?;
        same_composed(composed, &expected)?;
        same_status(composite, &expected)
    }
}

fn same_composed(rendered: &[DynamicObject], expected: &Outcome) -> Result<()> {
    let rendered: BTreeMap<&str, Value> = rendered
        .iter()
        .filter_map(|object| {
            let annotations = object.metadata.annotations.as_ref()?;
            let name = annotations.get("crossplane.io/composition-resource-name")?;
            let types = object.types.as_ref()?;
            let seen = json!([types.api_version, types.kind, object.data["spec"]]);
            Some((name.as_str(), seen))
        })
        .collect();
    let expected: BTreeMap<&str, Value> = expected
        .desired
        .iter()
        .map(|(name, object)| {
            let wanted = json!([object["apiVersion"], object["kind"], object["spec"]]);
            (name.as_str(), wanted)
        })
        .collect();
    ensure!(
        rendered.keys().eq(expected.keys()),
        "rendered are {:?}, composed {:?}",
        rendered.keys(),
        expected.keys()
    );
    for (name, wanted) in &expected {
        ensure!(
            rendered[name] == *wanted,
            "{name} is rendered as {}\nand composed as {wanted}",
            rendered[name]
        );
    }
    Ok(())
}

fn same_status(composite: &DynamicObject, expected: &Outcome) -> Result<()> {
    let mut status = composite.data["status"].clone();
    if let Some(fields) = status.as_object_mut() {
        fields.remove("conditions");
    }
    ensure!(
        status == expected.status,
        "the status is rendered as {status}\nand composed as {}",
        expected.status
    );
    Ok(())
}

/// The pools that the README's lines give.
fn pools_of(generation: Generation) -> String {
    format!("examples/render/pools-{}.yaml", generation.version())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
