//! Deletion: in order, nothing orphaned, and never of what is in use.

use lab::{DynamicObject, Kind, Result, SHOOT, ensure, kind, never, never_until, seconds};
use serde_json::json;

use super::tenants::{CUSTOMER_A, CUSTOMER_B};
use lab::claims::{
    BLOCK_POOL, CEPH, CONTROL_PLANE, EXTERNAL_SECRET, Generation, HYPERVISORS, NAMESPACE,
    OPENSTACK, SHARE, STORAGE, Site,
};

const HOLD: &str = "lab.c5c3.io/hold";
const PLACE: &str = "openstack-customer-a-prod/customer-a-prod";
const KEY: &str = "openstack-customer-a-prod/ceph-cinder-st-pool-a";
pub const VOLUMES: &str = "rook-ceph/customer-a-prod-volumes";

/// Shares and Ceph's pools first, then the ControlPlane, then its keys, then the namespace; the other tenant and the pools don't
/// notice.
pub async fn in_order(site: &Site<'_>) -> Result<()> {
    let composite = site
        .composite(OPENSTACK, CUSTOMER_A)
        .await?
        .metadata
        .name
        .unwrap_or_default();
    let lab = site.lab;
    hold(&lab.hypervisor, SHARE, "customer-a-prod", true).await?;
    hold_volumes(site, true).await?;
    hold(&lab.control_plane, CONTROL_PLANE, PLACE, true).await?;
    lab.management.delete(OPENSTACK, CUSTOMER_A).await?;
    site.until("the shares and the pools in Ceph go first", async || {
        goes(lab.hypervisor.get(SHARE, "customer-a-prod").await?)?;
        goes(lab.storage.get(BLOCK_POOL, VOLUMES).await?)
    })
    .await?;
    the_control_plane_stays(site, "the ControlPlane waits for both").await?;

    hold(&lab.hypervisor, SHARE, "customer-a-prod", false).await?;
    site.until("the shares are gone", async || {
        lab.hypervisor.gone(SHARE, "customer-a-prod").await
    })
    .await?;
    the_control_plane_stays(site, "the ControlPlane waits for the volumes").await?;

    hold_volumes(site, false).await?;
    site.until("the ControlPlane goes next", async || {
        lab.storage.gone(BLOCK_POOL, VOLUMES).await?;
        goes(lab.control_plane.get(CONTROL_PLANE, PLACE).await?)
    })
    .await?;
    never(
        "its keys and its namespace wait for it",
        seconds(10),
        async || what_it_needs_stays(site).await,
    )
    .await?;

    hold(&lab.control_plane, CONTROL_PLANE, PLACE, false).await?;
    site.until("everything of the claim is gone", async || {
        site.lab.management.gone(OPENSTACK, CUSTOMER_A).await?;
        site.lab
            .control_plane
            .gone(NAMESPACE, "openstack-customer-a-prod")
            .await?;
        site.lab.storage.gone(BLOCK_POOL, VOLUMES).await?;
        site.lab.hypervisor.gone(SHARE, "customer-a-prod").await?;
        let left = site.composed(&composite).await?;
        ensure!(
            left.is_empty(),
            "{} composed resources are left",
            left.len()
        );
        Ok(())
    })
    .await?;
    nothing_is_orphaned(site, "customer-a-prod").await?;
    let other = site.get(OPENSTACK, CUSTOMER_B).await?;
    assert_eq!(
        other.data["status"]["phase"], "Ready",
        "the other tenant noticed"
    );
    stays(site.lab.storage.get(CEPH, "rook-ceph/rook-ceph").await?)
}

async fn the_control_plane_stays(site: &Site<'_>, what: &str) -> Result<()> {
    never(what, seconds(10), async || {
        stays(site.lab.control_plane.get(CONTROL_PLANE, PLACE).await?)?;
        what_it_needs_stays(site).await
    })
    .await
}

async fn what_it_needs_stays(site: &Site<'_>) -> Result<()> {
    let cluster = &site.lab.control_plane;
    stays(cluster.get(EXTERNAL_SECRET, KEY).await?)?;
    stays(cluster.get(NAMESPACE, "openstack-customer-a-prod").await?)
}

