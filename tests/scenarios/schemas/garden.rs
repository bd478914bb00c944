//! Changes and wrong settings of clusters, asked of Gardener's API server, which sets defaults and knows the site's CloudProfiles.

use function_c5c3_fixtures::{Call, examples::POOLS};
use lab::{Cluster, DynamicObject, Etcd, Garden, Machine, Result, SHOOT, ensure};
use serde_json::{Value, json};

use super::changes::{CHANGES, STATES, State, gardener, image, observed, spec, version};

/// Gives each Shoot a domain.
const DEFAULT_DOMAIN: &str = "
apiVersion: v1
kind: Secret
metadata:
  name: default-domain
  namespace: garden
  labels: {gardener.cloud/role: default-domain}
  annotations: {dns.gardener.cloud/provider: dns, dns.gardener.cloud/domain: shoots.example.com}
";

/// Checks that Gardener's API server accepts every update of every pool, and that `ShootReady` names the setting to change for each one
/// that its CloudProfile doesn't offer.
pub async fn updates_are_taken_and_refusals_explained(
    machine: &Machine,
    garden: Garden,
) -> Result<()> {
    let cluster = start(machine, garden).await?;
    let mut faults = Vec::new();
    for pool in POOLS {
        for state in STATES {
            faults.extend(faults_of_updates(&cluster, pool, state).await?);
        }
        for unsupported in &UNSUPPORTED {
            faults.extend(fault_of_explanation(&cluster, pool, unsupported).await?);
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Starts a garden with a Shoot. Returns it, and the Shoot's name.
pub async fn with_a_shoot(machine: &Machine, garden: Garden) -> Result<(Cluster, String)> {
    let cluster = start(machine, garden).await?;
    let created = create(&cluster, &mut STATES[0].running(POOLS[0])).await?;
    Ok((cluster, created.metadata.name.unwrap_or_default()))
}

/// Starts a garden that takes Shoots.
async fn start(machine: &Machine, garden: Garden) -> Result<Cluster> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "garden").await?;
    garden.serve(machine, &etcd, &cluster).await?;
    cluster.apply(DEFAULT_DOMAIN).await?;
    cluster.apply(&seed(garden).to_string()).await?;
    Ok(cluster)
}

/// The Seed of the Shoots. The oldest Gardener has other fields for its DNS.
fn seed(garden: Garden) -> Value {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"});
    let dns = match garden {
        Garden::Oldest => {
            json!({"provider": {"type": "dns", "secretRef": {"name": "dns", "namespace": "garden"}}})
        }
        Garden::Newest | Garden::Unchecked => json!({
            "provider": {"type": "dns", "credentialsRef": secret},
            "internal": {"type": "dns", "domain": "internal.example.com", "credentialsRef": secret},
        }),
    };
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Seed",
        "metadata": {"name": "seed"},
        "spec": {
            "provider": {"type": "local", "region": "local", "zones": ["a", "b", "c"]},
            "ingress": {"domain": "seed.example.com", "controller": {"kind": "nginx"}},
            "dns": dns,
            "networks": {"nodes": "192.168.0.0/20", "pods": "192.168.16.0/20", "services": "192.168.32.0/20"},
        },
    })
}

/// Creates a pool's Shoot, and asks for each change of it.
async fn faults_of_updates(cluster: &Cluster, pool: &str, state: State) -> Result<Vec<String>> {
    let mut call = state.running(pool);
    let created = create(cluster, &mut call).await?;
    let mut faults = Vec::new();
    for change in CHANGES {
        let Some(composed) = change.composed(call.clone()) else {
            continue;
        };
        let fault = match cluster.would_apply(&composed).await {
            Err(fault) => format!("{fault:#}"),
            Ok(stored)
                if !change.acts && stored.metadata.generation != created.metadata.generation =>
            {
                format!(
                    "{:?} becomes {:?}",
                    created.data["spec"], stored.data["spec"]
                )
            }
            Ok(_) => continue,
        };
        faults.push(format!("{pool} {}, {}: {fault}", state.name, change.name));
    }
    Ok(faults)
}

