//! Claims of volumes.

use std::sync::Arc;

use c5c3_api::parts::{self, Kept, Size, SizeError, Storage};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Lookup, ObservedState, Progress, Reason, ResourceKind};
use serde_json::Value;

/// The claim of a volume of this size. Without a StorageClass it has the cluster's default.
pub fn claim(
    metadata: ObjectMeta,
    access_mode: &str,
    size: &Size,
    storage_class: Option<String>,
) -> PersistentVolumeClaim {
    let size = Quantity(size.to_string());
    PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![access_mode.to_owned()]),
            storage_class_name: storage_class,
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), size)].into()),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}

/// Composes the claim of a volume that outlasts its owner, over one that may exist. The condition `SizeAccepted` says what is kept of it,
/// and is only set then.
pub fn lasting_volume(
    key: &Key,
    metadata: ObjectMeta,
    access_mode: &str,
    storage: Storage,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) {
    let progress = match kept_volume(observed, key, storage) {
        Ok(kept) => {
            let sentence = kept.sentence(&key.to_string());
            let Storage { size, class } = kept.value;
            let claim = claim(metadata, access_mode, &size, class);
            let namespace = key.namespace.as_deref().unwrap_or_default();
            desired.apply_unowned(namespace, &key.name, &claim);
            sentence.map(|sentence| {
                let message = format!(
                    "{sentence}: volumes don't shrink and keep their StorageClass. Set the former values"
                );
                Progress::failed(Reason::Unsupported, message)
            })
        }
        Err(message) => {
            desired.keep(key.clone());
            Some(Progress::Unknown { message })
        }
    };
    if let Some(progress) = progress {
        desired.conditions.note("SizeAccepted", &progress);
    }
}

/// A claim that exists.
pub struct Claimed {
    key: Key,
    object: Arc<Value>,
}

impl Claimed {
    /// The claim; none where there is none.
    ///
    /// # Errors
    /// It can't be read. The message says why.
    pub fn find(observed: &ObservedState<'_>, claim: &Key) -> Result<Option<Self>, String> {
        let Some(object) = observed.object(claim).known()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            key: claim.clone(),
            object,
        }))
    }

    /// Returns its key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Whether it is being deleted. It stays while a pod uses it.
    pub fn is_being_deleted(&self) -> bool {
        self.text("/metadata/deletionTimestamp").is_some()
    }

    /// Whether an object of this kind owns it. Kubernetes deletes it after its owner.
    pub fn is_owned_by(&self, kind: ResourceKind) -> bool {
        let owners = self.object.pointer("/metadata/ownerReferences");
        let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
        owners.any(|owner| owner["kind"] == kind.kind)
    }

    /// The size that it asks for.
    ///
    /// # Errors
    /// It isn't written as sizes are here. The message says so.
    pub fn size(&self) -> Result<Size, String> {
        let size = self.text("/spec/resources/requests/storage");
        let size: Result<Size, SizeError> = size.unwrap_or_default().parse();
        size.map_err(|error| format!("{}: {error}", self.key))
    }

    fn class(&self) -> Option<&str> {
        self.text("/spec/storageClassName")
    }

    /// Says why it can't grow; none where it can. The API server lets bound claims grow whose StorageClass allows it
    /// (<https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#persistentvolumeclaimresize>).
    ///
    /// # Errors
    /// Its StorageClass can't be read. The message says why.
    pub fn fixed(&self, observed: &ObservedState<'_>) -> Result<Option<String>, String> {
        if !self.is_bound() {
            return Ok(Some(format!(
                "{} can't grow before it is bound, when its first pod starts",
                self.key
            )));
        }
        let Some(name) = self.class().filter(|name| !name.is_empty()) else {
            return Ok(Some(format!("{} has no StorageClass", self.key)));
        };
        match observed.body::<StorageClass>("", name) {
            Lookup::Found(class) if class.allow_volume_expansion == Some(true) => Ok(None),
            Lookup::Found(_) => Ok(Some(format!(
                "allowVolumeExpansion of StorageClass {name} isn't true"
            ))),
            Lookup::Missing => Ok(Some(format!("there is no StorageClass {name}"))),
            Lookup::Unknown(why) => Err(why),
        }
    }

    /// Whether it has a volume.
    pub fn is_bound(&self) -> bool {
        self.text("/status/phase") == Some("Bound")
    }

    /// Whether the volume that it was bound to doesn't exist any more
    /// (<https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/>).
    pub fn is_lost(&self) -> bool {
        self.text("/status/phase") == Some("Lost")
    }

    /// Whether the volume hasn't grown yet to what was asked for, `existing`, and may get this lower size instead
    /// (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#recovering-from-failure-when-expanding-volumes>). Kubernetes
    /// 1.31 refuses that, and doesn't have the status of the expansion.
    fn recovers(&self, existing: &Size, size: &Size) -> bool {
        let expansion = "/status/allocatedResourceStatuses/storage";
        let capacity = self.text("/status/capacity/storage");
        let capacity = capacity.and_then(|capacity| capacity.parse::<parts::Quantity>().ok());
        self.text(expansion).is_some()
            && size.bytes() < existing.bytes()
            && capacity.is_some_and(|capacity| size.bytes() > capacity.bytes())
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.object.pointer(pointer)?.as_str()
    }
}

