//! Keystone's API, version 3, as far as it is needed (<https://docs.openstack.org/api-ref/identity/v3/>).

use hyper::Method;
use provider_control_plane::credentials::keystone::{Answer, Change, Scope};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;
use crate::session::Session;

#[derive(Deserialize)]
struct Thing {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Assignment {
    role: Thing,
    /// None where a group has the role.
    user: Option<Assignee>,
}

#[derive(Deserialize)]
struct Assignee {
    id: String,
}

#[derive(Deserialize)]
struct Endpoint {
    id: String,
    region_id: Option<String>,
}

/// Who has which role in a project or domain, and where endpoints are.
pub(crate) async fn answer(session: &Session, scope: &Scope) -> Result<Answer, Error> {
    let (kind, id) = place(session, scope).await?;
    let path = format!("/role_assignments?scope.{kind}.id={id}&include_names=true");
    let assignments: Vec<Assignment> = list(session, &path, "role_assignments").await?;
    let endpoints: Vec<Endpoint> = list(session, "/endpoints", "endpoints").await?;
    let mut answer = Answer::default();
    for Assignment { role, user } in assignments {
        if let Some(user) = user {
            answer.roles.entry(user.id).or_default().insert(role.name);
        }
    }
    let placed = endpoints
        .into_iter()
        .filter_map(|endpoint| Some((endpoint.id, endpoint.region_id?)));
    answer.regions = placed.collect();
    Ok(answer)
}

/// Changes something. What is so already stays so.
pub(crate) async fn carry_out(session: &Session, change: &Change) -> Result<(), Error> {
    match change {
        Change::Grant { user, role, scope } => {
            let path = assignment(session, user, role, scope).await?;
            let what = "the grant of a role";
            session.send(Method::PUT, &path, None, what).await?;
        }
        Change::Revoke { user, role, scope } => {
            let path = assignment(session, user, role, scope).await?;
            let what = "the revocation of a role";
            session.send(Method::DELETE, &path, None, what).await?;
        }
        Change::Place { endpoint, region } => {
            let path = format!("/endpoints/{}", encoded(endpoint));
            let body = json!({ "endpoint": { "region_id": region } });
            let what = "the change of an endpoint's region";
            session
                .send(Method::PATCH, &path, Some(&body), what)
                .await?;
        }
    }
    Ok(())
}

/// The path of a user's role.
async fn assignment(
    session: &Session,
    user: &str,
    role: &str,
    scope: &Scope,
) -> Result<String, Error> {
    let (kind, id) = place(session, scope).await?;
    let path = format!("/roles?name={}", encoded(role));
    let roles: Vec<Thing> = list(session, &path, "roles").await?;
    let found = roles.into_iter().find(|found| found.name == role);
    let role = found.ok_or_else(|| session.missing(format!("role {role}")))?;
    let (user, role) = (encoded(user), encoded(&role.id));
    Ok(format!("/{kind}s/{id}/users/{user}/roles/{role}"))
}

/// What a scope is, and its ID, fit for a path.
async fn place(session: &Session, scope: &Scope) -> Result<(&'static str, String), Error> {
    Ok(match scope {
        Scope::Named(name) => ("project", project(session, name).await?),
        Scope::Project(id) => ("project", encoded(id)),
        Scope::Domain(id) => ("domain", encoded(id)),
    })
}

/// The ID of a project in the domain Default, fit for a path.
async fn project(session: &Session, name: &str) -> Result<String, Error> {
    let path = format!("/projects?domain_id=default&name={}", encoded(name));
    let projects: Vec<Thing> = list(session, &path, "projects").await?;
    let found = projects.into_iter().find(|project| project.name == name);
    let project = found.ok_or_else(|| session.missing(format!("project {name}")))?;
    Ok(encoded(&project.id))
}

/// All of a list. One that Keystone cuts short isn't taken for the whole.
async fn list<T: DeserializeOwned>(
    session: &Session,
    path: &str,
    field: &'static str,
) -> Result<Vec<T>, Error> {
    let mut reply = session.send(Method::GET, path, None, field).await?;
    if reply["truncated"] == Value::Bool(true) {
        return Err(session.strange(field));
    }
    serde_json::from_value(reply[field].take()).map_err(|_| session.strange(field))
}

/// A text as part of a URL.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
