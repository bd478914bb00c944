//! Secrets of which each replaces the one before.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Generated, Key, ObservedState, Resource};

use crate::digest::digest;
use crate::prerequisite::Prerequisite;
use crate::rotations::{number, numbered};

/// Label of a generated Secret: a digest of the name of the first.
const REPLACES: &str = "c5c3.io/replaces";

/// The Secrets of a credential: the first, for instance `glance-db-credentials`, and those that were generated after it, for instance
/// `glance-db-credentials-2`. A Secret never changes.
pub struct Succession<'a> {
    namespace: &'a str,
    first: &'a str,
    generated: BTreeSet<u32>,
}

impl<'a> Succession<'a> {
    /// Observes the Secrets whose first has this name.
    ///
    /// # Errors
    /// They can't be read.
    pub fn of(
        observed: &ObservedState<'_>,
        namespace: &'a str,
        first: &'a str,
    ) -> Prerequisite<Self> {
        let label = digest([first]);
        let keys = observed.keys(Secret::KIND, namespace, &[(REPLACES, &label)]);
        let keys = keys.or_default()?;
        let generated = keys.iter().filter_map(|key| number(first, &key.name));
        Ok(Self {
            namespace,
            first,
            generated: generated.collect(),
        })
    }

    /// The number of the newest.
    pub fn newest(&self) -> u32 {
        self.generated.last().copied().unwrap_or(1)
    }

    /// The numbers of all generated ones.
    pub fn generated(&self) -> impl Iterator<Item = u32> + '_ {
        self.generated.iter().copied()
    }

    /// The numbers of all that the newest replaces.
    pub fn older(&self) -> impl Iterator<Item = u32> + '_ {
        let newest = self.newest();
        let all = self.generated().chain([1]);
        all.filter(move |number| *number < newest)
    }

    /// The name of the Secret with this number.
    pub fn secret(&self, number: u32) -> String {
        secret_of(self.first, number)
    }

    /// The number of the Secret with this name.
    pub fn number(&self, secret: &str) -> Option<u32> {
        match secret == self.first {
            true => Some(1),
            false => number(self.first, secret),
        }
    }

    /// Keeps a generated Secret.
    pub fn keep(&self, number: u32, desired: &mut DesiredState) {
        desired.keep(Key::of::<Secret>(self.namespace, &self.secret(number)));
    }

    /// Generates a Secret that replaces the newest.
    pub fn generate(&self, number: u32, mut generated: Generated, desired: &mut DesiredState) {
        let label = digest([self.first]);
        generated.labels.insert(REPLACES.to_owned(), label);
        desired.generate(self.namespace, &self.secret(number), generated);
    }
}

/// The Secret with this number, where the first has this name.
pub fn secret_of(first: &str, number: u32) -> String {
    match number {
        1 => first.to_owned(),
        _ => numbered(first, number),
    }
}
