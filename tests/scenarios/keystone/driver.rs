//! The driver of Keystone with a real one: what it says when something is wrong, and that what it changes is so.

use std::collections::{BTreeMap, BTreeSet};

use lab::{Keystone, Result, bail, ensure};
use provider_control_plane::credentials::keystone::{Access, Answer, Call, Change, Query, Scope};
use provider_openstack_driver::Keystone as KeystoneDriver;
use provider_runtime::{Driver, DriverError};
use serde_json::json;

use super::PASSWORD;
use super::identity::Identity;

pub fn the_driver_says_what_is_wrong_and_grants_what_is_asked() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let keystone = Keystone::start(&machine, PASSWORD).await?;
        let identity = Identity::new(&keystone.url(), PASSWORD);
        let driver = KeystoneDriver::default();
        let access = |clouds: String| Access {
            clouds,
            cloud: "admin".to_owned(),
            ca: None,
        };
        let good = access(keystone.clouds());

        let refusal = observe_in(named("nowhere"), &driver, &good).await;
        let Err(DriverError::Unavailable(message)) = refusal else {
            bail!("there is no project nowhere, and it says {refusal:?}")
        };
        ensure!(message.contains("project nowhere"), "{message}");

        let before = observe(&driver, &good).await?;
        ensure!(before.roles.is_empty(), "{before:?}");
        let admin = identity.user("admin").await?;
        for _ in 0..2 {
            change(&driver, &good, grant(&admin, "service")).await?;
        }
        let after = observe(&driver, &good).await?;
        ensure!(
            after.roles[&admin].iter().eq(["service"]),
            "{:?}",
            after.roles
        );
        let endpoint = after.regions.keys().next().cloned().unwrap_or_default();
        let region = Keystone::REGION.to_owned();
        change(&driver, &good, Change::Place { endpoint, region }).await?;

        let domain = Scope::Domain("default".to_owned());
        let (user, role) = (admin.clone(), "manager".to_owned());
        let scope = domain.clone();
        change(&driver, &good, Change::Grant { user, role, scope }).await?;
        let granted = observe_in(domain.clone(), &driver, &good).await?.roles;
        ensure!(granted[&admin].iter().eq(["manager"]), "{granted:?}");
        let own = ask(domain.clone(), Some(&admin), &driver, &good).await?;
        ensure!(own.roles == granted, "{own:?}");
        let (user, role) = (admin.clone(), "manager".to_owned());
        let scope = domain.clone();
        change(&driver, &good, Change::Revoke { user, role, scope }).await?;
        let revoked = observe_in(domain, &driver, &good).await?.roles;
        ensure!(revoked.is_empty(), "{revoked:?}");

        let missing = change(&driver, &good, grant(&admin, "nobody")).await;
        ensure!(
            missing
                .as_ref()
                .is_err_and(|error| error.to_string().contains("role nobody")),
            "{missing:?}"
        );
        let wrong = access(keystone.clouds().replace("chosen", "guessed"));
        let refusal = observe(&driver, &wrong).await;
        let Err(DriverError::Refused(message)) = refusal else {
            bail!("the password is wrong, and it says {refusal:?}")
        };
        ensure!(!message.contains("guessed"), "{message}");

        keystone.kill()?;
        let refusal = observe(&driver, &good).await;
        ensure!(
            matches!(&refusal, Err(DriverError::Unavailable(message)) if message.contains("127.0.0.1")),
            "{refusal:?}"
        );
        keystone.configure(RULES)?;
        keystone.serve().await?;
        ensure!(
            observe(&driver, &good).await? == after,
            "it answers otherwise"
        );
        service_is_exempt_from_rules(&identity, &driver, &good).await
    })
}

/// What a site demands of people's passwords and logins.
const RULES: &str = "\
[security_compliance]
change_password_upon_first_use = true
password_expires_days = 90
lockout_failure_attempts = 2
lockout_duration = 1800
disable_user_account_days_inactive = 90
";

/// A user that can't log in, as the rules want it, can once it is exempt, whatever others try in its name.
async fn service_is_exempt_from_rules(
    identity: &Identity,
    driver: &KeystoneDriver,
    access: &Access,
) -> Result<()> {
    let user = json!({ "name": "glance", "password": PASSWORD, "domain_id": "default" });
    let user = identity.create("users", json!({ "user": user })).await?;
    let question = Query {
        access: access.clone(),
        scope: named("service"),
        user: None,
        credentials: BTreeMap::new(),
        exempt: BTreeSet::from([user.clone()]),
    };
    let found = asked(driver, &question).await?.restricted;
    ensure!(found.iter().eq([&user]), "{found:?}");
    let Err(refusal) = identity.log_in(&user, PASSWORD).await else {
        bail!("it can log in without another password")
    };
    ensure!(refusal.to_string().contains("expired"), "{refusal}");

    let exempt = Change::Exempt { user: user.clone() };
    change(driver, access, exempt).await?;
    for _ in 0..3 {
        let Err(refusal) = identity.log_in(&user, "guessed").await else {
            bail!("any password is good")
        };
        ensure!(refusal.to_string().contains("401"), "{refusal}");
    }
    identity.log_in(&user, PASSWORD).await?;
    let found = asked(driver, &question).await?.restricted;
    ensure!(found.is_empty(), "{found:?}");
    Ok(())
}

async fn observe(driver: &KeystoneDriver, access: &Access) -> Result<Answer, DriverError> {
    observe_in(named("service"), driver, access).await
}

/// A project of the domain Default.
fn named(project: &str) -> Scope {
    Scope::Named(project.to_owned())
}

async fn observe_in(
    scope: Scope,
    driver: &KeystoneDriver,
    access: &Access,
) -> Result<Answer, DriverError> {
    ask(scope, None, driver, access).await
}

/// What Keystone says of the roles of a user, or of all users.
async fn ask(
    scope: Scope,
    user: Option<&str>,
    driver: &KeystoneDriver,
    access: &Access,
) -> Result<Answer, DriverError> {
    let question = Query {
        access: access.clone(),
        scope,
        user: user.map(str::to_owned),
        credentials: BTreeMap::new(),
        exempt: BTreeSet::new(),
    };
    asked(driver, &question).await
}

async fn asked(driver: &KeystoneDriver, question: &Query) -> Result<Answer, DriverError> {
    let strange = |error: serde_json::Error| DriverError::Refused(error.to_string());
    let question = serde_json::to_string(question).map_err(strange)?;
    let answer = driver.observe(&question).await?;
    serde_json::from_value(answer).map_err(strange)
}

async fn change(
    driver: &KeystoneDriver,
    access: &Access,
    change: Change,
) -> Result<(), DriverError> {
    let call = Call {
        access: access.clone(),
        change,
    };
    let strange = |error: serde_json::Error| DriverError::Refused(error.to_string());
    driver
        .call(&serde_json::to_string(&call).map_err(strange)?)
        .await
}

fn grant(user: &str, role: &str) -> Change {
    Change::Grant {
        user: user.to_owned(),
        role: role.to_owned(),
        scope: named("service"),
    }
}
