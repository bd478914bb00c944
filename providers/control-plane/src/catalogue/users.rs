//! One user for each service, its roles, and its application credential.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use provider_composer::{Failure, Key, Lookup, Progress, Reason, Resource, SecretValues};

use c5c3_api::control_plane::CloudCredentialsRef;
use c5c3_api::credential_rotation::RotationType;
use c5c3_kinds::korc::{ApplicationCredential, Made, Observed, User};
use k8s_openapi::api::core::v1::Secret;
use provider_openstack::{Rotations, numbered};

use super::access::secret_value;
use super::exemptions::exempt;
use super::first_unready;
use super::imports::Imports;
use super::korc::{Korc, PROJECT};
use crate::credentials::keystone::{Answer, Change, HandedOut, Scope};
use crate::credentials::{
    CLOUD, Credential, CredentialSet, DEFAULT, ID, Login, MOST, Password, Plan, SECRET,
    SERVICE_USER, ServiceUser, Site, deliver, keep_secret, removed_users, service_users, write,
};

/// For how long K-ORC has had an application credential before Keystone must accept it: the member of the database that Keystone reads may
/// get it late.
const MUST_EXIST: SignedDuration = SignedDuration::from_mins(10);

/// A service user and its application credentials, or why these aren't known.
pub(super) type UserCredentials = (&'static ServiceUser, Result<CredentialSet, String>);

/// The service users with their application credentials.
pub(super) fn with_credentials(korc: &Korc<'_>) -> Vec<UserCredentials> {
    let (observed, namespace) = (korc.observed, korc.recipe.namespace());
    let users = service_users(korc.recipe);
    users
        .map(|user| (user, CredentialSet::of(observed, namespace, user)))
        .collect()
}

/// The application credentials that services have and Keystone must accept, by the ID of their user.
pub(super) fn handed_out(
    korc: &Korc<'_>,
    users: &[UserCredentials],
) -> BTreeMap<String, HandedOut> {
    let (observed, namespace) = (korc.observed, korc.recipe.namespace());
    let of_user = |(user, set): &UserCredentials| {
        // Everything is looked up before anything is missing, so that the runtime fetches all of it at once.
        let id = korc.id::<Made<User>>(user.name);
        let credential = set.as_ref().ok()?.current()?;
        let secret = secret(korc, user, credential.number);
        let object = numbered(user.name, credential.number);
        let key = Key::of::<Observed<ApplicationCredential>>(namespace, &object);
        let available = observed.condition(&key, "Available").found()??;
        let since: Option<Timestamp> = available
            .last_transition_time
            .as_deref()
            .and_then(|at| at.parse().ok());
        let due = since.max(credential.made)?.checked_add(MUST_EXIST).ok()?;
        let credential = credential.id.clone().filter(|_| due <= observed.now());
        let handed_out = HandedOut {
            id: credential?,
            secret: secret.ok()?,
        };
        Some((id?, handed_out))
    };
    users.iter().filter_map(of_user).collect()
}

/// Composes the users with all that is theirs. None waits for another.
pub(super) fn compose(
    korc: &mut Korc<'_>,
    imports: &Imports,
    answer: &Result<Answer, Progress>,
    users: Vec<UserCredentials>,
) -> Result<Progress, Failure> {
    let site = Site::of(korc.recipe);
    // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
    let users: Vec<_> = users
        .into_iter()
        .map(|user| compose_one(korc, imports, answer, &site, user))
        .collect();
    for user in removed_users(korc.recipe) {
        keep(korc, user);
    }
    let progress: Vec<Progress> = users.into_iter().collect::<Result<_, Failure>>()?;
    Ok(first_unready(progress))
}

/// Keeps a user, and all that pods log in with as it. What can't be listed is kept in any case.
fn keep(korc: &mut Korc<'_>, user: &ServiceUser) {
    let (recipe, namespace) = (korc.recipe, korc.recipe.namespace());
    korc.desired
        .keep(Key::of::<Made<User>>(namespace, user.name));
    for name in [user.clouds(), user.credentials()] {
        keep_secret(recipe, korc.desired, &name);
    }
    for kind in [Made::<ApplicationCredential>::KIND, Secret::KIND] {
        let label = [(SERVICE_USER, user.name)];
        let keys = korc.observed.keys(kind, namespace, &label);
        korc.desired.kept.extend(keys.found().unwrap_or_default());
    }
}

fn compose_one(
    korc: &mut Korc<'_>,
    imports: &Imports,
    answer: &Result<Answer, Progress>,
    site: &Result<Site, Progress>,
    (user, set): UserCredentials,
) -> Result<Progress, Failure> {
    let is_exposed = is_exposed(korc, imports, user);
    let may_create = imports.progress.is_ready() && !is_exposed;
    let first = user.password();
    let password = password(korc, user.name, &first)?;
    if may_create {
        password.generate(korc.desired);
    }
    let body = Made::new(
        &korc.cloud,
        User {
            description: format!("Service user of {}", user.name),
            domain_ref: imports.domain,
            default_project_ref: imports.project,
            password_ref: password.wanted(),
        },
    );
    let made = korc.want(user.name, &body, may_create);
    let clouds = clouds(korc, site, user, &password)?;
    let (granted, exempted) = match &made.id {
        Some(id) => {
            let scope = Scope::Named(PROJECT.to_owned());
            let grantee = Grantee {
                name: user.name,
                id,
            };
            let granted = grant(korc, answer, &grantee, user.roles, &scope);
            (granted, exempt(korc, answer, user.name, id))
        }
        None => (made.progress.clone(), made.progress.clone()),
    };
    let may_have_credential = granted.is_ready() && exempted.is_ready();
    let mut progress = vec![made.progress, clouds, granted];
    if set.as_ref().is_ok_and(|set| set.current().is_none()) {
        progress.push(exempted);
    }
    if is_exposed {
        let message = format!(
            "user {} isn't created, because K-ORC would take over a user of this name in any domain, and the tenant creates users in its own: \
             add domains to korc.bootstrapResources",
            user.name
        );
        progress.push(Progress::failed(Reason::Unsupported, message));
    }
    progress.push(application_credential(
        korc,
        (user, set),
        may_have_credential,
        answer,
    )?);
    progress.push(user.progress(korc.recipe));
    Ok(first_unready(progress))
}

/// Whether K-ORC would look for a new user by its name alone, and take over one of the tenant's first user, who manages the users of a domain
/// (<https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/internal/controllers/user/actuator.go>,
/// `ListOSResourcesForAdoption`).
fn is_exposed(korc: &Korc<'_>, imports: &Imports, user: &ServiceUser) -> bool {
    let key = Key::of::<Made<User>>(korc.recipe.namespace(), user.name);
    imports.domain.is_none()
        && korc.recipe.spec().access.is_some()
        && matches!(korc.observed.object(&key), Lookup::Missing)
}

/// The password of a user.
///
/// # Errors
/// It isn't known which one it is. Without it, the user that exists would be deleted.
pub(super) fn password<'p>(
    korc: &Korc<'p>,
    user: &'p str,
    first: &'p str,
) -> Result<Password<'p>, Failure> {
    let password = Password::of(korc.observed, korc.recipe.namespace(), user, first);
    password.map_err(|progress| Failure::transient(Reason::LookupFailed, progress.message()))
}

