//! How K-ORC gets at Keystone: first with the password of Keystone's first user, then with an application credential of
//! its own; or as the user says.

use std::collections::BTreeMap;

use c5c3_api::{control_plane::CloudCredentialsRef, keystone::KeystoneSpec};
use c5c3_kinds::korc::{ApplicationCredential, Made};
use provider_composer::{
    Failure, Generated, GeneratedValue, Key, Lookup, Progress, ResourceKind, Retention,
};

use provider_openstack::{KEYSTONE, progress};

use super::korc::{CLOUDS, Korc};
use crate::Recipe;
use crate::credentials::{
    ADMIN, CA, CLOUD, CLOUDS_YAML, DEFAULT, Line, Login, Password, Sealed, Site, VOLUMES, hold,
    write,
};

/// Secret with the clouds.yaml that K-ORC's own application credential is made with.
const BOOTSTRAP: &str = "k-orc-bootstrap-clouds";
/// K-ORC's own application credential.
pub(super) const OWN: &str = "k-orc";
/// Secret with its secret.
const OWN_SECRET: &str = "k-orc-credential";
/// Keystone's first user.
pub(super) struct Admin {
    pub(super) name: String,
    password: Line,
}

impl Admin {
    pub(super) fn read(recipe: &Recipe<'_>) -> Result<Self, Progress> {
        let origin = "with the password of Keystone's first user";
        let valid = Password::of_admin(recipe.observed, recipe.namespace())?.valid()?;
        let sealed = Sealed::read(recipe.observed, recipe.namespace(), &valid, origin)?;
        let name = match sealed.get("username") {
            Some(_) => sealed.line("username")?.expose().to_owned(),
            None => ADMIN.to_owned(),
        };
        Ok(Self {
            name,
            password: sealed.line("password")?,
        })
    }
}

impl Site {
    /// Where a control plane's Keystone is: where its resource says, or will say.
    pub(super) fn of(recipe: &Recipe<'_>) -> Result<Self, Progress> {
        let namespace = recipe.namespace();
        let keystone = ResourceKind::of::<KeystoneSpec>();
        let object = recipe
            .observed
            .object(&Key::new(keystone, namespace, KEYSTONE.name))
            .optional()?;
        let endpoint = object
            .as_ref()
            .and_then(|object| object.pointer("/status/endpoint"));
        let said = endpoint.and_then(|url| url.as_str()).map(versioned);
        let certificate = format!("{}-tls", KEYSTONE.name);
        let ca = match Sealed::look(recipe.observed, namespace, &certificate) {
            _ if !recipe.subject.spec.global.tls.enabled => None,
            Lookup::Found(sealed) if sealed.get("ca.crt").is_some() => {
                Some(sealed.text("ca.crt")?.to_owned())
            }
            Lookup::Found(_) | Lookup::Missing => None,
            Lookup::Unknown(message) => return Err(Progress::Unknown { message }),
        };
        Ok(Self {
            auth_url: said.unwrap_or_else(|| recipe.endpoint(&KEYSTONE)),
            region: recipe.region().to_owned(),
            interface: "internal",
            ca,
        })
    }

    /// Keystone as clients outside find it, with the authority of its public certificate if that is known. Where it isn't
    /// exposed, as clients within do. While the certificate is issued again, the authority stays as it is in the Secret `handed_out`.
    pub(super) fn public(recipe: &Recipe<'_>, handed_out: &str) -> Result<Self, Progress> {
        let exposure = recipe.exposure(&KEYSTONE);
        let ca = match &exposure {
            None => Self::of(recipe)?.ca,
            Some(exposure) => match exposure
                .ingress
                .as_ref()
                .and_then(|it| it.tls_secret_name.as_ref())
            {
                None => None,
                Some(secret) => {
                    let look = |name: &str| Sealed::look(recipe.observed, recipe.namespace(), name);
                    let (sealed, key) = match look(secret) {
                        Lookup::Missing => (look(handed_out), CA),
                        found => (found, "ca.crt"),
                    };
                    let sealed = sealed.optional()?;
                    // A public authority's certificate comes without that of the authority.
                    sealed.and_then(|sealed| sealed.text(key).ok().map(str::to_owned))
                }
            },
        };
        Ok(Self {
            auth_url: recipe.public_endpoint(&KEYSTONE),
            region: recipe.region().to_owned(),
            interface: "public",
            ca,
        })
    }
}

