//! What Flux does when something changes that Git doesn't, when Git has an error, and when nothing changes.

use futures::future::try_join_all;
use jiff::Timestamp;
use kube::ResourceExt;
use lab::claims::OPENSTACK;
use lab::{Kind, Result, condition, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::site::FluxSite;
use super::{CLAIM, CLAIMS, GIT, KUSTOMIZATION, RELEASE};

const ROLE: Kind = kind("rbac.authorization.k8s.io/v1", "Role");
const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");

/// What the tenant's people may do.
const RIGHTS: &str = "tenant-customer-a/tenant";

/// A release of Helm, which the Kustomization of this name applies, and the Deployment that it has.
const OPERATOR: &str = "flux-system/kubeconfig-operator";
const DEPLOYED: &str = "c5c3-system/kubeconfig-operator";

/// The tenant's source and the file of its claim.
const SOURCE: &str = "tenant-customer-a/tenant";
const FILE: &str = "tenants/customer-a/openstack-clusters/staging.yaml";

/// What someone changes in an object of a Kustomization and deletes of a release is there again.
pub async fn drift_is_reverted(site: &FluxSite<'_>) -> Result<()> {
    let management = site.management();
    let before = management.get(ROLE, RIGHTS).await?;
    management.edit(ROLE, RIGHTS, json!({"rules": []})).await?;
    site.again(KUSTOMIZATION, "flux-system/tenants").await?;
    let after = management.get(ROLE, RIGHTS).await?;
    ensure!(
        after.data["rules"] == before.data["rules"],
        "{}",
        after.data
    );

    management.delete(DEPLOYMENT, DEPLOYED).await?;
    site.again(RELEASE, OPERATOR).await?;
    eventually("the Deployment is there again", minutes(2), async || {
        management.get(DEPLOYMENT, DEPLOYED).await?;
        is(&management.get(RELEASE, OPERATOR).await?, "Ready")
    })
    .await
}

/// A release that someone deleted is installed again.
pub async fn deleted_release_comes_back(site: &FluxSite<'_>) -> Result<()> {
    let management = site.management();
    management.delete(RELEASE, OPERATOR).await?;
    eventually("the release is uninstalled", minutes(2), async || {
        management.gone(RELEASE, OPERATOR).await?;
        management.gone(DEPLOYMENT, DEPLOYED).await
    })
    .await?;
    let applied = site.again(KUSTOMIZATION, OPERATOR).await?;
    is(&applied, "Ready")?;
    is(&management.get(RELEASE, OPERATOR).await?, "Ready")?;
    management.get(DEPLOYMENT, DEPLOYED).await.map(drop)
}

/// A commit that can't be applied is told and changes nothing, and its revert is applied without any other help.
pub async fn bad_commit_is_reverted(site: &FluxSite<'_>) -> Result<()> {
    let management = site.management();
    let before = management.get(OPENSTACK, CLAIM).await?;
    site.repository
        .replace(FILE, "size: small", "size: enormous")?;
    site.repository.commit("Grow", &["."])?;
    site.again(GIT, SOURCE).await?;
    eventually("the commit is refused", minutes(1), async || {
        let claims = management.get(KUSTOMIZATION, CLAIMS).await?;
        let said = claims.data["status"]["conditions"].to_string();
        ensure!(
            condition(&claims, "Ready") == Some("False") && said.contains("enormous"),
            "{said}"
        );
        Ok(())
    })
    .await?;
    let meanwhile = management.get(OPENSTACK, CLAIM).await?;
    is(&meanwhile, "Ready")?;

    site.repository.revert()?;
    let source = site.again(GIT, SOURCE).await?;
    let revision = &source.data["status"]["artifact"]["revision"];
    eventually("the revert is applied", minutes(2), async || {
        let claims = management.get(KUSTOMIZATION, CLAIMS).await?;
        is(&claims, "Ready")?;
        let applied = &claims.data["status"]["lastAppliedRevision"];
        ensure!(applied == revision, "{applied} isn't {revision}");
        Ok(())
    })
    .await?;
    let after = management.get(OPENSTACK, CLAIM).await?;
    for claim in [meanwhile, after] {
        ensure!(
            claim.metadata.generation == before.metadata.generation,
            "{} has changed: {}",
            claim.name_any(),
            claim.data["spec"]
        );
    }
    Ok(())
}

/// Two more reconciles of all that is Ready write nothing but Flux's own objects and events.
pub async fn nothing_is_written_again(site: &FluxSite<'_>) -> Result<()> {
    let management = site.management();
    let mut all = Vec::new();
    for kind in [KUSTOMIZATION, RELEASE] {
        let mut objects = management.list(kind, "").await?;
        objects.retain(|object| is(object, "Ready").is_ok());
        all.extend(objects.into_iter().map(|object| {
            let namespace = object.namespace().unwrap_or_default();
            (kind, format!("{namespace}/{}", object.name_any()))
        }));
    }
    let begun = Timestamp::now();
    for _ in 0..2 {
        try_join_all(all.iter().map(|(kind, place)| site.again(*kind, place))).await?;
    }
    let users = ["kustomize-controller", "helm-controller"]
        .map(|name| format!("system:serviceaccount:default:{name}"));
    let mut written = management.audit()?;
    written.retain(|request| {
        users.contains(&request.user)
            && request.time >= begun
            && request.writes()
            && !request.is_dry_run
            && !request.group.ends_with("toolkit.fluxcd.io")
            && request.resource != "events"
    });
    ensure!(written.is_empty(), "{written:?}");
    Ok(())
}
