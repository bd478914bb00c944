//! Users of an identity provider of others: Dex, which is real, and not in a pod.

use std::fs;

use lab::tools::Tool;
use lab::{Cloud, Kind, Machine, Program, Result, ensure, kind};
use serde_json::json;

use super::client::does;

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");

/// What Dex calls the user `1` among its own: both in one, so that it is nobody else's.
const ALICE: &str = "CgExEgVsb2NhbA";

/// Lets a Keystone know its users.
///
/// # Errors
/// One of them isn't let in, or somebody else is.
pub async fn is_trusted(machine: &Machine, cloud: &Cloud) -> Result<()> {
    let address = cloud.node.address().to_string();
    let authority = machine.authority();
    let identity = authority.server(&["people.openstack.svc"])?;
    let folder = authority.write(&identity, &machine.folder().join("people"))?;
    let config = include_str!("dex.yaml")
        .replace("ADDRESS", &address)
        .replace("FOLDER", &folder.display().to_string());
    let file = folder.join("dex.yaml");
    fs::write(&file, config)?;
    let dex = Program::new(Tool::Dex.path()?).arg("serve").arg(file);
    machine.start("dex", &dex)?;
    let people = include_str!("people.yaml")
        .replace("ADDRESS", &address)
        .replace("AUTHORITY", &json!(authority.certificate()).to_string());
    cloud.cluster.apply(&people).await?;

    let federation = json!({
        "enabled": true,
        "identityProvider": {
            "issuer": "https://people.openstack.svc:5556/dex",
            "clientID": "keystone",
            "clientSecretRef": {"name": "keystone-identity-provider"},
        },
        "trustedDashboards": ["http://dashboard.example.com/auth/websso/"],
    });
    let change = json!({"spec": {"federation": federation}});
    let change = cloud.cluster.edit(KEYSTONE, "openstack/keystone", change);
    cloud
        .rolled("Keystone trusts Dex", "keystone", change)
        .await?;
    let user = does(cloud, "federation").await?;
    ensure!(user.trim() == ALICE, "Keystone knows {user}");
    Ok(())
}
