//! What the parts of the catalogue share: wanting objects of K-ORC, reading what K-ORC says of them, asking Keystone.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Condition;
use c5c3_api::control_plane::CloudCredentialsRef;
use c5c3_kinds::korc::{Image, Managed};
use provider_composer::{
    DesiredState, ExternalRequest, Key, Lookup, ObservedState, Progress, Reason, Resource,
    SecretValues,
};
use serde::Serialize;
use serde_json::Value;

use crate::Recipe;
use crate::credentials::keystone::{Access, Answer, Call, Change, HandedOut, Query, SYSTEM, Scope};
use crate::credentials::{CA, CLOUD, CLOUDS_YAML, VOLUMES};

/// The project in the domain Default that service users work in.
pub(super) const PROJECT: &str = "service";
/// Secret with the clouds.yaml that K-ORC works with.
pub(super) const CLOUDS: &str = "k-orc-clouds";

/// K-ORC's condition about the last download.
const DOWNLOADING: &str = "Downloading";
/// What K-ORC says of a checksum that differs
/// (<https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/internal/controllers/image/upload.go>).
const MISMATCH: &str = "download hash verification failed";

/// The catalogue being composed.
pub(super) struct Korc<'a> {
    pub(super) recipe: &'a Recipe<'a>,
    pub(super) observed: &'a ObservedState<'a>,
    pub(super) desired: &'a mut DesiredState,
    /// The clouds.yaml that K-ORC works with.
    pub(super) cloud: CloudCredentialsRef,
}

/// What K-ORC says of an object.
pub(super) struct State {
    /// Its ID in Keystone, if it can be used.
    pub(super) id: Option<String>,
    /// How far it has come.
    pub(super) progress: Progress,
    /// K-ORC's message, if it doesn't try again to create the object, or to change one that can be used.
    pub(super) given_up: Option<String>,
}

impl<'a> Korc<'a> {
    pub(super) fn new(recipe: &'a Recipe<'a>, desired: &'a mut DesiredState) -> Self {
        let own = || CloudCredentialsRef {
            cloud_name: CLOUD.to_owned(),
            secret_name: CLOUDS.to_owned(),
        };
        let cloud = recipe.korc.cloud_credentials_ref.clone();
        Self {
            recipe,
            observed: recipe.observed,
            desired,
            cloud: cloud.unwrap_or_else(own),
        }
    }

    /// The cloud that K-ORC uses Cinder and Nova by. Of a clouds.yaml that users bring, it is the one that they name.
    pub(super) fn services(&self) -> CloudCredentialsRef {
        let cloud = self.cloud.clone();
        match self.recipe.korc.cloud_credentials_ref {
            Some(_) => cloud,
            None => CloudCredentialsRef {
                cloud_name: VOLUMES.to_owned(),
                ..cloud
            },
        }
    }

    /// Wants an object of K-ORC: a new one only if `may_create`, one that exists in any case.
    pub(super) fn want<T: Resource + Serialize>(
        &mut self,
        name: &str,
        body: &T,
        may_create: bool,
    ) -> State {
        let namespace = self.recipe.namespace();
        let key = Key::of::<T>(namespace, name);
        match self.observed.object(&key) {
            Lookup::Found(object) => {
                self.desired.apply(namespace, name, body);
                let state = self.state(&key, &object);
                self.retried(&key, &object, state)
            }
            Lookup::Missing => {
                if may_create {
                    self.desired.apply(namespace, name, body);
                }
                State {
                    id: None,
                    progress: waiting(&key, "it doesn't exist yet"),
                    given_up: None,
                }
            }
            Lookup::Unknown(message) => {
                self.desired.keep(key);
                State {
                    id: None,
                    progress: Progress::Unknown { message },
                    given_up: None,
                }
            }
        }
    }

    /// The ID of an object of K-ORC, if it has one.
    pub(super) fn id<T: Resource>(&self, name: &str) -> Option<String> {
        let key = Key::of::<T>(self.recipe.namespace(), name);
        let object = self.observed.object(&key).found()?;
        self.state(&key, &object).id
    }