/// The clouds.yaml by which K-ORC acts as the user.
fn clouds(
    korc: &mut Korc<'_>,
    site: &Result<Site, Progress>,
    user: &ServiceUser,
    password: &Password<'_>,
) -> Result<Progress, Failure> {
    let name = user.clouds();
    let purpose = "the user's password, which is generated once the imports are ready";
    let password = password.read(korc.observed, purpose);
    match (site.as_ref().map_err(Clone::clone), password) {
        (Ok(site), Ok(password)) => {
            let login = Login::Password {
                user: user.name,
                password: &password,
                domain: DEFAULT,
                project: PROJECT,
            };
            let values = site.clouds(&[(CLOUD, login)])?;
            Ok(write(korc.recipe, korc.desired, &name, values))
        }
        (Err(progress), _) | (_, Err(progress)) => {
            keep_secret(korc.recipe, korc.desired, &name);
            Ok(progress)
        }
    }
}

/// A user with roles.
pub(super) struct Grantee<'a> {
    pub(super) name: &'a str,
    pub(super) id: &'a str,
}

/// Grants the roles that a user lacks. Roles that it has besides stay.
pub(super) fn grant(
    korc: &mut Korc<'_>,
    answer: &Result<Answer, Progress>,
    user: &Grantee<'_>,
    roles: &[&str],
    scope: &Scope,
) -> Progress {
    let has = match answer {
        Ok(answer) => answer.roles.get(user.id),
        Err(progress) => return progress.clone(),
    };
    let lacks = |role: &&&str| has.is_none_or(|roles| !roles.contains(**role));
    let lacking: Vec<&str> = roles.iter().filter(lacks).copied().collect();
    for role in &lacking {
        korc.change(Change::Grant {
            user: user.id.to_owned(),
            role: (*role).to_owned(),
            scope: scope.clone(),
        });
    }
    match lacking.is_empty() {
        true => Progress::Ready,
        false => Progress::waiting(
            Reason::WaitingFor("Keystone"),
            format!(
                "waits for user {} to have the roles {} in {scope}",
                user.name,
                lacking.join(", ")
            ),
        ),
    }
}

