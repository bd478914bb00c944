//! The tenant's first user: a manager of a domain of its own, or an administrator of the cloud.

use c5c3_api::control_plane::{Connection, TenantAccess};
use c5c3_kinds::korc::{Domain, Made, Project, User};
use provider_composer::{DesiredState, Failure, Progress, Reason};

use super::access::is_of_korc;
use super::first_unready;
use super::korc::Korc;
use super::users::{Grantee, grant, password};
use crate::Recipe;
use crate::credentials::keystone::{Answer, Change, Scope};
use crate::credentials::{CLOUD, Login, Password, Site, deliver, keep_secret};

/// The tenant's domain, project and user, as K-ORC's objects and Keystone call them.
pub(crate) const TENANT: &str = "tenant";
/// Secret with the user's password.
pub(crate) const PASSWORD: &str = "tenant-keystone-user";
/// The cloud of the clouds.yaml that manages the domain.
const DOMAIN_CLOUD: &str = "openstack-domain";
/// Role that manages users, groups and projects of a domain, since 2024.2
/// (<https://docs.openstack.org/keystone/latest/admin/service-api-protection.html>).
const MANAGER: &str = "manager";
/// Role that uses the services in a project.
const MEMBER: &str = "member";
/// Role of an administrator of the cloud, in whichever project.
const ADMIN: &str = "admin";

/// Composes the tenant's domain, project and user, and the Secret with the user's clouds.yaml. New ones only if
/// `may_create`. Returns the Secret once what is in it works.
///
/// # Errors
/// It isn't known which password the user has.
pub fn compose(
    recipe: &Recipe<'_>,
    desired: &mut DesiredState,
    may_create: bool,
) -> Result<Option<Connection>, Failure> {
    let Some(access) = recipe.spec().access else {
        return Ok(None);
    };
    let secret_name = secret_name(recipe.subject.name());
    let progress = match recipe.korc.enabled {
        true => {
            let mut korc = Korc::new(recipe, desired);
            user(&mut korc, access, &secret_name, may_create)?
        }
        false => Progress::failed(
            Reason::Unsupported,
            "access needs K-ORC, and korc.enabled is false: set it to true, or remove access and create the tenant's user \
             yourself",
        ),
    };
    desired.conditions.set("AccessReady", &progress);
    let last = recipe.subject.status.connection.as_ref();
    let is_handed_out = last.is_some_and(|last| last.secret_name == secret_name);
    Ok((progress.is_ready() || is_handed_out).then_some(Connection { secret_name }))
}

/// The Secret with the clouds.yaml of the tenant's first user: `<control plane>-clouds`, unless that is one of K-ORC. Tenants choose the
/// names of control planes, and get what is in this Secret.
fn secret_name(control_plane: &str) -> String {
    let usual = format!("{control_plane}-clouds");
    match is_of_korc(&usual) {
        true => format!("tenant-{usual}"),
        false => usual,
    }
}

fn user(
    korc: &mut Korc<'_>,
    access: TenantAccess,
    secret: &str,
    may_create: bool,
) -> Result<Progress, Failure> {
    let password = password(korc, TENANT, PASSWORD)?;
    if may_create {
        password.generate(korc.desired);
    }
    let domain = Domain {
        description: "The tenant's own domain",
    };
    let project = Project {
        description: "The tenant's first project",
        domain_ref: TENANT,
    };
    let user = User {
        description: "The tenant's first user".to_owned(),
        domain_ref: Some(TENANT),
        default_project_ref: Some(TENANT),
        password_ref: password.wanted(),
    };
    let domain = Made::new(&korc.cloud, domain).detached();
    let domain = korc.want(TENANT, &domain, may_create);
    let project = Made::new(&korc.cloud, project).detached();
    let project = korc.want(TENANT, &project, may_create);
    let user = Made::new(&korc.cloud, user).detached();
    let user = korc.want(TENANT, &user, may_create);
    let granted = match (domain.id, project.id, user.id) {
        (Some(domain), Some(project), Some(user)) => {
            let (domain, project) = (Scope::Domain(domain), Scope::Project(project));
            Some(roles(korc, access, domain, project, &user))
        }
        _ => None,
    };
    let clouds = clouds(korc, secret, &password)?;
    let created = [domain.progress, project.progress, user.progress];
    Ok(first_unready(
        created.into_iter().chain(granted).chain([clouds]),
    ))
}

/// Grants the user its roles, and revokes the administrator's where it should have none.
fn roles(
    korc: &mut Korc<'_>,
    access: TenantAccess,
    domain: Scope,
    project: Scope,
    id: &str,
) -> Progress {
    let user = Grantee { name: TENANT, id };
    let answer = korc.roles_of(id, domain.clone());
    let managed = grant(korc, &answer, &user, &[MANAGER], &domain);
    let answer = korc.roles_of(id, project.clone());
    let (wanted, revoked): (&[&str], _) = match access {
        TenantAccess::Domain => (&[MEMBER], revoke(korc, &answer, id, &project)),
        TenantAccess::Admin => (&[MEMBER, ADMIN], Progress::Ready),
    };
    let used = grant(korc, &answer, &user, wanted, &project);
    first_unready([managed, revoked, used])
}

/// Revokes the role of an administrator from a user that has it.
fn revoke(
    korc: &mut Korc<'_>,
    answer: &Result<Answer, Progress>,
    user: &str,
    scope: &Scope,
) -> Progress {
    let roles = answer.iter().find_map(|answer| answer.roles.get(user));
    if !roles.is_some_and(|roles| roles.contains(ADMIN)) {
        return Progress::Ready;
    }
    korc.change(Change::Revoke {
        user: user.to_owned(),
        role: ADMIN.to_owned(),
        scope: scope.clone(),
    });
    let message = format!("waits for user {TENANT} to lose the role {ADMIN} in {scope}");
    Progress::waiting(Reason::WaitingFor("Keystone"), message)
}

/// The clouds.yaml by which the tenant reaches the control plane from outside.
fn clouds(korc: &mut Korc<'_>, name: &str, password: &Password<'_>) -> Result<Progress, Failure> {
    let recipe = korc.recipe;
    let purpose = "the user's password, which is generated once the catalogue is ready";
    let password = password.read(korc.observed, purpose);
    match (Site::public(recipe, name), password) {
        (Ok(site), Ok(password)) => {
            let (user, password, domain) = (TENANT, &password, TENANT);
            let project = Login::Password {
                user,
                password,
                domain,
                project: TENANT,
            };
            let managed = Login::Domain {
                user,
                password,
                domain,
            };
            let values = site.clouds(&[(CLOUD, project), (DOMAIN_CLOUD, managed)])?;
            Ok(deliver(recipe, korc.desired, name, values))
        }
        (Err(progress), _) | (_, Err(progress)) => {
            keep_secret(recipe, korc.desired, name);
            Ok(progress)
        }
    }
}
