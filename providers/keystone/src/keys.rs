//! The Secrets of keys: one for each key, generated once, and one that the pods mount.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    DesiredState, Generated, GeneratedValue, Key, Live, Lookup, Progress, Reason, Retention,
    label_pairs,
};
use provider_openstack::{Prerequisite, Service, opaque};

use crate::keyring::{Keyring, Rules};

/// Annotation of the Secret that the pods see: which keys are in it, and since when.
const KEYRING: &str = "keystone.openstack.c5c3.io/keyring";
/// Label of a Secret with one key: the repository that it is for.
const REPOSITORY: &str = "keystone.openstack.c5c3.io/key-of";
/// Key of a Secret with one key.
const KEY: &str = "key";

/// What keys are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tokens. A key that no token needs any more is deleted.
    Tokens,
    /// Credentials in the database. Its keys stay, as the database does: without them the data is lost.
    Credentials,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Tokens => "fernet",
            Self::Credentials => "credential",
        }
    }

    fn retention(self) -> Retention {
        match self {
            Self::Tokens => Retention::WhileWanted,
            Self::Credentials => Retention::Forever,
        }
    }

    /// The condition that is only there, and False, while single keys differ from those of the pods.
    fn saved(self) -> &'static str {
        match self {
            Self::Tokens => "FernetKeysSaved",
            Self::Credentials => "CredentialKeysSaved",
        }
    }

    /// Name of the Secret that the pods see.
    pub fn mounted(self, service: &Service<'_>) -> String {
        service.named(&format!("{}-keys", self.name()))
    }

    fn single(self, service: &Service<'_>, number: u32) -> String {
        service.named(&format!("{}-key-{number}", self.name()))
    }
}

/// The keys of one repository as they are. Their values are never shown.
pub struct Keys {
    purpose: Purpose,
    ring: Option<Keyring>,
    values: BTreeMap<u32, Vec<u8>>,
}

impl Keys {
    /// Reads the keys. The Secret of the pods is authoritative; where it is lost, it is composed again from the single
    /// keys.
    ///
    /// # Errors
    /// They can't be read, or it would be composed without one of them, or data that is encrypted with them could never be read
    /// again; then they are left as they are.
    pub fn read(
        service: &Service<'_>,
        purpose: Purpose,
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        let mounted = purpose.mounted(service);
        let singles = singles(service, purpose);
        let (mounted, singles) = match (service.get::<Secret>(&mounted), singles) {
            (Lookup::Unknown(message), singles) => {
                let numbers = singles.found().unwrap_or_default().into_keys();
                keep_secrets(service, purpose, numbers, desired);
                return Err(Progress::Unknown { message });
            }
            (_, Lookup::Unknown(message)) => {
                keep_secrets(service, purpose, [], desired);
                return Err(Progress::Unknown { message });
            }
            (mounted, singles) => (mounted.found(), singles.found().unwrap_or_default()),
        };
        let mut numbers = singles.iter();
        let empty = numbers.find(|(_, key)| key.is_none() && mounted.is_none());
        if let Some((number, _)) = empty {
            let message = format!(
                "Secret {} has no value under the key {KEY}, and nothing else has this key: write the value again, or delete the Secret \
                 to do without what the key has encrypted",
                purpose.single(service, *number)
            );
            keep_secrets(service, purpose, singles.into_keys(), desired);
            return Err(Progress::failed(Reason::InvalidSecret, message));
        }
        let files = mounted.as_ref().map(files).unwrap_or_default();
        let annotated = mounted.as_ref().and_then(annotated);
        let seen: BTreeMap<u32, Vec<u8>> = match &annotated {
            Some(ring) => {
                let numbers = ring.files().into_iter();
                numbers
                    .filter_map(|(file, number)| Some((number, files.get(&file)?.clone())))
                    .collect()
            }
            None => numbered(&files),
        };
        let wrong: Vec<_> = singles
            .iter()
            .filter(|(number, key)| {
                seen.get(number)
                    .is_some_and(|seen| key.as_ref() != Some(seen))
            })
            .map(|(number, _)| purpose.single(service, *number))
            .collect();
        if !wrong.is_empty() {
            let saved = differing(&wrong, &purpose.mounted(service));
            desired.conditions.note(purpose.saved(), &saved);
        }
        let saved = singles.into_iter();
        let mut values: BTreeMap<u32, Vec<u8>> = saved
            .filter_map(|(number, key)| Some((number, key?)))
            .collect();
        values.extend(seen);
        let ring = annotated.or_else(|| {
            let known: Vec<u32> = values.keys().copied().collect();
            // The operator ended between the first two keys, which no pod has seen.
            let is_unfinished = mounted.is_none() && known == [1] && service.installed.is_none();
            Keyring::restored(&known, service.observed.now()).filter(|_| !is_unfinished)
        });
        let keys = Self {
            purpose,
            ring,
            values,
        };
        let are_there = keys.ring().is_some_and(|ring| keys.has_all_of(ring));
        if purpose == Purpose::Credentials && service.installed.is_some() && !are_there {
            keep_secrets(service, purpose, keys.values.into_keys(), desired);
            return Err(lost(service));
        }
        Ok(keys)
    }

