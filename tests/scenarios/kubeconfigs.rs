//! Kubeconfigs that Gardener's real API server issues for a Shoot, in the namespaces of Crossplane and Flux, as the documentation says.

use std::fs;
use std::process::Command;

use c5c3_api::custom_resource;
use c5c3_api::shoot_kubeconfig::ShootKubeconfigSpec;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use lab::suite::{CLUSTER, Need, OLDEST_GARDENER, Scenario};
use lab::tools::Tool;
use lab::{
    Cluster, Garden, Kind, Machine, Operator, Result, SHOOT, bail, ensure, eventually,
    find_condition, is, kind, minutes, output, scenario,
};
use serde_json::{Value, json};

use crate::schemas::garden;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Cloud,
    300 s,
    kubeconfigs_are_requested_of_gardener_and_renewed,
    [CLUSTER, OLDEST_GARDENER, &[Need::Tool(Tool::Helm)]]
)];

const SECRET: Kind = kind("v1", "Secret");
const EVENT: Kind = kind("events.k8s.io/v1", "Event");
const ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io/v1", "RoleBinding");
const SHOOT_KUBECONFIG: Kind = kind("gardener.c5c3.io/v1alpha1", "ShootKubeconfig");

/// The page with the manifests.
const PAGE: &str = include_str!("../../docs/operations.md");
/// The Shoot in them.
const EXAMPLE: &str = "eu-d-bxtbpg6vzicd";
/// The ShootKubeconfigs in them, and the key of each in its Secret.
const REQUESTS: [(&str, &str); 2] = [
    ("crossplane-system", "kubeconfig"),
    ("flux-system", "value"),
];

fn kubeconfigs_are_requested_of_gardener_and_renewed() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, shoot) = garden::with_a_shoot(&machine, Garden::Oldest).await?;
        be_the_shoot(&machine, &cluster, &shoot).await?;
        let blocks: Vec<String> = PAGE
            .split("```yaml\n")
            .filter_map(|block| block.split("```").next())
            .filter(|block| block.contains("kubeconfig-requester"))
            .map(|block| block.replace(EXAMPLE, &shoot))
            .collect();
        let [access, requests @ ..] = blocks.as_slice() else {
            bail!("docs/operations.md lost its manifests");
        };
        ensure!(requests.len() == REQUESTS.len(), "{requests:?}");
        cluster.apply(access).await?;
        let requester = cluster
            .acting_as("garden-c5c3/kubeconfig-requester")
            .await?;
        for (namespace, _) in REQUESTS {
            let objects = [
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
                json!({
                    "apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": "kubeconfig-requester", "namespace": namespace},
                    "data": {"kubeconfig": base64(requester.kubeconfig())},
                }),
            ];
            for object in objects {
                cluster.apply(&object.to_string()).await?;
            }
        }

        let definition = custom_resource::<ShootKubeconfigSpec>();
        cluster.apply(&definition.to_string()).await?;
        let (name, home) = ("kubeconfig-operator", "c5c3-system");
        let values = ["watchNamespaces={crossplane-system,flux-system}"];
        cluster.install_chart(name, home, &values).await?;
        let account = cluster.acting_as(&format!("{home}/{name}")).await?;
        let namespaces = REQUESTS.map(|(namespace, _)| namespace);
        let operator =
            Operator::watching(&machine, &account, name, &["kubeconfig"], &namespaces).await?;
        for request in requests {
            cluster.apply(request).await?;
        }

        let mut first = Vec::new();
        for request in REQUESTS {
            let issued = eventually("a kubeconfig is issued", minutes(1), async || {
                let place = format!("{}/eu-de-1-control-plane", request.0);
                is(&cluster.get(SHOOT_KUBECONFIG, &place).await?, "Ready")?;
                kubeconfig(&cluster, request).await
            })
            .await?;
            // The API server reads its authorities once a minute.
            eventually("it reaches the cluster", minutes(2), async || {
                reaches(&issued).await
            })
            .await?;
            first.push(issued);
        }

        let mut second = Vec::new();
        for (request, first) in REQUESTS.into_iter().zip(&first) {
            let renewed = renewed(&cluster, request, first).await?;
            reaches(&renewed).await?;
            reaches(first).await?;
            second.push(renewed);
        }

        let binding = "garden-c5c3/kubeconfig-requester";
        cluster.delete(ROLE_BINDING, binding).await?;
        eventually("the refusal is told", minutes(3), async || {
            for request in REQUESTS {
                age(&cluster, request, 13).await?;
            }
            told(&cluster, &operator).await
        })
        .await?;
        for (request, second) in REQUESTS.into_iter().zip(&second) {
            let kept = kubeconfig(&cluster, request).await?;
            ensure!(kept == *second, "the refusal replaces the kubeconfig");
            reaches(&kept).await?;
        }

        cluster.apply(access).await?;
        for (request, second) in REQUESTS.into_iter().zip(&second) {
            let third = renewed(&cluster, request, second).await?;
            reaches(&third).await?;
        }
        Ok(())
    })
}

