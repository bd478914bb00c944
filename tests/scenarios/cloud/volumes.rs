//! Ceph beside two hypervisors: images, volumes, backups, and disks of servers.

use lab::{Ceph, Cloud, Hypervisor, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::CONTROL_PLANE;
use super::servers::{SHARE, agent, tenant};

const NOVA: Kind = kind("nova.openstack.c5c3.io/v1alpha1", "Nova");
/// What Ceph's users may do, as `functions/c5c3` composes it for a claim of the name production.
const USERS: [(&str, &str); 4] = [
    (
        "cinder",
        "profile rbd pool=production-volumes, profile rbd-read-only pool=production-images",
    ),
    ("glance", "profile rbd pool=production-images"),
    (
        "nova",
        "profile rbd pool=production-volumes, profile rbd pool=production-ephemeral, profile rbd-read-only \
         pool=production-images",
    ),
    ("backup", "profile rbd pool=production-backups"),
];
const POOLS: [&str; 4] = ["volumes", "images", "ephemeral", "backups"];

/// Starts a Ceph, and gives its users' keys to the control plane.
pub async fn ceph(cloud: &Cloud) -> Result<Ceph> {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cloud.namespace()}});
    cloud.cluster.apply(&namespace.to_string()).await?;
    let ceph = Ceph::start(cloud).await?;
    for pool in POOLS {
        ceph.make_pool(&format!("production-{pool}"))?;
    }
    for (service, capabilities) in USERS {
        let user = format!("production-{service}");
        let key = ceph.make_user(&user, [("mon", "profile rbd"), ("osd", capabilities)])?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": format!("ceph-{service}-st-pool"), "namespace": cloud.namespace()},
            "stringData": {
                "ceph.conf": format!("[global]\nmon_host = {}\n", ceph.monitors()),
                "keyring": format!("[client.{user}]\nkey = {key}\n"),
                "userID": user,
            },
        });
        cloud.cluster.apply(&secret.to_string()).await?;
    }
    Ok(ceph)
}

/// What a tenant does with volumes. Servers read on one host what was written on the other.
pub async fn work(cloud: &Cloud, ceph: &Ceph) -> Result<()> {
    let done = tenant(cloud, "volumes").await?;
    println!("volumes: {}", done.trim());
    let done: serde_json::Value = serde_json::from_str(&done)?;
    let (volume, image) = (text(&done, "cloned"), text(&done, "image"));
    let parent = ceph.parent("production-volumes", &format!("volume-{volume}"))?;
    ensure!(
        parent == format!("production-images/{image}@snap"),
        "a volume of an image is a copy: its parent is {parent:?}"
    );
    tenant(cloud, "no-volumes").await?;
    // Cinder keeps deleted volumes that have clones under other names.
    let left = ceph.images("production-volumes")?;
    ensure!(left.is_empty(), "Ceph has volumes {left:?}");
    let left = ceph.images("production-backups")?;
    ensure!(left.is_empty(), "Ceph has backups {left:?}");
    Ok(())
}

/// A server's disk is a clone of its image, once the control plane keeps disks in Ceph.
pub async fn disks(cloud: &Cloud, ceph: &Ceph, hypervisors: [&Hypervisor; 2]) -> Result<()> {
    let pools =
        json!({"spec": {"storage": {"ceph": {"pools": {"ephemeral": "production-ephemeral"}}}}});
    let (cluster, production) = (&cloud.cluster, "openstack/production");
    // No server is left, so that they may be elsewhere.
    let disks = json!({"disks": "Ceph"});
    cluster.set_status(NOVA, "openstack/nova", disks).await?;
    cluster.edit(CONTROL_PLANE, production, pools).await?;
    for hypervisor in hypervisors {
        eventually("nova-compute keeps disks in Ceph", minutes(3), async || {
            let compute = agent(cloud, hypervisor, "nova-compute").await?;
            let type_ = [
                "grep",
                "--quiet",
                "^images_type = rbd$",
                "/etc/nova/config/nova.conf",
            ];
            compute.run(&type_)?;
            compute.run(&["test", "-e", "/run/agent/started"])?;
            is(&cluster.get(SHARE, "production").await?, "Ready")
        })
        .await?;
    }
    let booted = tenant(cloud, "disk").await?;
    println!("a disk in Ceph: {}", booted.trim());
    let booted: serde_json::Value = serde_json::from_str(&booted)?;
    let (server, image) = (text(&booted, "server"), text(&booted, "image"));
    let parent = ceph.parent("production-ephemeral", &format!("{server}_disk"))?;
    ensure!(
        parent == format!("production-images/{image}@snap"),
        "a server's disk is a copy: its parent is {parent:?}"
    );
    Ok(())
}

fn text<'v>(value: &'v serde_json::Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}