/// The application credentials that the user should have now, and the Secret with the one that the service gets. One that Keystone has
/// lost is replaced: K-ORC doesn't notice. It also takes over a credential by its name, whatever its secret is
/// (<https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/internal/controllers/applicationcredential/actuator.go>,
/// `ListOSResourcesForAdoption`).
///
/// # Errors
/// It isn't known which there are, though there are some: whatever isn't named here would go.
fn application_credential(
    korc: &mut Korc<'_>,
    (user, set): UserCredentials,
    may_create: bool,
    answer: &Result<Answer, Progress>,
) -> Result<Progress, Failure> {
    let namespace = korc.recipe.namespace();
    let type_ = RotationType::ApplicationCredential;
    let rotations = Rotations::of(korc.observed, namespace, user.name, type_);
    let (set, rotations) = match (set, rotations) {
        (Ok(set), Ok(rotations)) => (set, rotations),
        (Err(message), _) | (_, Err(message)) => {
            let key = Key::of::<Made<User>>(namespace, user.name);
            return match korc.observed.object(&key) {
                Lookup::Found(_) => Err(Failure::transient(Reason::LookupFailed, message)),
                Lookup::Missing | Lookup::Unknown(_) => Ok(Progress::Unknown { message }),
            };
        }
    };
    let is_lost = |credential: &&Credential| {
        let (id, answer) = (credential.id.as_ref(), answer.as_ref().ok());
        id.zip(answer)
            .is_some_and(|(id, answer)| answer.lost.contains(id))
    };
    let lost = set.current().filter(is_lost);
    let plan = set.plan(
        rotations.next(),
        &rotations.named().collect(),
        lost.is_some(),
    );
    let lost = lost.map(|lost| replaced(user, lost, &plan));
    let mut progress: Vec<Progress> = lost.into_iter().collect();
    for number in plan.wanted {
        progress.push(one_credential(korc, user, number, may_create));
    }
    match plan.handed_out {
        Some((number, id)) => progress.push(hand_out(korc, user, number, &id)),
        None => keep_secret(korc.recipe, korc.desired, &user.credentials()),
    }
    Ok(first_unready(progress))
}

/// Says which credential replaces one that Keystone has lost.
fn replaced(user: &ServiceUser, lost: &Credential, plan: &Plan) -> Progress {
    let named = |number| numbered(user.name, number);
    let next = match plan.wanted.contains(&lost.successor()) {
        true => format!(
            "waits for K-ORC to create {}, which replaces it",
            named(lost.successor())
        ),
        false => format!("there are {MOST} already, so delete those that it refused before"),
    };
    Progress::waiting(
        Reason::MakingCredential,
        format!(
            "Keystone refuses ApplicationCredential {}, as after a restore of its database: {next}",
            named(lost.number)
        ),
    )
}

fn one_credential(
    korc: &mut Korc<'_>,
    user: &ServiceUser,
    number: u32,
    may_create: bool,
) -> Progress {
    let namespace = korc.recipe.namespace();
    let name = numbered(user.name, number);
    let own = CloudCredentialsRef {
        cloud_name: CLOUD.to_owned(),
        secret_name: user.clouds(),
    };
    let body = Made::new(
        &own,
        ApplicationCredential {
            user_ref: user.name.to_owned(),
            secret_ref: user.secret(number),
        },
    )
    .labelled(SERVICE_USER, user.name);
    let state = korc.want(&name, &body, may_create);
    if korc
        .desired
        .wants(&Key::of::<Made<ApplicationCredential>>(namespace, &name))
    {
        let labels = BTreeMap::from([(SERVICE_USER.to_owned(), user.name.to_owned())]);
        korc.desired
            .generate(namespace, &user.secret(number), secret_value(labels));
    }
    state.progress
}

/// The secret of an application credential.
fn secret(korc: &Korc<'_>, user: &ServiceUser, number: u32) -> Result<String, Progress> {
    let purpose = "the secret of an application credential";
    let read = SecretValues::read(
        korc.observed,
        korc.recipe.namespace(),
        &user.secret(number),
        purpose,
    );
    read.and_then(|values| values.line("value").map(str::to_owned))
}

/// Writes the Secret with a credential for the service.
fn hand_out(korc: &mut Korc<'_>, user: &ServiceUser, number: u32, id: &str) -> Progress {
    let name = user.credentials();
    match secret(korc, user, number) {
        Ok(secret) => {
            let values = [(ID, id), (SECRET, secret.as_str())];
            let values = values.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
            deliver(korc.recipe, korc.desired, &name, values.into())
        }
        Err(progress) => {
            keep_secret(korc.recipe, korc.desired, &name);
            progress
        }
    }
}
