//! What stays of something that exists, because its owner can't change it while it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Size;

/// A desired value over one that exists: where the owner can't change a field, it keeps what exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept<T> {
    /// The value to apply.
    pub value: T,
    /// The fields that keep what exists, for instance `storageSize: 50Gi instead of 20Gi`.
    pub fields: Vec<String>,
}

impl<T> Kept<T> {
    /// A value of which nothing is kept.
    pub fn nothing(value: T) -> Self {
        Self {
            value,
            fields: Vec::new(),
        }
    }

    /// Converts the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Kept<U> {
        Kept {
            value: change(self.value),
            fields: self.fields,
        }
    }

    /// Says what is kept, for instance `MariaDB keeps replicas: 1 instead of 3`; none where nothing is.
    pub fn sentence(&self, name: &str) -> Option<String> {
        (!self.fields.is_empty()).then(|| format!("{name} keeps {}", self.fields.join(" and ")))
    }
}

/// A volume, as it is desired or as it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Size of the volume.
    pub size: Size,
    /// StorageClass of the volume. Without it the cluster's default.
    pub class: Option<String>,
}

impl Storage {
    /// This volume over one that exists: it may grow, and its StorageClass stays.
    ///
    /// The API server refuses smaller PersistentVolumeClaims and other classes
    /// (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims>).
    #[must_use]
    pub fn kept(self, existing: &Self) -> Kept<Self> {
        self.kept_as("size", existing)
    }

    /// The same, where the field of the size has another name.
    fn kept_as(self, size: &str, existing: &Self) -> Kept<Self> {
        let mut fields = Vec::new();
        let shrinks = self.size.bytes() < existing.size.bytes();
        if shrinks {
            fields.push(format!(
                "{size}: {} instead of {}",
                existing.size, self.size
            ));
        }
        if self.class != existing.class {
            let named = |class: &Option<String>| {
                let class = class.as_deref();
                class.unwrap_or("the cluster's default").to_owned()
            };
            let (running, desired) = (named(&existing.class), named(&self.class));
            fields.push(format!("storageClass: {running} instead of {desired}"));
        }
        let size = match shrinks {
            true => existing.size.clone(),
            false => self.size,
        };
        Kept {
            value: Self {
                size,
                class: existing.class.clone(),
            },
            fields,
        }
    }
}

/// Members of a database or a message bus, as they are desired or as they exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Members {
    /// Number of members.
    pub replicas: u32,
    /// Size of each member's volume.
    pub storage_size: Size,
    /// StorageClass of the volumes. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
}

impl Members {
    /// These members over some that exist. `scales` says whether the owner can change the number of those that exist to the desired
    /// one.
    #[must_use]
    pub fn kept(self, existing: &Self, scales: impl FnOnce(u32, u32) -> bool) -> Kept<Self> {
        let (running, desired) = (existing.replicas, self.replicas);
        let storage = self.storage().kept_as("storageSize", &existing.storage());
        let is_kept = running != desired && !scales(running, desired);
        let replicas = is_kept.then(|| format!("replicas: {running} instead of {desired}"));
        Kept {
            value: Self {
                replicas: if is_kept { running } else { desired },
                storage_size: storage.value.size,
                storage_class: storage.value.class,
            },
            fields: replicas.into_iter().chain(storage.fields).collect(),
        }
    }

    /// The volume of each.
    fn storage(&self) -> Storage {
        Storage {
            size: self.storage_size.clone(),
            class: self.storage_class.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(size: &str, class: Option<&str>) -> Storage {
        Storage {
            size: size.parse().unwrap(),
            class: class.map(str::to_owned),
        }
    }

    fn kept(desired: Storage, existing: &Storage) -> (Storage, String) {
        let kept = desired.kept(existing);
        (kept.value, kept.fields.join(", "))
    }

    #[test]
    fn storage_grows_and_keeps_its_class() {
        let existing = storage("50Gi", Some("fast"));
        assert_eq!(
            kept(storage("100Gi", Some("fast")), &existing),
            (storage("100Gi", Some("fast")), String::new())
        );
        assert_eq!(
            kept(storage("20Gi", Some("fast")), &existing),
            (existing.clone(), "size: 50Gi instead of 20Gi".to_owned())
        );
        assert_eq!(
            kept(storage("60Gi", Some("slow")), &existing),
            (
                storage("60Gi", Some("fast")),
                "storageClass: fast instead of slow".to_owned()
            )
        );
    }

    #[test]
    fn storage_keeps_its_class_where_the_default_was_or_is_desired() {
        let message = "storageClass: the cluster's default instead of fast".to_owned();
        assert_eq!(
            kept(storage("1Gi", Some("fast")), &storage("1Gi", None)),
            (storage("1Gi", None), message)
        );
        let message = "storageClass: fast instead of the cluster's default".to_owned();
        assert_eq!(
            kept(storage("1Gi", None), &storage("1Gi", Some("fast"))),
            (storage("1Gi", Some("fast")), message)
        );
    }

    #[test]
    fn storage_of_the_same_size_in_other_words_is_not_kept() {
        assert_eq!(
            kept(storage("1024Mi", None), &storage("1Gi", None)),
            (storage("1024Mi", None), String::new())
        );
    }

    #[test]
    fn members_stay_where_their_owner_can_not_change_their_number() {
        let members = |replicas, size: &str| Members {
            replicas,
            storage_size: size.parse().unwrap(),
            storage_class: None,
        };
        let existing = members(3, "20Gi");
        let grows = |running: u32, desired: u32| desired > running;
        let kept = members(1, "10Gi").kept(&existing, grows);
        assert_eq!(kept.value, existing);
        assert_eq!(
            kept.sentence("RabbitMQ").unwrap(),
            "RabbitMQ keeps replicas: 3 instead of 1 and storageSize: 20Gi instead of 10Gi"
        );
        let kept = members(5, "30Gi").kept(&existing, grows);
        assert_eq!(kept, Kept::nothing(members(5, "30Gi")));
        assert_eq!(kept.sentence("RabbitMQ"), None);
    }
}
