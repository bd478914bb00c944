//! The lab itself: what it starts works, and nothing of it is left.

use std::fs;
use std::panic::{self, AssertUnwindSafe};

use lab::{
    Cluster, Context, Etcd, FunctionProgram, Garden, Kind, Lab, NAMESPACED_OBJECT, OBJECT, Program,
    Release, Result, SHOOT, bail, ensure, eventually, is, kind, minutes, seconds, shoot_faults,
    throughout,
};
use serde_json::json;

use lab::scenario;
use lab::suite::{CLUSTER, LAB_1_20, LAB_2_4, NEWEST_GARDENER, SHOOTS, Scenario};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 60 s, nothing_is_left_of_a_scenario, [CLUSTER]),
    scenario!(Gate, 30 s, nothing_but_its_logs_is_left_of_a_scenario_that_fails, []),
    scenario!(Gate, 30 s, waiting_for_a_process_that_ended_stops_at_once, []),
    scenario!(Gate, 30 s, shoots_are_checked_without_a_garden, [SHOOTS]),
    scenario!(Long, 180 s, on_1_20, [LAB_1_20, NEWEST_GARDENER]),
    scenario!(Long, 180 s, on_2_4, [LAB_2_4, NEWEST_GARDENER]),
    scenario!(Long, 180 s, in_a_namespace_on_2_4, [LAB_2_4, NEWEST_GARDENER]),
];

const CONFIG_MAP: Kind = kind("v1", "ConfigMap");
const CLAIM: Kind = kind("lab.c5c3.io/v1", "Greeting");

fn on_1_20() -> Result<()> {
    lab::in_lab(Release::V1_20, Garden::Newest, verbatim(), greeting)
}

fn on_2_4() -> Result<()> {
    lab::in_lab(Release::V2_4, Garden::Newest, verbatim(), greeting)
}

fn in_a_namespace_on_2_4() -> Result<()> {
    lab::in_lab(Release::V2_4, Garden::Newest, verbatim(), async |lab| {
        lab.provider.connect("greeted", &lab.storage).await?;
        lab.management.apply(NAMESPACED_DEFINITION).await?;
        let composition = COMPOSITION
            .replace("kind: XGreeting", "kind: Greeting")
            .replace(
                "apiVersion: kubernetes.crossplane.io/v1alpha2",
                "apiVersion: kubernetes.m.crossplane.io/v1alpha1",
            )
            .replace(
                "providerConfigRef: {",
                "providerConfigRef: {kind: ClusterProviderConfig, ",
            );
        lab.management.apply(&composition).await?;
        lab.management.apply(GREETING).await?;
        eventually("the greeting is Ready", minutes(1), async || {
            is(&lab.management.get(CLAIM, "default/hello").await?, "Ready")
        })
        .await?;
        lab.management
            .get(NAMESPACED_OBJECT, "default/greeting")
            .await?;
        arrives(lab).await
    })
}

fn verbatim() -> FunctionProgram {
    FunctionProgram {
        name: "verbatim".to_owned(),
        program: env!("CARGO_BIN_EXE_verbatim").into(),
        arguments: Vec::new(),
    }
}

/// A claim becomes an object in another cluster, is protected, comes back when edited, survives its function's death,
/// and takes everything along when it goes.
async fn greeting(lab: &Lab) -> Result<()> {
    lab.provider.connect("greeted", &lab.storage).await?;
    lab.management.apply(DEFINITION).await?;
    lab.management.apply(COMPOSITION).await?;
    lab.management.apply(GREETING).await?;
    eventually("the claim is Ready", minutes(1), async || {
        is(&lab.management.get(CLAIM, "default/hello").await?, "Ready")
    })
    .await?;
    arrives(lab).await?;
    lab.control_plane
        .gone(CONFIG_MAP, "default/greeting")
        .await?;

    lab.storage
        .edit(
            CONFIG_MAP,
            "default/greeting",
            json!({"data": {"text": "defaced"}}),
        )
        .await?;
    eventually("the edit is undone", minutes(1), async || {
        greets(lab, "hello").await
    })
    .await?;

    deletion_is_refused_while_used(lab).await?;
    function_comes_back(lab).await?;
    shoots_are_what_gardener_takes(lab).await?;

    lab.management.delete(CLAIM, "default/hello").await?;
    eventually(
        "claim, Object and ConfigMap are gone",
        minutes(1),
        async || {
            lab.management.gone(CLAIM, "default/hello").await?;
            lab.management.gone(OBJECT, "greeting").await?;
            lab.storage.gone(CONFIG_MAP, "default/greeting").await
        },
    )
    .await
}