/// A pool that is consumed outlives its own deletion until its consumers are gone.
pub async fn of_a_pool_in_use(site: &Site<'_>) -> Result<()> {
    let pool = "infrastructure/st-pool-a";
    let refused = site.lab.management.delete(STORAGE, pool).await;
    let what = "the pool in use stays";
    let what_is_behind_it_stays = async || {
        stays(site.lab.garden.get(SHOOT, "garden-c5c3/st-pool-a").await?)?;
        stays(site.lab.storage.get(CEPH, "rook-ceph/rook-ceph").await?)
    };
    match site.generation {
        // The claim may go; what is behind it is held.
        Generation::Claims => {
            refused?;
            never(what, seconds(10), what_is_behind_it_stays).await?;
        }
        Generation::Namespaced => {
            let message = refused
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            ensure!(message.contains("in-use by"), "not refused: {message:?}");
            let composed = site.composed_again(STORAGE, pool);
            never_until(what, composed, what_is_behind_it_stays).await?;
        }
    }
    site.lab.management.delete(OPENSTACK, CUSTOMER_B).await?;
    site.until("the last consumer is gone", async || {
        site.lab.management.gone(OPENSTACK, CUSTOMER_B).await
    })
    .await?;
    nothing_is_orphaned(site, "customer-b-staging").await?;
    // What was refused happens now: the core asks for it again when the last Usage is gone.
    site.until("then the pool goes, Ceph before the Shoot", async || {
        site.lab.management.gone(STORAGE, pool).await?;
        site.lab.storage.gone(CEPH, "rook-ceph/rook-ceph").await?;
        site.lab.garden.gone(SHOOT, "garden-c5c3/st-pool-a").await
    })
    .await?;
    stays(site.get(HYPERVISORS, "infrastructure/hv-pool-a").await?)
}

/// A namespaced composite is gone before what it composed is: nothing of it may be left in the end.
pub async fn nothing_is_orphaned(site: &Site<'_>, claim: &str) -> Result<()> {
    let lab = site.lab;
    let places: [(&lab::Cluster, Kind); 11] = [
        (&lab.control_plane, CONTROL_PLANE),
        (&lab.storage, BLOCK_POOL),
        (&lab.storage, kind("ceph.rook.io/v1", "CephClient")),
        (
            &lab.storage,
            kind("external-secrets.io/v1alpha1", "PushSecret"),
        ),
        (&lab.control_plane, EXTERNAL_SECRET),
        (
            &lab.control_plane,
            kind("external-secrets.io/v1alpha1", "PushSecret"),
        ),
        (&lab.hypervisor, EXTERNAL_SECRET),
        (&lab.storage, SHARE),
        (&lab.hypervisor, SHARE),
        (&lab.hypervisor, NAMESPACE),
        (&lab.storage, NAMESPACE),
    ];
    site.until(&format!("nothing of {claim} is left"), async || {
        for (cluster, kind) in places {
            for object in cluster.list(kind, "").await? {
                let name = object.metadata.name.unwrap_or_default();
                let place = format!("{}/{name}", object.metadata.namespace.unwrap_or_default());
                ensure!(!place.contains(claim), "{} {place} is left", kind.kind);
            }
        }
        Ok(())
    })
    .await
}

fn stays(object: DynamicObject) -> Result<()> {
    let name = object.metadata.name.unwrap_or_default();
    ensure!(
        object.metadata.deletion_timestamp.is_none(),
        "{name} is being deleted"
    );
    Ok(())
}

/// Fine once an object's deletion has begun.
fn goes(object: DynamicObject) -> Result<()> {
    let name = object.metadata.name.unwrap_or_default();
    ensure!(
        object.metadata.deletion_timestamp.is_some(),
        "the deletion of {name} hasn't begun"
    );
    Ok(())
}

async fn hold(cluster: &lab::Cluster, kind: Kind, place: &str, held: bool) -> Result<()> {
    let finalizers = if held { json!([HOLD]) } else { json!(null) };
    let change = json!({"metadata": {"finalizers": finalizers}});
    cluster.edit(kind, place, change).await.map(drop)
}

pub async fn hold_volumes(site: &Site<'_>, held: bool) -> Result<()> {
    hold(&site.lab.storage, BLOCK_POOL, VOLUMES, held).await
}