    /// Whether each key of a ring has its value.
    fn has_all_of(&self, ring: &Keyring) -> bool {
        ring.numbers()
            .all(|number| self.values.contains_key(&number))
    }

    /// Which keys the pods see, if they see any.
    pub fn ring(&self) -> Option<&Keyring> {
        self.ring.as_ref()
    }

    /// Rotates the keys by the rules, and returns whether the pods can have them. A new key is made first, and shown to the
    /// pods when it is there.
    pub fn rotate(
        self,
        service: &Service<'_>,
        rules: &Rules<'_>,
        desired: &mut DesiredState,
    ) -> Progress {
        let now = service.observed.now();
        let next = match &self.ring {
            Some(ring) => ring.rotated(rules, now),
            None => Keyring::first(now),
        };
        let wanted: BTreeSet<u32> = next
            .numbers()
            .chain(self.ring.iter().flat_map(Keyring::numbers))
            .collect();
        let is_there = self.has_all_of(&next);
        let shown = match is_there {
            true => Some(next),
            false => self.ring.clone(),
        };
        // What goes, goes when the pods don't see it any more.
        let still = wanted.iter().filter(|number| {
            !is_there
                || shown
                    .iter()
                    .any(|ring| ring.numbers().any(|shown| shown == **number))
        });
        for number in still {
            let value = match self.values.get(number) {
                Some(key) => GeneratedValue::Known(key.clone()),
                None => GeneratedValue::Key(32),
            };
            let generated = Generated {
                values: BTreeMap::from([(KEY.to_owned(), value)]),
                labels: labels(service, self.purpose),
                retention: self.purpose.retention(),
                is_immutable: false,
            };
            desired.generate(
                service.namespace,
                &self.purpose.single(service, *number),
                generated,
            );
        }
        let Some(ring) = shown else {
            let message = format!(
                "waits for Secret {} to be created",
                self.purpose.single(service, 1)
            );
            return Progress::waiting(Reason::WaitingFor("Keys"), message);
        };
        if let Some(due) = ring.due(rules, now) {
            desired.requeue_at(due);
        }
        let secret = self.mounted(service, &ring, desired);
        desired.apply(service.namespace, &self.purpose.mounted(service), &secret);
        Progress::Ready
    }

    fn mounted(&self, service: &Service<'_>, ring: &Keyring, desired: &mut DesiredState) -> Secret {
        let written = desired.json("the keys' times", ring).to_string();
        let mut metadata = service.metadata(self.purpose.name());
        metadata.annotations = Some(BTreeMap::from([(KEYRING.to_owned(), written)]));
        let files = ring.files().into_iter();
        let data = files.filter_map(|(file, number)| {
            Some((file.to_string(), self.values.get(&number)?.clone()))
        });
        opaque(metadata, data)
    }
}