async fn deletion_is_refused_while_used(lab: &Lab) -> Result<()> {
    let usage = lab.release.usage();
    let manifest = json!({
        "apiVersion": usage.api_version,
        "kind": usage.kind,
        "metadata": {"name": "greeting-is-read"},
        "spec": {
            "of": {"apiVersion": OBJECT.api_version, "kind": OBJECT.kind, "resourceRef": {"name": "greeting"}},
            "reason": "somebody reads it",
        },
    });
    lab.management.apply(&manifest.to_string()).await?;
    eventually("the Usage is Ready", minutes(1), async || {
        is(
            &lab.management.get(usage, "greeting-is-read").await?,
            "Ready",
        )
    })
    .await?;
    let Err(refusal) = lab.management.delete(OBJECT, "greeting").await else {
        bail!("an Object that is used was deleted");
    };
    assert!(
        refusal.to_string().contains("somebody reads it"),
        "{refusal}"
    );
    assert!(refusal.to_string().contains("409"), "{refusal}");
    lab.management.delete(usage, "greeting-is-read").await?;
    eventually("the Usage is gone", minutes(1), async || {
        lab.management.gone(usage, "greeting-is-read").await
    })
    .await
}

async fn function_comes_back(lab: &Lab) -> Result<()> {
    lab.function.kill()?;
    lab.management
        .apply(&COMPOSITION.replace("text: hello", "text: welcome back"))
        .await?;
    throughout(
        "what was composed stays without its function",
        seconds(3),
        async || greets(lab, "hello").await,
    )
    .await?;
    lab.function.start().await?;
    eventually(
        "what changed meanwhile is composed",
        minutes(2),
        async || greets(lab, "welcome back").await,
    )
    .await
}

/// The stand-in function takes an Object without conditions for ready, so a Ready claim may be ahead of its provider.
async fn arrives(lab: &Lab) -> Result<()> {
    eventually("the greeting arrives", minutes(1), async || {
        greets(lab, "hello").await
    })
    .await
}

async fn greets(lab: &Lab, text: &str) -> Result<()> {
    let greeting = lab.storage.get(CONFIG_MAP, "default/greeting").await?;
    ensure!(
        greeting.data["data"] == json!({"text": text}),
        "it has {}",
        greeting.data["data"]
    );
    Ok(())
}

async fn shoots_are_what_gardener_takes(lab: &Lab) -> Result<()> {
    let shoot = lab.garden.apply(SHOOT_MANIFEST).await?;
    assert_eq!(
        shoot[0].data["spec"]["provider"]["workers"][0]["cri"]["name"], "containerd",
        "Gardener's default"
    );
    lab.garden
        .set_status(
            SHOOT,
            "garden-c5c3/hv-pool-a",
            json!({"technicalID": "shoot--c5c3--hv-pool-a"}),
        )
        .await?;
    let refusal = lab
        .garden
        .refuses(&SHOOT_MANIFEST.replace("baremetal-kvm", "laptop"))
        .await?;
    assert!(refusal.contains("laptop"), "{refusal}");
    let refusal = lab
        .garden
        .refuses(&SHOOT_MANIFEST.replace("purpose:", "purpouse:"))
        .await?;
    assert!(refusal.contains("purpouse"), "{refusal}");
    Ok(())
}

fn shoots_are_checked_without_a_garden() -> Result<()> {
    assert_eq!(shoot_faults(SHOOT_MANIFEST)?, Vec::<String>::new());
    let faulty = [
        SHOOT_MANIFEST.replace("purpose:", "purpouse:"),
        SHOOT_MANIFEST.replace("maximum: 100", "maximum: 10"),
        SHOOT_MANIFEST.to_owned(),
        SHOOT_MANIFEST
            .replace("region: eu-de-1", "region: us-east-1")
            .replace("metadata: {", "metadata: {resourceVersion: '1', "),
    ];
    let faults = shoot_faults(&faulty.join("---"))?;
    let expected = ["the oldest", "the newest"].map(|gardener| {
        [(1, "purpouse"), (2, "maximum"), (4, "spec.region")].map(|(document, problem)| {
            (
                format!("{gardener} Gardener: document {document}: "),
                problem,
            )
        })
    });
    let expected = expected.as_flattened();
    assert_eq!(faults.len(), expected.len(), "{faults:?}");
    for (fault, (document, problem)) in faults.iter().zip(expected) {
        assert!(
            fault.starts_with(document) && fault.contains(problem),
            "{fault}"
        );
    }
    Ok(())
}