    fn state(&self, key: &Key, object: &Value) -> State {
        let condition = |type_| self.observed.condition(key, type_);
        let id = object.pointer("/status/id").and_then(Value::as_str);
        let id = id.filter(|id| !id.is_empty());
        let (available, progressing) = (condition("Available"), condition("Progressing"));
        let given_up = match &progressing {
            Lookup::Found(Some(it)) if is_final(&it.reason) => Some(it.message.clone()),
            _ => None,
        };
        if let (Some(id), Lookup::Found(Some(available))) = (id, &available)
            && available.status == "True"
        {
            return State {
                id: Some(id.to_owned()),
                progress: Progress::Ready,
                given_up,
            };
        }
        let why = |it: &Condition| match key.kind == Image::KIND {
            true => {
                let downloading = condition(DOWNLOADING).found().flatten();
                why_image_is_unready(key, it, downloading.as_ref())
            }
            false => it.message.clone(),
        };
        let progress = match (available, progressing) {
            (Lookup::Unknown(message), _) | (_, Lookup::Unknown(message)) => {
                Progress::Unknown { message }
            }
            (_, Lookup::Found(Some(it))) if is_final(&it.reason) => {
                let message = format!(
                    "K-ORC gave up on {key}: {}; correct the cause, then delete {key} to retry",
                    why(&it)
                );
                Progress::failed(Reason::RefusedByKORC, message)
            }
            (_, Lookup::Found(Some(it))) => waiting(key, &why(&it)),
            (_, Lookup::Found(None) | Lookup::Missing) => {
                waiting(key, "K-ORC hasn't reconciled it yet")
            }
        };
        State {
            id: None,
            progress,
            given_up,
        }
    }

    /// What Keystone says of the roles in the project of the services, of the endpoints, of application credentials, and of users that must be
    /// exempt; or why that isn't known.
    pub(super) fn answer(
        &self,
        credentials: BTreeMap<String, HandedOut>,
        exempt: BTreeSet<String>,
    ) -> Result<Answer, Progress> {
        self.ask(|access| Query {
            access,
            scope: Scope::Named(PROJECT.to_owned()),
            user: None,
            credentials,
            exempt,
        })
    }

    /// What Keystone says of the roles that the user with an ID has in a project or domain; or why that isn't known.
    pub(super) fn roles_of(&self, user: &str, scope: Scope) -> Result<Answer, Progress> {
        self.ask(|access| Query {
            access,
            scope,
            user: Some(user.to_owned()),
            credentials: BTreeMap::new(),
            exempt: BTreeSet::new(),
        })
    }

    fn ask(&self, query: impl FnOnce(Access) -> Query) -> Result<Answer, Progress> {
        let access = self.access();
        let query = query(access.map_err(|progress| Progress::unknown(progress.message()))?);
        let answer = self.observed.external(ExternalRequest::new(SYSTEM, &query));
        let answer = answer.parsed(|_| "Keystone's answer can't be understood".to_owned());
        answer.or_default()
    }

    /// Changes something in Keystone.
    pub(super) fn change(&mut self, change: Change) {
        if let Ok(access) = self.access() {
            let call = Call { access, change };
            self.desired.call(ExternalRequest::new(SYSTEM, &call));
        }
    }

    /// How Keystone is reached as K-ORC does.
    pub(super) fn access(&self) -> Result<Access, Progress> {
        let name = &self.cloud.secret_name;
        let purpose = "the clouds.yaml that K-ORC works with";
        let values = SecretValues::read(self.observed, self.recipe.namespace(), name, purpose)?;
        Ok(Access {
            clouds: values.text(CLOUDS_YAML)?.to_owned(),
            cloud: self.cloud.cloud_name.clone(),
            ca: values.optional_text(CA)?.map(str::to_owned),
        })
    }
}

/// Reasons for which K-ORC doesn't try again until the spec changes (its api/v1alpha1/conditions.go).
fn is_final(reason: &str) -> bool {
    matches!(reason, "InvalidConfiguration" | "UnrecoverableError")
}

/// Returns why an image isn't ready, without K-ORC's own text, which can have checksums, addresses inside the platform, and signed URLs
/// that a redirect led to.
fn why_image_is_unready(
    key: &Key,
    progressing: &Condition,
    downloading: Option<&Condition>,
) -> String {
    let failed = downloading.filter(|it| it.status == "False" && it.reason != "Success");
    match failed {
        Some(it) if it.message.contains(MISMATCH) => {
            "its checksum differs from that of the downloaded file".to_owned()
        }
        None if !is_final(&progressing.reason) && progressing.reason != "TransientError" => {
            "it isn't in Glance yet, and K-ORC downloads one image at a time".to_owned()
        }
        _ => format!("the download failed: {}", details(key)),
    }
}

/// Returns where the details about an image are.
pub(super) fn details(key: &Key) -> String {
    format!(
        "see `kubectl describe image {} -n {}`",
        key.name,
        key.namespace.as_deref().unwrap_or_default()
    )
}

pub(super) fn waiting(key: &Key, why: &str) -> Progress {
    let message = format!("waits for {key} of K-ORC: {why}");
    Progress::waiting(Reason::WaitingFor("KORC"), message)
}