/// Creates the Shoot of a pool, and has the pool observe it.
async fn create(cluster: &Cluster, call: &mut Call) -> Result<DynamicObject> {
    let shoot = observed(call);
    // One pool has a Shoot for each state.
    let name = format!("s{}", cluster.list(SHOOT, "").await?.len());
    shoot["metadata"]["name"] = json!(name);
    let mut status = shoot["status"].take();
    cluster.apply(&shoot.to_string()).await?;
    let place = format!("garden-c5c3/{name}");
    let created = cluster.get(SHOOT, &place).await?;
    status["observedGeneration"] = json!(created.metadata.generation);
    let created = cluster.set_status(SHOOT, &place, status).await?;
    *shoot = serde_json::to_value(&created)?;
    Ok(created)
}

/// A setting that the site's CloudProfiles don't offer, and the beginning of the advice in `ShootReady`.
struct UnsupportedSetting {
    setting: &'static str,
    advice: &'static str,
    apply: fn(&mut Call),
}

const UNSUPPORTED: [UnsupportedSetting; 7] = [
    UnsupportedSetting {
        setting: "version of Kubernetes",
        advice: "(the CloudProfile doesn't offer this version of Kubernetes: ",
        apply: |call| version(call, "1.99"),
    },
    UnsupportedSetting {
        setting: "region",
        advice: "(the CloudProfile doesn't have this region: ",
        apply: |call| {
            spec(call)["region"] = json!("mars");
            let zones = &mut gardener(call)["zones"];
            zones["mars"] = zones["eu-de-1"].clone();
        },
    },
    UnsupportedSetting {
        setting: "zone",
        advice: "(the CloudProfile doesn't have this zone: ",
        apply: |call| {
            gardener(call)["zones"]["eu-de-1"] =
                json!({"az-1": "nowhere-1", "az-2": "nowhere-2", "az-3": "nowhere-3"});
        },
    },
    UnsupportedSetting {
        setting: "machine type",
        advice: "(the CloudProfile doesn't offer this machine type: ",
        apply: |call| {
            spec(call)["machineType"] = json!("laptop");
            spec(call)["ironcore"]["machineClass"] = json!("laptop");
        },
    },
    UnsupportedSetting {
        setting: "version of an image",
        advice: "(the CloudProfile doesn't offer this image: ",
        apply: |call| image(call, "gardenlinux", "1.0.0"),
    },
    UnsupportedSetting {
        setting: "image",
        advice: "(the CloudProfile doesn't offer this image: ",
        apply: |call| image(call, "minix", "1.0.0"),
    },
    UnsupportedSetting {
        setting: "volume type",
        advice: "(the CloudProfile doesn't offer this volume type: ",
        apply: |call| gardener(call)["volume"] = json!({"type": "floppy", "size": "960Gi"}),
    },
];

/// What is wrong with how the function explains the refusal of a new pool with an unsupported setting.
async fn fault_of_explanation(
    cluster: &Cluster,
    pool: &str,
    unsupported: &UnsupportedSetting,
) -> Result<Option<String>> {
    let mut call = Call::of_pool(pool).admitted();
    (unsupported.apply)(&mut call);
    let outcome = call.run();
    let Err(refusal) = cluster.would_apply(outcome.manifest("shoot")).await else {
        return Ok(Some(format!(
            "{pool}: Gardener takes an unsupported {}",
            unsupported.setting
        )));
    };
    let refusal = format!("{refusal:#}");
    let mut call = call.applied(&outcome, |_, _| json!({}));
    let shoot = call.observed.entry("shoot".to_owned()).or_default();
    shoot["status"] = json!({"conditions": [
        {"type": "Synced", "status": "False", "reason": "ReconcileError", "message": refusal},
    ]});
    let said = call.run().conditions["ShootReady"].2.clone();
    let is_explained = said.contains(unsupported.advice) && said.contains(&refusal);
    Ok((!is_explained).then(|| format!("{pool}, unsupported {}: {said}", unsupported.setting)))
}
