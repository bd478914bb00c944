//! The chart of all operators on a real API server, at first with a definition of another project.

use std::fs;

use kube::ResourceExt;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;
use lab::{
    Build, Cluster, Context, Etcd, Kind, Machine, Program, Result, bail, ensure, kind, minutes,
    our_program, scaled, scenario,
};
use serde_json::json;
use tokio::time::timeout;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Gate,
    120 s,
    operators_install_by_one_chart_and_definitions_stay,
    [CLUSTER, &[Need::Tool(Tool::Helm)]]
)];

const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const POLICY: Kind = kind("networking.k8s.io/v1", "NetworkPolicy");
const DEFINITION: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// The name of a definition that cobaltcore has, too.
const NOVAS: &str = "novas.nova.openstack.c5c3.io";

/// A definition of that name with the fields of another project.
const FOREIGN: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: novas.nova.openstack.c5c3.io}
spec:
  group: nova.openstack.c5c3.io
  scope: Namespaced
  names: {kind: Nova, plural: novas, singular: nova}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {cellName: {type: string}}}
            status:
              type: object
              properties:
                observedGeneration: {type: integer, format: int64, description: The generation that was last reconciled.}
";

/// Values of one operator, which those of the others don't follow.
const VALUES: &[&str] = &[
    "keystone-operator.fullnameOverride=identity",
    "keystone-operator.extraEnv[0].name=HTTPS_PROXY",
    "keystone-operator.extraEnv[0].value=http://proxy.example.com",
    "keystone-operator.podAnnotations.note=text",
    "keystone-operator.nodeSelector.pool=control",
    "keystone-operator.tolerations[0].key=dedicated",
    "keystone-operator.tolerations[0].operator=Exists",
    "keystone-operator.priorityClassName=high",
    "keystone-operator.networkPolicy.apiServerPorts={7443}",
];

fn operators_install_by_one_chart_and_definitions_stay() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let (chart, namespace) = ("c5c3-operators", "operators");
        foreign_definition_is_refused(&machine, &cluster, namespace).await?;
        cluster.install_chart(chart, namespace, VALUES).await?;
        let nova = "operators/c5c3-operators-nova-operator";
        cluster.get(DEPLOYMENT, nova).await?;
        has_its_values(&cluster).await?;

        let less = ["crds=false", "operators.nova=false"];
        cluster.install_chart(chart, namespace, &less).await?;
        ensure!(
            cluster.find(DEPLOYMENT, nova).await?.is_none(),
            "the operator stays"
        );
        let definitions = cluster.list(DEFINITION, "").await?;
        let names: Vec<String> = definitions.iter().map(ResourceExt::name_any).collect();
        for name in [NOVAS, "controlplanes.c5c3.io"] {
            ensure!(
                names.iter().any(|other| other == name),
                "{name} is not in {names:?}"
            );
        }
        let misspelled = ["keystone-operator.replcas=3"];
        let refused = cluster.install_chart(chart, namespace, &misspelled).await;
        ensure!(refused.is_err(), "an unknown value is taken");
        Ok(())
    })
}

/// Charts and the operator refuse to run beside the definition of another project, and say what to do. The definition is deleted then.
async fn foreign_definition_is_refused(
    machine: &Machine,
    cluster: &Cluster,
    namespace: &str,
) -> Result<()> {
    let foreign = cluster.apply(FOREIGN).await?;
    for chart in ["c5c3-operators", "c5c3-crds", "nova-operator"] {
        let Err(refusal) = cluster.install_chart(chart, namespace, &[]).await else {
            bail!("{chart} is installed")
        };
        says_what_to_do(
            &format!("{refusal:#}"),
            "install this chart in another cluster",
        )?;
    }
    let operator = Program::new(our_program(Build::Debug)?)
        .args(["operator", "nova", "--alone", "--address=none"])
        .flag("kubeconfig", cluster.kubeconfig_file());
    let ended = timeout(scaled(minutes(1)), machine.run("refused", &operator)).await;
    let ended = ended.context("the operator goes on")?;
    ensure!(ended.is_err(), "the operator exits with success");
    let log = fs::read_to_string(machine.log("refused"))?;
    says_what_to_do(&log, "run these operators in another cluster")?;
    for definition in &foreign {
        cluster.remove(definition).await?;
    }
    Ok(())
}

/// Fine when a message names the definition, and what a person can do.
fn says_what_to_do(message: &str, elsewhere: &str) -> Result<()> {
    let found = format!("{NOVAS} in this cluster isn't this project's");
    for part in [
        found.as_str(),
        "apply package/charts/c5c3-crds/definitions",
        elsewhere,
        "if no operator uses that definition any more and no resource of it is left, delete it",
    ] {
        ensure!(message.contains(part), "{part:?} isn't in: {message}");
    }
    Ok(())
}

async fn has_its_values(cluster: &Cluster) -> Result<()> {
    let keystone = cluster.get(DEPLOYMENT, "operators/identity").await?;
    let pod = &keystone.data["spec"]["template"];
    let annotations = &pod["metadata"]["annotations"];
    ensure!(*annotations == json!({"note": "text"}), "{annotations}");
    let spec = &pod["spec"];
    let proxy = json!({"name": "HTTPS_PROXY", "value": "http://proxy.example.com"});
    ensure!(spec["containers"][0]["env"][1] == proxy, "{spec}");
    ensure!(spec["nodeSelector"] == json!({"pool": "control"}), "{spec}");
    let tolerations = json!([{"key": "dedicated", "operator": "Exists"}]);
    ensure!(spec["tolerations"] == tolerations, "{spec}");
    ensure!(spec["priorityClassName"] == "high", "{spec}");

    let policy = cluster.get(POLICY, "operators/identity").await?;
    let ports = &policy.data["spec"]["egress"][0]["ports"];
    let api_server = json!({"port": 7443, "protocol": "TCP"});
    ensure!(
        ports
            .as_array()
            .is_some_and(|ports| ports.contains(&api_server)),
        "{ports}"
    );
    Ok(())
}
