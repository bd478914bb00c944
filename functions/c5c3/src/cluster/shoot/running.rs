//! What a Shoot runs by now. Gardener raises versions by itself, and goes back to none.

use std::cmp::Ordering;

use function_protocol::{Fatal, Request};
use serde::Deserialize;

use super::SHOOT;
use crate::manifest::gardener::MachineImage;
use crate::observed::last_seen;

/// What a Shoot runs, as its Object has seen it last; nothing while it hasn't.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Running {
    spec: Spec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    kubernetes: Kubernetes,
    credentials_binding_name: Option<String>,
    provider: Provider,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Kubernetes {
    version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Provider {
    workers: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Group {
    name: String,
    #[serde(default)]
    machine: Machine,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Machine {
    image: Option<MachineImage>,
}

impl Running {
    /// What the observed Shoot runs.
    ///
    /// # Errors
    /// What was observed isn't a Shoot.
    pub fn of(request: &Request) -> Result<Self, Fatal> {
        Ok(last_seen(request, SHOOT)?.unwrap_or_default())
    }

    /// The version of Kubernetes to ask for where one is wanted.
    pub fn kubernetes(&self, wanted: &str) -> String {
        newest(wanted, self.spec.kubernetes.version.as_deref())
    }

    /// Why the cluster doesn't get the version of Kubernetes that its claim names, if it doesn't.
    pub fn keeps_kubernetes(&self, wanted: Option<&String>) -> Option<String> {
        let wanted = wanted?;
        let version = self.kubernetes(wanted);
        let is_as_wanted = version == *wanted || version.starts_with(&format!("{wanted}."));
        (!is_as_wanted).then(|| {
            format!("the cluster stays at Kubernetes {version}: Gardener can't go back to {wanted}")
        })
    }

    /// The CredentialsBinding that Gardener has put in the place of a SecretBinding.
    pub fn credentials_binding(&self) -> Option<&String> {
        self.spec.credentials_binding_name.as_ref()
    }

    /// The operating system to ask for on a group of machines where one is wanted.
    pub fn image(&self, group: &str, wanted: &MachineImage) -> MachineImage {
        let groups = &self.spec.provider.workers;
        let running = groups
            .iter()
            .find(|running| running.name == group)
            .and_then(|running| running.machine.image.as_ref())
            .filter(|image| image.name == wanted.name)
            .and_then(|image| image.version.as_deref());
        let version = wanted.version.as_deref();
        MachineImage {
            name: wanted.name.clone(),
            version: version.map(|version| newest(version, running)),
        }
    }
}

/// The newer of two versions such as 1.34 and 1.34.2; of two that don't differ as far as both say, the one that says more.
fn newest(wanted: &str, running: Option<&str>) -> String {
    let newest = match (numbers(wanted), running.and_then(numbers)) {
        (Some(left), Some(right)) => {
            let common = left.len().min(right.len());
            match left[..common].cmp(&right[..common]) {
                Ordering::Less => running,
                Ordering::Equal if right.len() > common => running,
                _ => None,
            }
        }
        _ => None,
    };
    newest.unwrap_or(wanted).to_owned()
}

/// Whether a version such as 1.34.2 is another one, such as 1.34, or a newer one.
pub fn is_at_least(version: &str, other: &str) -> bool {
    matches!((numbers(version), numbers(other)), (Some(version), Some(other)) if version >= other)
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn version_is_never_lowered() {
        for (wanted, running, newer) in [
            ("1.33", None, "1.33"),
            ("1.33", Some("1.33.4"), "1.33.4"),
            ("1.33.4", Some("1.33"), "1.33.4"),
            ("1.33", Some("1.34.1"), "1.34.1"),
            ("1.33.9", Some("1.33.10"), "1.33.10"),
            ("1.35", Some("1.34.1"), "1.35"),
            ("1877.3.0", Some("1877.0.0"), "1877.3.0"),
            ("rolling", Some("1877.0.0"), "rolling"),
            ("1.33", Some("rolling"), "1.33"),
        ] {
            assert_eq!(newest(wanted, running), newer, "{wanted} {running:?}");
        }
    }
}