/// A URL of Keystone with the version at its end.
fn versioned(url: &str) -> String {
    let url = url.trim_end_matches('/');
    match url.ends_with(KEYSTONE.path) {
        true => url.to_owned(),
        false => format!("{url}{}", KEYSTONE.path),
    }
}

/// Composes the clouds.yaml that K-ORC works with. K-ORC reads it in this namespace, so it isn't pushed to a store. `turn`: K-ORC knows Keystone's first user, so that its own application
/// credential may be made.
pub(super) fn compose(korc: &mut Korc<'_>, turn: bool) -> Result<Progress, Failure> {
    if korc.recipe.korc.cloud_credentials_ref.is_some() {
        return Ok(given(korc));
    }
    let site = Site::of(korc.recipe);
    let admin = Admin::read(korc.recipe);
    let own = own(korc, turn)?;
    let (site, admin) = match (site, admin) {
        (Ok(site), Ok(admin)) => (site, admin),
        (Err(progress), _) | (_, Err(progress)) => {
            hold(korc.recipe, korc.desired, BOOTSTRAP);
            hold(korc.recipe, korc.desired, CLOUDS);
            return Ok(progress);
        }
    };
    let login = Login::Password {
        user: &admin.name,
        password: &admin.password,
        domain: DEFAULT,
        project: ADMIN,
    };
    let first = site.clouds(&[(CLOUD, login)])?;
    let bootstrap = write(korc.recipe, korc.desired, BOOTSTRAP, first)?;
    let both = |login| site.clouds(&[(CLOUD, login), (VOLUMES, login)]);
    let values = match &own {
        Own::There { id, secret } => both(Login::ApplicationCredential { id, secret })?,
        Own::Absent(_) => both(login)?,
        Own::Unknown(message) => {
            hold(korc.recipe, korc.desired, CLOUDS);
            let message = message.clone();
            return Ok(Progress::Unknown { message });
        }
    };
    let works = write(korc.recipe, korc.desired, CLOUDS, values)?;
    Ok(match (bootstrap, works, own) {
        (Progress::Ready, Progress::Ready, Own::Absent(progress)) if turn => progress,
        (Progress::Ready, works, _) => works,
        (bootstrap, ..) => bootstrap,
    })
}

/// The clouds.yaml is the user's.
fn given(korc: &Korc<'_>) -> Progress {
    let name = &korc.cloud.secret_name;
    let origin = "which korc.cloudCredentialsRef names: make it with the key clouds.yaml";
    let read = Sealed::read(korc.observed, korc.recipe.namespace(), name, origin);
    progress(&read.and_then(|sealed| sealed.text(CLOUDS_YAML).map(drop)))
}

/// K-ORC's own application credential.
enum Own {
    There { id: String, secret: Line },
    Absent(Progress),
    Unknown(String),
}

fn own(korc: &mut Korc<'_>, turn: bool) -> Result<Own, Failure> {
    let namespace = korc.recipe.namespace();
    let cloud = CloudCredentialsRef {
        cloud_name: CLOUD.to_owned(),
        secret_name: BOOTSTRAP.to_owned(),
    };
    let body = Made::new(
        &cloud,
        ApplicationCredential {
            user_ref: ADMIN.to_owned(),
            secret_ref: OWN_SECRET.to_owned(),
        },
    );
    let state = korc.want(OWN, &body, turn)?;
    let key = Key::of::<Made<ApplicationCredential>>(namespace, OWN);
    if korc.desired.wants(&key) {
        let secret = secret_value(BTreeMap::new());
        korc.desired.generate(namespace, OWN_SECRET, secret);
    }
    let id = match (state.id, state.progress) {
        (Some(id), _) => id,
        (None, Progress::Unknown { message }) => return Ok(Own::Unknown(message)),
        (None, progress) => return Ok(Own::Absent(progress)),
    };
    let sealed = Sealed::read(korc.observed, namespace, OWN_SECRET, "which is made once");
    match sealed.and_then(|sealed| sealed.line("value")) {
        Ok(secret) => Ok(Own::There { id, secret }),
        Err(Progress::Unknown { message }) => Ok(Own::Unknown(message)),
        Err(progress) => Ok(Own::Absent(progress)),
    }
}

/// The secret of an application credential, as K-ORC reads it.
pub(super) fn secret_value(labels: BTreeMap<String, String>) -> Generated {
    Generated {
        values: [("value".to_owned(), GeneratedValue::Password(64))].into(),
        labels,
        retention: Retention::WhileWanted,
        is_immutable: false,
    }
}
