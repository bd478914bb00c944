//! How K-ORC gets at Keystone: first with the password of Keystone's first user, then with an application credential of
//! its own; or as the user says.

use std::collections::BTreeMap;

use c5c3_api::{control_plane::CloudCredentialsRef, keystone::KeystoneSpec};
use c5c3_kinds::korc::{ApplicationCredential, Made};
use provider_composer::{
    Failure, Generated, GeneratedValue, Key, Lookup, Progress, ResourceKind, Retention,
    SecretValues,
};

use provider_openstack::{KEYSTONE, progress};

use super::korc::{CLOUDS, Korc};
use crate::Recipe;
use crate::credentials::{
    ADMIN, CA, CLOUD, CLOUDS_YAML, DEFAULT, Login, Password, Site, VOLUMES, has_clouds,
    keep_secret, write,
};

/// Secret with the clouds.yaml that K-ORC's own application credential is made with.
pub(super) const BOOTSTRAP: &str = "k-orc-bootstrap-clouds";
/// K-ORC's own application credential.
pub(super) const OWN: &str = "k-orc";
/// Secret with its secret.
const OWN_SECRET: &str = "k-orc-credential";
/// Keystone's first user.
pub(super) struct Admin {
    pub(super) name: String,
    password: String,
}

impl Admin {
    pub(super) fn read(recipe: &Recipe<'_>) -> Result<Self, Progress> {
        let purpose = "the password of Keystone's first user";
        let valid = Password::of_admin(recipe.observed, recipe.namespace())?.valid()?;
        let values = SecretValues::read(recipe.observed, recipe.namespace(), &valid, purpose)?;
        let name = values.optional_line("username")?.unwrap_or(ADMIN);
        Ok(Self {
            name: name.to_owned(),
            password: values.line("password")?.to_owned(),
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
        let ca = match recipe
            .observed
            .body::<SecretValues>(namespace, &certificate)
        {
            _ if !recipe.subject.spec.global.tls.enabled => None,
            Lookup::Found(values) => values.authority()?.map(str::to_owned),
            Lookup::Missing => None,
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
                    let (observed, namespace) = (recipe.observed, recipe.namespace());
                    let look = |name: &str| observed.body::<SecretValues>(namespace, name);
                    let (values, key) = match look(secret) {
                        Lookup::Missing => (look(handed_out), CA),
                        found => (found, "ca.crt"),
                    };
                    let values = values.optional()?;
                    // A public authority's certificate comes without that of the authority.
                    values.and_then(|values| values.text(key).ok().map(str::to_owned))
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

/// Whether a Secret of this name has a clouds.yaml that K-ORC works with.
pub(super) fn is_of_korc(secret: &str) -> bool {
    [BOOTSTRAP, CLOUDS].contains(&secret) || has_clouds(secret)
}

/// Composes the clouds.yaml that K-ORC works with. K-ORC reads it in this namespace, so it isn't pushed to a store.
/// `may_create`: K-ORC knows Keystone's first user, so that its own application credential may be created.
pub(super) fn compose(korc: &mut Korc<'_>, may_create: bool) -> Result<Progress, Failure> {
    if korc.recipe.korc.cloud_credentials_ref.is_some() {
        return Ok(given(korc));
    }
    let site = Site::of(korc.recipe);
    let admin = Admin::read(korc.recipe);
    let own = own(korc, may_create);
    let (site, admin) = match (site, admin) {
        (Ok(site), Ok(admin)) => (site, admin),
        (Err(progress), _) | (_, Err(progress)) => {
            keep_secret(korc.recipe, korc.desired, BOOTSTRAP);
            keep_secret(korc.recipe, korc.desired, CLOUDS);
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
    let bootstrap = write(korc.recipe, korc.desired, BOOTSTRAP, first);
    let both = |login| site.clouds(&[(CLOUD, login), (VOLUMES, login)]);
    let values = match &own {
        Own::There { id, secret } => both(Login::ApplicationCredential { id, secret })?,
        Own::Absent(_) => both(login)?,
        Own::Unknown(message) => {
            keep_secret(korc.recipe, korc.desired, CLOUDS);
            let message = message.clone();
            return Ok(Progress::Unknown { message });
        }
    };
    let works = write(korc.recipe, korc.desired, CLOUDS, values);
    Ok(match (bootstrap, works, own) {
        (Progress::Ready, Progress::Ready, Own::Absent(progress)) if may_create => progress,
        (Progress::Ready, works, _) => works,
        (bootstrap, ..) => bootstrap,
    })
}

/// The clouds.yaml is the user's.
fn given(korc: &Korc<'_>) -> Progress {
    let name = &korc.cloud.secret_name;
    let purpose =
        "the key clouds.yaml: create it, because korc.cloudCredentialsRef names this Secret";
    let read = SecretValues::read(korc.observed, korc.recipe.namespace(), name, purpose);
    progress(&read.and_then(|values| values.text(CLOUDS_YAML).map(drop)))
}

/// K-ORC's own application credential.
enum Own {
    There { id: String, secret: String },
    Absent(Progress),
    Unknown(String),
}

fn own(korc: &mut Korc<'_>, may_create: bool) -> Own {
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
    let state = korc.want(OWN, &body, may_create);
    let key = Key::of::<Made<ApplicationCredential>>(namespace, OWN);
    if korc.desired.wants(&key) {
        let secret = secret_value(BTreeMap::new());
        korc.desired.generate(namespace, OWN_SECRET, secret);
    }
    let id = match (state.id, state.progress) {
        (Some(id), _) => id,
        (None, Progress::Unknown { message }) => return Own::Unknown(message),
        (None, progress) => return Own::Absent(progress),
    };
    let purpose = "the secret of K-ORC's own application credential";
    let read = SecretValues::read(korc.observed, namespace, OWN_SECRET, purpose);
    match read.and_then(|values| values.line("value").map(str::to_owned)) {
        Ok(secret) => Own::There { id, secret },
        Err(Progress::Unknown { message }) => Own::Unknown(message),
        Err(progress) => Own::Absent(progress),
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
