//! Keystone's life in pods: under a steady load nothing that is done to it refuses a request, and after faults it comes back
//! by itself.

mod events;
mod faults;
mod identity;
mod jobs;
mod keys;
mod load;
mod upgrade;

use lab::{Cloud, Image, Kind, Result, kind};

use identity::Identity;
use load::Load;

use lab::scenario;
use lab::suite::{NODE, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[scenario!(Long alone, 900 s, keystone_lives, [NODE, &[
    Need::Tool(Tool::Helm),
    Need::MariaDb,
    Need::Memcached,
    Need::Service("keystone", "2025.2"),
    Need::Service("keystone", "2026.1"),
]])];

const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");

fn keystone_lives() -> Result<()> {
    // Built before anything waits for them.
    let images = [
        Image::mariadb()?,
        Image::memcached()?,
        Image::of_service("keystone", "2025.2")?,
        Image::of_service("keystone", "2026.1")?,
    ];
    lab::on_a_bare_machine(async move |machine| {
        let cloud = Cloud::start(&machine, &images, &["keystone"]).await?;
        let keystone = Identity::of(&cloud);
        cloud
            .give("load", "load.py", include_str!("load.py"))
            .await?;
        cloud.cluster.apply(include_str!("keystone.yaml")).await?;
        let sync = jobs::loses_its_operator_during(&keystone, "db-sync").await?;
        cloud.comes_up(identity::KEYSTONE, "keystone").await?;
        sync.was_done_once().await?;

        let load = Load::start(&cloud).await?;
        keystone.stand(2).await?;
        events::all(&keystone, &load).await?;
        load.stop().await?;
        faults::all(&keystone).await?;
        cloud.roles_suffice()
    })
}
