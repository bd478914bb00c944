//! The driver of Keystone.

use std::error::Error;

use provider_control_plane::credentials::keystone::{
    Access, Call, Change, HandedOut, Query, Scope,
};
use provider_openstack_driver::Keystone;
use provider_runtime::{Driver, DriverError};
use serde_json::{Map, Value, json};

use crate::server::{LAST, UNHEARD, WRONG, all, listen, ok};
use crate::{Test, keystone_at};

/// More bytes than an answer may have.
const TOO_MANY: usize = 2 << 20;

/// The answer that a user is a member of a project.
fn member(user: &str) -> Value {
    json!({ "role_assignments": [{
        "role": { "id": "r1", "name": "member" }, "user": { "id": user, "name": user },
    }] })
}

/// The options of a user that is exempt from all rules.
const EXEMPTIONS: [&str; 4] = [
    "ignore_change_password_upon_first_use",
    "ignore_lockout_failure_attempts",
    "ignore_password_expiry",
    "ignore_user_inactivity",
];

/// A user that lacks some of them.
fn user(lacking: &[&str]) -> Value {
    let options = EXEMPTIONS.iter().filter(|option| !lacking.contains(option));
    let options: Map<String, Value> = options
        .map(|option| ((*option).to_owned(), true.into()))
        .collect();
    json!({ "user": { "options": options } })
}

fn answer(request: &str) -> (u16, Value) {
    match request {
        "GET /v3/role_assignments?scope.project.id=p1&user.id=u1&include_names=true" => {
            ok(member("u1"))
        }
        "GET /v3/role_assignments?scope.project.id=p1&include_names=true" => {
            ok(member(&"u".repeat(TOO_MANY)))
        }
        "GET /v3/endpoints" => {
            ok(json!({ "endpoints": [{ "id": "e1", "region_id": "RegionOne" }] }))
        }
        "GET /v3/users/u1/application_credentials/c1" => {
            ok(json!({ "application_credential": { "id": "c1" } }))
        }
        "GET /v3/users/u1" => ok(user(&[])),
        "GET /v3/users/u2" => ok(user(&["ignore_lockout_failure_attempts"])),
        "PATCH /v3/users/u2" => ok(json!({})),
        "GET /v3/users/u3" | "GET /v3/users/u3/application_credentials/c3" => (503, json!({})),
        "GET /v3/users/u4" => ok(user(&EXEMPTIONS)),
        "GET /v3/users/u5" => ok(json!([])),
        _ => (404, json!({})),
    }
}

/// A server, and how it is reached.
async fn server() -> Result<Access, Box<dyn Error>> {
    let (port, _) = listen(answer, all).await?;
    Ok(keystone_at(&format!("http://127.0.0.1:{port}")))
}

async fn observe(
    access: Access,
    user: Option<&str>,
    credentials: &[(&str, &str, &str)],
) -> Result<Value, DriverError> {
    ask(access, user, credentials, &[]).await
}

async fn ask(
    access: Access,
    user: Option<&str>,
    credentials: &[(&str, &str, &str)],
    exempt: &[&str],
) -> Result<Value, DriverError> {
    let credentials = credentials.iter();
    let handed_out = |id: &str, secret: &str| HandedOut {
        id: id.to_owned(),
        secret: secret.to_owned(),
    };
    let query = Query {
        access,
        scope: Scope::Project("p1".to_owned()),
        user: user.map(str::to_owned),
        credentials: credentials
            .map(|&(user, id, secret)| (user.to_owned(), handed_out(id, secret)))
            .collect(),
        exempt: exempt.iter().map(|user| (*user).to_owned()).collect(),
    };
    let query = json!(query).to_string();
    Keystone::default().observe(&query).await
}

#[tokio::test]
async fn roles_of_one_user_are_read_without_those_of_others() -> Test {
    assert_eq!(
        observe(server().await?, Some("u1"), &[]).await?,
        json!({ "roles": { "u1": ["member"] }, "regions": { "e1": "RegionOne" } })
    );
    Ok(())
}

#[tokio::test]
async fn application_credential_that_keystone_does_not_have_is_lost() -> Test {
    let credentials = [("u1", "c1", "s3cret"), ("u2", "c2", "s3cret")];
    let answer = observe(server().await?, Some("u1"), &credentials).await?;
    assert_eq!(answer["lost"], json!(["c2"]));
    Ok(())
}

#[tokio::test]
async fn application_credential_with_another_secret_is_lost() -> Test {
    let answer = observe(server().await?, Some("u1"), &[("u1", "c1", WRONG)]).await?;
    assert_eq!(answer["lost"], json!(["c1"]));
    Ok(())
}

#[tokio::test]
async fn application_credential_that_cannot_be_read_is_not_lost() -> Test {
    let credentials = [("u3", "c3", WRONG)];
    let answer = observe(server().await?, Some("u1"), &credentials).await?;
    assert_eq!(answer.get("lost"), None);
    Ok(())
}

/// A proxy may refuse a request, and a Keystone that has just lost its users refuses everyone.
#[tokio::test]
async fn application_credential_that_keystone_alone_does_not_refuse_is_not_lost() -> Test {
    for secret in [UNHEARD, LAST] {
        let credentials = [("u1", "c1", secret)];
        let answer = observe(server().await?, Some("u1"), &credentials).await?;
        assert_eq!(answer.get("lost"), None, "{secret}");
    }
    Ok(())
}

#[tokio::test]
async fn user_that_lacks_an_exemption_is_restricted_and_one_that_is_gone_is_not() -> Test {
    let exempt = ["u1", "u2", "u4", "u6"];
    let answer = ask(server().await?, Some("u1"), &[], &exempt).await?;
    assert_eq!(answer["restricted"], json!(["u2", "u4"]));
    Ok(())
}

#[tokio::test]
async fn user_in_an_answer_of_another_shape_is_restricted() -> Test {
    let answer = ask(server().await?, Some("u1"), &[], &["u5"]).await?;
    assert_eq!(answer["restricted"], json!(["u5"]));
    Ok(())
}

/// Otherwise users would stay as they are without a message.
#[tokio::test]
async fn user_that_cannot_be_read_fails_the_answer() -> Test {
    let refusal = ask(server().await?, Some("u1"), &[], &["u1", "u3"]).await;
    assert!(
        matches!(&refusal, Err(DriverError::Unavailable(why)) if why.contains("the request for a user")),
        "{refusal:?}"
    );
    Ok(())
}

#[tokio::test]
async fn user_is_exempted_from_all_rules() -> Test {
    let (port, log) = listen(answer, all).await?;
    let call = Call {
        access: keystone_at(&format!("http://127.0.0.1:{port}")),
        change: Change::Exempt {
            user: "u2".to_owned(),
        },
    };
    Keystone::default().call(&json!(call).to_string()).await?;
    let patch = log.lock().unwrap().join("\n");
    assert!(patch.starts_with("PATCH /v3/users/u2 "), "{patch}");
    for option in EXEMPTIONS {
        let set = format!("\"{option}\": Bool(true)");
        assert!(patch.contains(&set), "{patch}");
    }
    Ok(())
}

/// A tenant that administrates its cloud decides what its Keystone answers, and one operator reads those of all.
#[tokio::test]
async fn answer_of_keystone_that_is_too_large_is_refused() -> Test {
    let refusal = observe(server().await?, None, &[]).await.err();
    let refusal = refusal.map(|error| error.to_string());
    let strange = "answered role_assignments with something that can't be understood";
    assert_eq!(refusal, Some(format!("Keystone at 127.0.0.1 {strange}")));
    Ok(())
}
