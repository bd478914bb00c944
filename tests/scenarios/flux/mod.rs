//! The repository of the examples, from nothing to a Ready claim and after it, by Flux's own controllers.

mod kept;
mod site;

use std::collections::BTreeSet;
use std::time::Instant;

use kube::ResourceExt;
use lab::claims::{CONTROL_PLANE_CLUSTER, HYPERVISORS, OPENSTACK, STORAGE, text};
use lab::suite::{FLUX, LAB_2_4, Scenario};
use lab::{
    Cluster, FunctionProgram, Garden, Kind, Lab, Release, Result, ensure, eventually, is, kind,
    minutes, scaled, scenario, throughout_until,
};

use site::FluxSite;

/// The scenario of Flux.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Cloud,
    600 s,
    repository_becomes_a_ready_claim_and_is_kept,
    [LAB_2_4, FLUX]
)];

const KUSTOMIZATION: Kind = kind("kustomize.toolkit.fluxcd.io/v1", "Kustomization");
const RELEASE: Kind = kind("helm.toolkit.fluxcd.io/v2", "HelmRelease");
const GIT: Kind = kind("source.toolkit.fluxcd.io/v1", "GitRepository");
const FUNCTION: Kind = kind("pkg.crossplane.io/v1", "Function");
const PROVIDER: Kind = kind("pkg.crossplane.io/v1", "Provider");
const REVISION: Kind = kind("apiextensions.crossplane.io/v1", "CompositionRevision");

/// The tenant's claim, and the Kustomization that applies it.
const CLAIM: &str = "tenant-customer-a/customer-a-staging";
const CLAIMS: &str = "tenant-customer-a/openstack-clusters";

/// The platform team's claim.
const CANARY: &str = "tenant-internal/canary";

/// What is Ready before there are claims: the end of each chain in the management cluster, and definitions in the others.
const BEFORE_CLAIMS: [&str; 7] = [
    "flux-policies",
    "claim-policies",
    "compositions",
    "compositions-preview",
    "kubeconfig-operator",
    "eu-de-1-control-plane-c5c3-crds",
    "hv-pool-a-c5c3-crds",
];

/// What waits for claims.
const OF_CLAIMS: [&str; 3] = [
    "flux-system/infrastructure-eu-de-1",
    "flux-system/internal",
    CLAIMS,
];

fn repository_becomes_a_ready_claim_and_is_kept() -> Result<()> {
    lab::in_lab(
        Release::V2_4,
        Garden::Unchecked,
        FunctionProgram::c5c3()?,
        async |lab: &Lab| {
            let site = FluxSite::open(lab).await?;
            let started = Instant::now();
            site.sync().await?;
            comes_up(&site).await?;
            let took = started.elapsed();
            ensure!(took < scaled(minutes(5)), "it took {} s", took.as_secs());

            are_ready(&site).await?;
            channels_differ(&site).await?;
            kept::nothing_is_written_again(&site).await?;
            kept::drift_is_reverted(&site).await?;
            kept::deleted_release_comes_back(&site).await?;
            kept::bad_commit_is_reverted(&site).await
        },
    )
}

/// Waits until the tenant's claim is Ready. Meanwhile, nothing is applied before what it depends on is Ready, and the Kustomization of the
/// claim isn't Ready before the claim is.
async fn comes_up(site: &FluxSite<'_>) -> Result<()> {
    let management = site.management();
    // An attempt mustn't wait for a kind that the other future finds out about.
    for kind in [KUSTOMIZATION, FUNCTION, PROVIDER] {
        management.list(kind, "").await?;
    }
    let mut ready = BTreeSet::new();
    let applied = eventually("all but claims is Ready", minutes(4), async || {
        site.packages_are_healthy().await?;
        for name in BEFORE_CLAIMS {
            let place = format!("flux-system/{name}");
            is(&management.get(KUSTOMIZATION, &place).await?, "Ready")?;
        }
        Ok(())
    });
    throughout_until("the order is kept", applied, async || {
        in_order(management, &mut ready).await
    })
    .await?;
    management.list(OPENSTACK, "").await?;

    let comes = async {
        // The simulated operators work meanwhile, and the pools become Ready.
        let operators = &site.site;
        let applied = operators.until("the tenant's claim is applied", async || {
            if management.find(OPENSTACK, CLAIM).await?.is_none() {
                // Kubernetes refuses what has a quota until it knows the kind.
                site.request(KUSTOMIZATION, CLAIMS).await?;
            }
            management.get(OPENSTACK, CLAIM).await
        });
        applied.await?;
        site.site.phase(OPENSTACK, CLAIM, "Ready").await
    };
    throughout_until("the order is kept", comes, async || {
        in_order(management, &mut ready).await?;
        is_honest(management).await
    })
    .await?;
    Ok(())
}

/// Fails if something was applied before what it depends on was Ready.
async fn in_order(cluster: &Cluster, ready: &mut BTreeSet<String>) -> Result<()> {
    let all = cluster.list(KUSTOMIZATION, "").await?;
    let is_ready = all.iter().filter(|one| is(one, "Ready").is_ok());
    ready.extend(is_ready.map(ResourceExt::name_any));
    for one in &all {
        if one.data["status"]["lastAttemptedRevision"].is_null() {
            continue;
        }
        let others = one.data["spec"]["dependsOn"].as_array();
        for other in others.into_iter().flatten() {
            let other = text(other, "/name");
            let name = one.name_any();
            ensure!(ready.contains(&other), "{name} is applied before {other}");
        }
    }
    Ok(())
}

/// Fails if the Kustomization of the tenant's claim is Ready, and the claim isn't.
async fn is_honest(cluster: &Cluster) -> Result<()> {
    let Some(claims) = cluster.find(KUSTOMIZATION, CLAIMS).await? else {
        return Ok(());
    };
    if is(&claims, "Ready").is_ok() {
        is(&cluster.get(OPENSTACK, CLAIM).await?, "Ready")?;
    }
    Ok(())
}

/// Waits until the site's other claims are Ready, and then until Flux says so.
async fn are_ready(site: &FluxSite<'_>) -> Result<()> {
    for (kind, name) in [
        (
            CONTROL_PLANE_CLUSTER,
            "infrastructure/eu-de-1-control-plane",
        ),
        (HYPERVISORS, "infrastructure/hv-pool-a"),
        (STORAGE, "infrastructure/st-pool-a"),
        (OPENSTACK, CANARY),
    ] {
        site.site.phase(kind, name, "Ready").await?;
    }
    for place in OF_CLAIMS {
        eventually(&format!("{place} is Ready"), minutes(3), async || {
            is(&site.again(KUSTOMIZATION, place).await?, "Ready")
        })
        .await?;
    }
    Ok(())
}

/// The tenant's claim has a revision of the channel `stable`, and that of the platform team one of `preview`.
async fn channels_differ(site: &FluxSite<'_>) -> Result<()> {
    for (claim, channel) in [(CLAIM, "stable"), (CANARY, "preview")] {
        let claim = site.management().get(OPENSTACK, claim).await?;
        let revision = text(&claim.data, "/spec/crossplane/compositionRevisionRef/name");
        let revision = site.management().get(REVISION, &revision).await?;
        let labels = revision.labels();
        let found = labels.get("channel").map(String::as_str);
        ensure!(found == Some(channel), "{labels:?}");
    }
    Ok(())
}