/// A volume over the claim that may exist: a bound claim grows where its StorageClass allows it, and keeps its class. Where no class is
/// desired, every class is right: the API server sets the default one. A claim without a class may get one until it is bound.
///
/// # Errors
/// The claim, or the StorageClass of one that is to grow, can't be read. The message says why, and the claim must stay as it is.
pub fn kept_volume(
    observed: &ObservedState<'_>,
    claim: &Key,
    mut desired: Storage,
) -> Result<Kept<Storage>, String> {
    let Some(claimed) = Claimed::find(observed, claim)? else {
        return Ok(Kept::nothing(desired));
    };
    let mut existing = Storage {
        size: claimed.size()?,
        class: claimed.class().map(str::to_owned),
    };
    if desired.class.is_none() {
        desired.class.clone_from(&existing.class);
    } else if existing.class.is_none() && !claimed.is_bound() {
        existing.class.clone_from(&desired.class);
    }
    if claimed.recovers(&existing.size, &desired.size) {
        existing.size.clone_from(&desired.size);
    }
    let mut kept = desired.kept(&existing);
    if kept.value.size.bytes() > existing.size.bytes()
        && let Some(why) = claimed.fixed(observed)?
    {
        let (running, desired) = (&existing.size, &kept.value.size);
        let field = format!("size: {running} instead of {desired}, since {why}");
        kept.fields.push(field);
        kept.value.size = existing.size;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use provider_composer_testing::Cluster;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const CLAIM: &str = "backups";

    fn key() -> Key {
        Key::of::<PersistentVolumeClaim>("openstack", CLAIM)
    }

    /// A cluster with the bound claim of a volume of 50Gi, and a class that lets volumes grow as well as one that doesn't.
    fn cluster(class: Option<&str>) -> Cluster {
        let mut cluster = Cluster::default();
        let requests = json!({ "requests": { "storage": "50Gi" } });
        let mut spec = json!({ "resources": requests });
        if let Some(class) = class {
            spec["storageClassName"] = json!(class);
        }
        cluster.put(&key(), &json!({ "spec": spec }));
        let status = json!({ "phase": "Bound", "capacity": { "storage": "50Gi" } });
        cluster.set_status(&key(), status);
        for (name, grows) in [("fast", true), ("local", false)] {
            let class = Key::of::<StorageClass>("", name);
            let body = json!({ "provisioner": "test", "allowVolumeExpansion": grows });
            cluster.put(&class, &body);
        }
        cluster
    }

    fn kept(
        cluster: &Cluster,
        size: &str,
        class: Option<&str>,
    ) -> Result<(String, Option<String>, String), String> {
        let desired = Storage {
            size: size.parse().unwrap(),
            class: class.map(str::to_owned),
        };
        let observed = ObservedState::new(cluster, cluster.now());
        let kept = kept_volume(&observed, &key(), desired)?;
        let Storage { size, class } = kept.value;
        Ok((size.to_string(), class, kept.fields.join(", ")))
    }

    #[rstest]
    #[case::grows("fast", "100Gi", Some("fast"), "100Gi", "")]
    #[case::any_class("fast", "50Gi", None, "50Gi", "")]
    #[case::shrinks("fast", "20Gi", None, "50Gi", "size: 50Gi instead of 20Gi")]
    #[case::other_class(
        "fast",
        "50Gi",
        Some("slow"),
        "50Gi",
        "storageClass: fast instead of slow"
    )]
    #[case::fixed_class(
        "local",
        "100Gi",
        None,
        "50Gi",
        "size: 50Gi instead of 100Gi, since allowVolumeExpansion of StorageClass local isn't true"
    )]
    #[case::lost_class(
        "lost",
        "100Gi",
        None,
        "50Gi",
        "size: 50Gi instead of 100Gi, since there is no StorageClass lost"
    )]
    fn volume_that_exists_keeps_what_the_api_server_refuses_to_change(
        #[case] existing: &str,
        #[case] size: &str,
        #[case] class: Option<&str>,
        #[case] applied: &str,
        #[case] fields: &str,
    ) {
        assert_eq!(
            kept(&cluster(Some(existing)), size, class),
            Ok((
                applied.to_owned(),
                Some(existing.to_owned()),
                fields.to_owned()
            ))
        );
    }

    /// A bound one has a volume without a class. One that isn't bound may get a class, as the API server itself gives it one.
    #[test]
    fn volume_without_a_class_gets_one_until_it_is_bound() {
        let mut cluster = cluster(None);
        let since = "since PersistentVolumeClaim backups has no StorageClass";
        let message = format!("size: 50Gi instead of 60Gi, {since}");
        let fixed = Ok(("50Gi".to_owned(), None, message));
        assert_eq!(kept(&cluster, "60Gi", None), fixed);
        let message = "storageClass: the cluster's default instead of fast".to_owned();
        let moved = Ok(("50Gi".to_owned(), None, message));
        assert_eq!(kept(&cluster, "50Gi", Some("fast")), moved);

        cluster.set_status(&key(), json!({ "phase": "Pending" }));
        let given = Ok(("50Gi".to_owned(), Some("fast".to_owned()), String::new()));
        assert_eq!(kept(&cluster, "50Gi", Some("fast")), given);
    }

    /// With WaitForFirstConsumer that is when the first Job runs.
    #[test]
    fn volume_does_not_grow_before_it_is_bound() {
        let mut cluster = cluster(Some("fast"));
        for status in [json!({ "phase": "Pending" }), json!({})] {
            cluster.set_status(&key(), status);
            let (size, _, fields) = kept(&cluster, "60Gi", None).unwrap();
            assert_eq!(size, "50Gi");
            let since = "since PersistentVolumeClaim backups can't grow before it is bound, when its first pod starts";
            assert_eq!(fields, format!("size: 50Gi instead of 60Gi, {since}"));
        }
        cluster.set_status(&key(), json!({ "phase": "Bound" }));
        let (size, _, fields) = kept(&cluster, "60Gi", None).unwrap();
        assert_eq!((&*size, &*fields), ("60Gi", ""));
    }

    #[rstest]
    #[case::to_what_it_has("20Gi", "50Gi", "size: 50Gi instead of 20Gi")]
    #[case::to_more_than_it_has("21Gi", "21Gi", "")]
    fn volume_that_could_not_grow_gets_less(
        #[case] size: &str,
        #[case] applied: &str,
        #[case] fields: &str,
    ) {
        let mut cluster = cluster(Some("fast"));
        let mut status = json!({ "phase": "Bound", "capacity": { "storage": "20Gi" } });
        cluster.set_status(&key(), status.clone());
        let (kept_size, _, kept_fields) = kept(&cluster, size, None).unwrap();
        let message = format!("size: 50Gi instead of {size}");
        assert_eq!((kept_size, kept_fields), ("50Gi".to_owned(), message));

        status["allocatedResourceStatuses"] = json!({ "storage": "ControllerResizeInfeasible" });
        cluster.set_status(&key(), status);
        let (kept_size, _, kept_fields) = kept(&cluster, size, None).unwrap();
        assert_eq!((&*kept_size, &*kept_fields), (applied, fields));
    }

    #[test]
    fn volume_that_does_not_exist_is_as_desired() {
        assert_eq!(
            kept(&Cluster::default(), "1Gi", Some("slow")),
            Ok(("1Gi".to_owned(), Some("slow".to_owned()), String::new()))
        );
    }

    #[test]
    fn volume_that_can_not_be_read_is_not_decided_on() {
        let mut cluster = cluster(Some("fast"));
        cluster.set_readable(&Key::of::<StorageClass>("", "fast"), false);
        let why = kept(&cluster, "60Gi", None).unwrap_err();
        assert_eq!(why, "StorageClass fast can't be read");
        assert!(kept(&cluster, "20Gi", None).is_ok());

        cluster.edit(&key(), |claim| {
            claim["spec"]["resources"]["requests"]["storage"] = json!("53687091200");
        });
        let why = kept(&cluster, "20Gi", None).unwrap_err();
        assert!(
            why.starts_with("PersistentVolumeClaim backups: \"53687091200\" is not a valid size"),
            "{why}"
        );

        cluster.set_readable(&key(), false);
        let why = kept(&cluster, "20Gi", None).unwrap_err();
        assert_eq!(why, "PersistentVolumeClaim backups can't be read");
    }
}