/// Keys of credentials that no Secret has any more, though the database may have what they encrypted. Pods that run still have
/// them, and would get others in their place.
fn lost(service: &Service<'_>) -> Progress {
    let purpose = Purpose::Credentials;
    let message = format!(
        "waits for keys of credentials, which neither Secret {} nor Secrets {}-<number> have any more, and without which nobody can read \
         the credentials in the database: delete no pod, and restore them as \"Keys of Keystone's credentials that are lost\" in \
         docs/operations.md says",
        purpose.mounted(service),
        service.named(&format!("{}-key", purpose.name()))
    );
    Progress::waiting(Reason::WaitingFor("Keys"), message)
}

/// Secrets with single keys that don't have the keys of the pods. Backups have only these, and the Secret of the pods is made of them if it
/// is lost.
fn differing(singles: &[String], mounted: &str) -> Progress {
    let message = format!(
        "Secrets {} don't have the keys of Secret {mounted}, which Keystone uses and backups lack: save all of them in another place, then \
         delete the former, which are written again with Keystone's keys, or, if these were restored with the database, delete {mounted}",
        singles.join(", ")
    );
    Progress::failing(Reason::KeysDiffer, message)
}

fn labels(service: &Service<'_>, purpose: Purpose) -> BTreeMap<String, String> {
    let mut labels = service.identity();
    labels.insert(REPOSITORY.to_owned(), purpose.name().to_owned());
    labels
}

/// The single keys by number; none where a Secret lost its value.
fn singles(service: &Service<'_>, purpose: Purpose) -> Lookup<BTreeMap<u32, Option<Vec<u8>>>> {
    let labels = labels(service, purpose);
    let prefix = service.named(&format!("{}-key-", purpose.name()));
    let number = |secret: &Live<Secret>| secret.metadata.name.strip_prefix(&prefix)?.parse().ok();
    service
        .list::<Secret>(&label_pairs(&labels))
        .map(|secrets| {
            let keys = secrets.into_iter().filter_map(|secret| {
                let number = number(&secret)?;
                let key = secret.body.data.and_then(|mut data| data.remove(KEY));
                let key = key.map(|key| key.0).filter(|key| !key.is_empty());
                Some((number, key))
            });
            keys.collect()
        })
}

fn keep_secrets(
    service: &Service<'_>,
    purpose: Purpose,
    numbers: impl IntoIterator<Item = u32>,
    desired: &mut DesiredState,
) {
    let names = numbers
        .into_iter()
        .map(|number| purpose.single(service, number));
    for name in names.chain([purpose.mounted(service)]) {
        desired.keep(Key::of::<Secret>(service.namespace, &name));
    }
}

fn annotated(mounted: &Live<Secret>) -> Option<Keyring> {
    serde_json::from_str(mounted.metadata.annotations.get(KEYRING)?).ok()
}

/// The keys by their files. An empty file is none: Keystone ignores it.
fn files(mounted: &Live<Secret>) -> BTreeMap<u32, Vec<u8>> {
    let data = mounted.body.data.iter().flatten();
    let data = data.filter(|(_, value)| !value.0.is_empty());
    data.filter_map(|(file, value)| Some((file.parse().ok()?, value.0.clone())))
        .collect()
}

/// Keys by number, where only the files are known: the staged one, in file 0, comes after all others.
fn numbered(files: &BTreeMap<u32, Vec<u8>>) -> BTreeMap<u32, Vec<u8>> {
    let last = files.keys().next_back().copied().unwrap_or_default();
    let staged_is_new = files.get(&0) != files.get(&last);
    let keys = files.iter().filter(|(file, _)| **file > 0 || staged_is_new);
    keys.map(|(file, value)| (if *file == 0 { last + 1 } else { *file }, value.clone()))
        .collect()
}
