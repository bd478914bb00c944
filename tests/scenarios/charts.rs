//! The chart of all operators on a real API server.

use kube::ResourceExt;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;
use lab::{Cluster, Etcd, Kind, Result, ensure, kind, scenario};
use serde_json::json;

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
        for name in ["novas.nova.openstack.c5c3.io", "controlplanes.c5c3.io"] {
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
