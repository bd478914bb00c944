//! The interface of operators' logic. No I/O, no client, no clock, no randomness.
//!
//! A [`Composer`] is a pure function from a [`Subject`] and the [`ObservedState`] around it to a [`DesiredState`]: the
//! objects that should exist, and conditions. A runtime runs composers: the controller in a cluster, a plan in memory, or a
//! test in a few lines. It serves lookups from a [`Source`], calls [`Operator::composed`], and applies what that returns.
//!
//! What a composer needs and doesn't own, it looks up in the [`ObservedState`], which records the [`Dependency`]. What could
//! not be read is [`Lookup::Unknown`], which is not the same as [`Lookup::Missing`]: nothing is deleted because of it.
//!
//! # Example
//!
//! A kind, its composer, and what a cluster has after a reconcile:
//!
//! ```
//! use c5c3_api::{CustomResource, Kind, kind::Column};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use provider_composer::{
//!     Composer, Custom, DesiredState, Failure, Key, ObservedState, Progress, Resource, Subject, Use,
//! };
//! use provider_composer_testing::Cluster;
//! use serde_json::json;
//!
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! struct GreetingSpec {
//!     name: String,
//! }
//!
//! impl Kind for GreetingSpec {
//!     type Status = serde_json::Map<String, serde_json::Value>;
//!     const DESCRIPTION: &'static str = "A greeting in a ConfigMap.";
//!     const GROUP: &'static str = "example.org";
//!     const KIND: &'static str = "Greeting";
//!     const PLURAL: &'static str = "greetings";
//!     const SHORT_NAME: &'static str = "hi";
//!     const COLUMNS: &'static [Column] = &[];
//! }
//!
//! impl CustomResource for GreetingSpec {}
//!
//! struct Greeter;
//!
//! impl Composer for Greeter {
//!     type Spec = GreetingSpec;
//!     type Status = serde_json::Map<String, serde_json::Value>;
//!
//!     const OPERATOR: &'static str = "greeting-operator";
//!
//!     fn uses(&self) -> Vec<Use> {
//!         vec![Use::composes(ConfigMap::KIND)]
//!     }
//!
//!     fn compose(
//!         &self,
//!         greeting: &Subject<GreetingSpec>,
//!         _observed: &ObservedState<'_>,
//!         desired: &mut DesiredState,
//!     ) -> Result<Self::Status, Failure> {
//!         let text = format!("Hello, {}!", greeting.spec.name);
//!         let map = ConfigMap {
//!             data: Some([("greeting".to_owned(), text)].into()),
//!             ..ConfigMap::default()
//!         };
//!         desired.apply(greeting.namespace(), greeting.name(), &map);
//!         desired.conditions.set("Ready", &Progress::Ready);
//!         Ok(Self::Status::default())
//!     }
//! }
//!
//! let mut cluster = Cluster::default();
//! let greeting = Key::of::<Custom<GreetingSpec>>("default", "world");
//! cluster.put(&greeting, &json!({ "spec": { "name": "world" } }));
//! cluster.settle(&Greeter, &greeting);
//!
//! let map = cluster.get(&Key::of::<ConfigMap>("default", "world")).unwrap();
//! assert_eq!(map["data"], json!({ "greeting": "Hello, world!" }));
//! assert_eq!(map["metadata"]["ownerReferences"][0]["kind"], "Greeting");
//! let ready = &cluster.get(&greeting).unwrap()["status"]["conditions"][0];
//! assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("True")));
//! ```

mod composed;
mod composer;
mod conditions;
mod custom;
mod deletion;
mod desired;
mod failure;
mod gauge;
mod generated;
mod key;
mod lookup;
mod observed;
mod owner;
pub mod reconcile;
mod secret;
mod status;
mod subject;
mod uses;

pub use c5c3_api::Reason;
pub use c5c3_kinds::{Resource, ResourceKind};
pub use composed::Composed;
pub use composer::{Composer, Operator};
pub use conditions::{Conditions, Progress, RECONCILING, STALLED, named, second};
pub use custom::Custom;
pub use deletion::Deletion;
pub use desired::DesiredState;
pub use failure::Failure;
pub use gauge::{Gauge, Metric};
pub use generated::{Generated, Retention, Value as GeneratedValue, WHILE_WANTED};
pub use key::Key;
pub use lookup::{Dependency, ExternalRequest, Lookup, Selection, Source, Unobserved, label_pairs};
pub use observed::{Live, ObservedState};
pub use owner::{Owner, owner_reference};
pub use secret::SecretValues;
pub use status::{status_of_failure, status_with_failure};
pub use subject::{Metadata, OwnerReference, Subject};
pub use uses::{Access, Use};
