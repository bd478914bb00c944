//! The driver of Keystone.

use std::error::Error;

use provider_control_plane::credentials::keystone::{Access, Query, Scope};
use provider_openstack_driver::Keystone;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};

use crate::server::{all, listen, ok};
use crate::{Test, keystone_at};

/// More bytes than an answer may have.
const TOO_MANY: usize = 2 << 20;

/// The answer that a user is a member of a project.
fn member(user: &str) -> Value {
    json!({ "role_assignments": [{
        "role": { "id": "r1", "name": "member" }, "user": { "id": user, "name": user },
    }] })
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
        _ => (404, json!({})),
    }
}

/// A server, and how it is reached.
async fn server() -> Result<Access, Box<dyn Error>> {
    let (port, _) = listen(answer, all).await?;
    Ok(keystone_at(&format!("http://127.0.0.1:{port}")))
}

async fn observe(access: Access, user: Option<&str>) -> Result<Value, DriverError> {
    let query = Query {
        access,
        scope: Scope::Project("p1".to_owned()),
        user: user.map(str::to_owned),
    };
    let query = json!(query).to_string();
    Keystone::default().observe(&query).await
}

#[tokio::test]
async fn roles_of_one_user_are_read_without_those_of_others() -> Test {
    assert_eq!(
        observe(server().await?, Some("u1")).await?,
        json!({ "roles": { "u1": ["member"] }, "regions": { "e1": "RegionOne" } })
    );
    Ok(())
}

/// A tenant that administrates its cloud decides what its Keystone answers, and one operator reads those of all.
#[tokio::test]
async fn answer_of_keystone_that_is_too_large_is_refused() -> Test {
    let refusal = observe(server().await?, None).await.err();
    let refusal = refusal.map(|error| error.to_string());
    let strange = "answered role_assignments with something that can't be understood";
    assert_eq!(refusal, Some(format!("Keystone at 127.0.0.1 {strange}")));
    Ok(())
}