fn nothing_is_left_of_a_scenario() -> Result<()> {
    let (folder, started) = lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "storage").await?;
        cluster.install_rook().await?;
        Ok((machine.folder().to_owned(), machine.running()))
    })?;
    assert_eq!(
        started.len(),
        3,
        "etcd, API server, controller manager: {started:?}"
    );
    for (name, process) in started {
        assert!(
            !fs::exists(format!("/proc/{process}"))?,
            "{name} outlives its scenario"
        );
    }
    assert!(!folder.exists(), "{} is left", folder.display());
    Ok(())
}

fn nothing_but_its_logs_is_left_of_a_scenario_that_fails() -> Result<()> {
    let run = panic::catch_unwind(AssertUnwindSafe(|| {
        lab::on_a_bare_machine(async |machine| -> Result<()> {
            machine.start("sleeper", &Program::new("sleep").arg("600"))?;
            panic::resume_unwind(Box::new(format!(
                "{} {}",
                machine.running()["sleeper"],
                machine.folder().display()
            )));
        })
    }));
    let Err(panicked) = run else {
        bail!("the panic is lost")
    };
    let message = panicked
        .downcast_ref::<String>()
        .map(String::as_str)
        .unwrap_or_default();
    let Some((process, folder)) = message.split_once(' ') else {
        bail!("another panic: {message}")
    };
    assert!(
        !fs::exists(format!("/proc/{process}"))?,
        "the sleeper outlives its scenario"
    );
    assert!(!fs::exists(folder)?, "{folder} is left");
    let results = lab::results().context("the runner gives no folder")?;
    assert!(results.join("sleeper.log").exists(), "the logs are lost");
    Ok(())
}

fn waiting_for_a_process_that_ended_stops_at_once() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        machine.start("hasty", &Program::new("ls").arg("/nowhere"))?;
        let waited: Result<()> = eventually("hasty is ready", minutes(10), async || {
            machine.check("hasty")?;
            bail!("not yet")
        })
        .await;
        let Err(error) = waited else {
            bail!("it can't be ready")
        };
        let error = format!("{error:#}");
        assert!(
            error.contains("hasty ended by itself") && error.contains("/nowhere"),
            "{error}"
        );
        Ok(())
    })
}

const DEFINITION: &str = "
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xgreetings.lab.c5c3.io}
spec:
  group: lab.c5c3.io
  names: {kind: XGreeting, plural: xgreetings}
  claimNames: {kind: Greeting, plural: greetings}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
";

const NAMESPACED_DEFINITION: &str = "
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: greetings.lab.c5c3.io}
spec:
  scope: Namespaced
  group: lab.c5c3.io
  names: {kind: Greeting, plural: greetings}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
";

const COMPOSITION: &str = "
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: greeting}
spec:
  compositeTypeRef: {apiVersion: lab.c5c3.io/v1, kind: XGreeting}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: verbatim}
    input:
      apiVersion: lab.c5c3.io/v1
      kind: Verbatim
      resources:
        greeting:
          apiVersion: kubernetes.crossplane.io/v1alpha2
          kind: Object
          metadata: {name: greeting}
          spec:
            watch: true
            providerConfigRef: {name: greeted}
            forProvider:
              manifest:
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: greeting, namespace: default}
                data: {text: hello}
";

const GREETING: &str = "{apiVersion: lab.c5c3.io/v1, kind: Greeting, metadata: {name: hello, namespace: default}, spec: {}}";

const SHOOT_MANIFEST: &str = "
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: hv-pool-a, namespace: garden-c5c3}
spec:
  cloudProfile: {kind: CloudProfile, name: ironcore}
  credentialsBindingName: ironcore-credentials
  region: eu-de-1
  purpose: production
  kubernetes: {version: '1.35'}
  networking: {type: calico, nodes: 10.181.0.0/16, pods: 100.64.0.0/12, services: 100.104.0.0/13}
  provider:
    type: ironcore-metal
    workers:
    - name: hypervisor
      machine: {type: baremetal-kvm, image: {name: gardenlinux, version: 1877.0.0}}
      minimum: 20
      maximum: 100
      zones: [eu-de-1a]
";
