//! Keystone's API, version 3, as far as it is needed (<https://docs.openstack.org/api-ref/identity/v3/>).

use futures::future::{join, join_all, try_join_all};
use hyper::Method;
use provider_control_plane::credentials::keystone::{Answer, Change, HandedOut, Query, Scope};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::clouds::with_application_credential;
use crate::error::Error;
use crate::lists::list;
use crate::session::Server;
use crate::url::encoded;

/// The options of a user to whom nothing applies that a site configures in the section `security_compliance`
/// (<https://docs.openstack.org/keystone/latest/admin/resource-options.html>).
const EXEMPTIONS: [&str; 4] = [
    "ignore_change_password_upon_first_use",
    "ignore_lockout_failure_attempts",
    "ignore_password_expiry",
    "ignore_user_inactivity",
];

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

/// Who has which role in a project or domain, or which roles a user has there, where endpoints are, which application credentials are lost,
/// and which users are restricted.
pub(crate) async fn answer(keystone: Server<'_>, query: &Query) -> Result<Answer, Error> {
    let (kind, id) = place(keystone, &query.scope).await?;
    let user = query.user.as_deref();
    let user = user.map_or_else(String::new, |user| format!("&user.id={}", encoded(user)));
    let path = format!("/role_assignments?scope.{kind}.id={id}{user}&include_names=true");
    let assignments: Vec<Assignment> = list(keystone, &path, "role_assignments").await?;
    let endpoints: Vec<Endpoint> = list(keystone, "/endpoints", "endpoints").await?;
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
    // At once: the whole answer has to arrive in time.
    let lost = query.credentials.iter().map(async |(user, credential)| {
        let is_lost = is_lost(keystone, user, credential).await;
        is_lost.then(|| credential.id.clone())
    });
    let restricted = query.exempt.iter().map(async |user| {
        let is_restricted = is_restricted(keystone, user).await?;
        Ok::<_, Error>(is_restricted.then(|| user.clone()))
    });
    let (lost, restricted) = join(join_all(lost), try_join_all(restricted)).await;
    answer.lost = lost.into_iter().flatten().collect();
    answer.restricted = restricted?.into_iter().flatten().collect();
    Ok(answer)
}

/// Whether a user lacks an exemption. One that Keystone doesn't have lacks none.
async fn is_restricted(keystone: Server<'_>, user: &str) -> Result<bool, Error> {
    let path = format!("/users/{}", encoded(user));
    let what = "the request for a user";
    match keystone.send(Method::GET, &path, None, what).await {
        Ok(found) => {
            let options = &found["user"]["options"];
            Ok(EXEMPTIONS.iter().any(|option| options[option] != true))
        }
        Err(Error::Failed { status: 404, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether Keystone says that a user doesn't have an application credential, or refuses the login with one that it has: K-ORC took over
/// one with another secret. Whatever else it answers, a policy may have refused the request, and nothing else is to wait for that.
async fn is_lost(keystone: Server<'_>, user: &str, credential: &HandedOut) -> bool {
    let HandedOut { id, secret } = credential;
    let path = format!(
        "/users/{}/application_credentials/{}",
        encoded(user),
        encoded(id)
    );
    let what = "the request for an application credential";
    match keystone.send(Method::GET, &path, None, what).await {
        Ok(_) => {
            let login = with_application_credential(&json!({ "id": id, "secret": secret }));
            keystone.refuses(&login).await.unwrap_or(false)
        }
        Err(Error::Failed { status, .. }) => status == 404,
        Err(_) => false,
    }
}

/// Changes something. What is so already stays so.
pub(crate) async fn carry_out(keystone: Server<'_>, change: &Change) -> Result<(), Error> {
    match change {
        Change::Grant { user, role, scope } => {
            let path = assignment(keystone, user, role, scope).await?;
            let what = "the grant of a role";
            keystone.send(Method::PUT, &path, None, what).await?;
        }
        Change::Revoke { user, role, scope } => {
            let path = assignment(keystone, user, role, scope).await?;
            let what = "the revocation of a role";
            keystone.send(Method::DELETE, &path, None, what).await?;
        }
        Change::Exempt { user } => {
            let path = format!("/users/{}", encoded(user));
            let options = EXEMPTIONS.map(|option| (option.to_owned(), Value::from(true)));
            let body = json!({ "user": { "options": Map::from_iter(options) } });
            let what = "the change of a user's options";
            keystone
                .send(Method::PATCH, &path, Some(&body), what)
                .await?;
        }
        Change::Place { endpoint, region } => {
            let path = format!("/endpoints/{}", encoded(endpoint));
            let body = json!({ "endpoint": { "region_id": region } });
            let what = "the change of an endpoint's region";
            keystone
                .send(Method::PATCH, &path, Some(&body), what)
                .await?;
        }
    }
    Ok(())
}

/// The path of a user's role.
async fn assignment(
    keystone: Server<'_>,
    user: &str,
    role: &str,
    scope: &Scope,
) -> Result<String, Error> {
    let (kind, id) = place(keystone, scope).await?;
    let path = format!("/roles?name={}", encoded(role));
    let roles: Vec<Thing> = list(keystone, &path, "roles").await?;
    let found = roles.into_iter().find(|found| found.name == role);
    let role = found.ok_or_else(|| keystone.missing(format!("role {role}")))?;
    let (user, role) = (encoded(user), encoded(&role.id));
    Ok(format!("/{kind}s/{id}/users/{user}/roles/{role}"))
}

/// What a scope is, and its ID, fit for a path.
async fn place(keystone: Server<'_>, scope: &Scope) -> Result<(&'static str, String), Error> {
    Ok(match scope {
        Scope::Named(name) => ("project", project(keystone, name).await?),
        Scope::Project(id) => ("project", encoded(id)),
        Scope::Domain(id) => ("domain", encoded(id)),
    })
}

/// The ID of a project in the domain Default, fit for a path.
async fn project(keystone: Server<'_>, name: &str) -> Result<String, Error> {
    let path = format!("/projects?domain_id=default&name={}", encoded(name));
    let projects: Vec<Thing> = list(keystone, &path, "projects").await?;
    let found = projects.into_iter().find(|project| project.name == name);
    let project = found.ok_or_else(|| keystone.missing(format!("project {name}")))?;
    Ok(encoded(&project.id))
}