/// Has the garden's own cluster stand for the Shoot: it is at the Shoot's address, and trusts the authority of the Shoot's clients.
async fn be_the_shoot(machine: &Machine, cluster: &Cluster, shoot: &str) -> Result<()> {
    let folder = machine.folder().join("shoot");
    fs::create_dir_all(&folder)?;
    let (key, certificate) = (folder.join("ca.key"), folder.join("ca.crt"));
    // Gardener takes RSA keys alone, in PKCS #1 (pkg/utils/encoding.go), and the lab's authority has another one.
    output(
        Command::new("openssl")
            .args(["genrsa", "-traditional", "-out"])
            .arg(&key)
            .arg("2048"),
        "openssl",
    )?;
    output(
        Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-new",
                "-days",
                "2",
                "-subj",
                "/CN=shoot",
                "-key",
            ])
            .arg(&key)
            .arg("-out")
            .arg(&certificate),
        "openssl",
    )?;
    let (key, certificate) = (fs::read_to_string(key)?, fs::read_to_string(certificate)?);
    let own = machine.authority().certificate();
    let trusted = machine.folder().join(cluster.name()).join("ca.crt");
    fs::write(trusted, format!("{own}{certificate}"))?;

    let metadata =
        |kind: &str| json!({"name": format!("{shoot}.{kind}"), "namespace": "garden-c5c3"});
    let objects = [
        json!({
            "apiVersion": SHOOT.api_version, "kind": "InternalSecret", "metadata": metadata("ca-client"), "type": "Opaque",
            "data": {"ca.crt": base64(&certificate), "ca.key": base64(&key)},
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("ca-cluster"), "data": {"ca.crt": own},
        }),
    ];
    for object in objects {
        cluster.apply(&object.to_string()).await?;
    }
    let access: Value = serde_json::from_str(cluster.kubeconfig())?;
    let url = &access["clusters"][0]["cluster"]["server"];
    let status = json!({"advertisedAddresses": [{"name": "external", "url": url}]});
    let place = format!("garden-c5c3/{shoot}");
    cluster.set_status(SHOOT, &place, status).await.map(drop)
}

fn base64(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

fn place((namespace, _): (&str, &str)) -> String {
    format!("{namespace}/eu-de-1-control-plane-kubeconfig")
}

/// The kubeconfig that a request has been answered with.
async fn kubeconfig(cluster: &Cluster, request: (&str, &str)) -> Result<String> {
    let secret = cluster.get(SECRET, &place(request)).await?;
    let value: ByteString = serde_json::from_value(secret.data["data"][request.1].clone())?;
    Ok(String::from_utf8(value.0)?)
}

/// Lets a kubeconfig grow old until there is another one. An answer of Gardener's counts for a minute, so the first attempts get the former
/// one with its times.
async fn renewed(cluster: &Cluster, request: (&str, &str), before: &str) -> Result<String> {
    eventually("another kubeconfig is issued", minutes(4), async || {
        let now = kubeconfig(cluster, request).await?;
        if now == before {
            age(cluster, request, 10).await?;
            bail!("it is the former one");
        }
        Ok(now)
    })
    .await
}

/// Lets the times of a kubeconfig of a day be those of one that is so old, in hours.
async fn age(cluster: &Cluster, request: (&str, &str), hours: i64) -> Result<()> {
    let moment = |hours: i64| (Timestamp::now() + SignedDuration::from_hours(hours)).to_string();
    let times = json!({
        "gardener.c5c3.io/issued": moment(-hours), "gardener.c5c3.io/expires": moment(24 - hours),
    });
    let change = json!({"metadata": {"annotations": times}});
    cluster
        .edit(SECRET, &place(request), change)
        .await
        .map(drop)
}

/// Whether conditions, events and metrics say that nothing is renewed.
async fn told(cluster: &Cluster, operator: &Operator) -> Result<()> {
    let overdue = "RenewalOverdue";
    let metrics = operator.metrics().await?;
    for (namespace, _) in REQUESTS {
        let place = format!("{namespace}/eu-de-1-control-plane");
        let request = cluster.get(SHOOT_KUBECONFIG, &place).await?;
        let ready = find_condition(&request, "Ready");
        let is_told = ready.is_some_and(|ready| ready["reason"] == overdue);
        ensure!(is_told, "{ready:?}");
        let metric = format!("shoot_kubeconfig_overdue{{resource=\"{place}\"}} 1\n");
        ensure!(metrics.contains(&metric), "{metrics}");
    }
    let events = cluster.list(EVENT, "").await?;
    let mut warnings = events
        .iter()
        .filter(|event| event.data["type"] == "Warning");
    let is_told = warnings.any(|event| event.data["reason"] == overdue);
    ensure!(is_told, "no event has the reason {overdue}");
    let metric = format!("operator=\"kubeconfig-operator\",reason=\"{overdue}\"");
    ensure!(metrics.contains(&metric), "{metrics}");
    Ok(())
}

/// Lists namespaces with a kubeconfig.
async fn reaches(kubeconfig: &str) -> Result<()> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let namespaces = Api::<Namespace>::all(Client::try_from(config)?);
    namespaces.list(&ListParams::default()).await?;
    Ok(())
}
