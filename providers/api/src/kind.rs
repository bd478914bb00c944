//! What a kind of this project is called, and how `kubectl` shows it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::rule::Rule;

/// What a kind is called and how `kubectl` shows it, by its spec.
pub trait Kind: JsonSchema {
    /// The observed state.
    type Status: JsonSchema;
    /// One sentence for `kubectl explain`.
    const DESCRIPTION: &'static str;
    /// The API group, for instance `keystone.openstack.c5c3.io`.
    const GROUP: &'static str;
    /// The API version.
    const VERSION: &'static str = "v1alpha1";
    /// The kind, for instance `Keystone`.
    const KIND: &'static str;
    /// The kind in the plural and lower case, for instance `keystones`.
    const PLURAL: &'static str;
    /// What `kubectl get` takes instead of the plural, for instance `kst`.
    const SHORT_NAME: &'static str;
    /// What `kubectl get` shows, beside whether the resource is ready, and its age.
    const COLUMNS: &'static [Column];
    /// Rules over the whole resource, beyond those within the spec.
    const RULES: &'static [Rule] = &[];
    /// The longest name that leaves room for what is named after it.
    const MAX_NAME_LENGTH: u8 = 63;

    /// Group and version, for instance `keystone.openstack.c5c3.io/v1alpha1`.
    fn api_version() -> String {
        format!("{}/{}", Self::GROUP, Self::VERSION)
    }
}

/// A kind that Crossplane serves: a claim, the composite resource that Crossplane makes of it, and a namespaced composite
/// resource of the same fields. [`Kind::KIND`] is that of the claim and of a namespaced composite resource. A composite resource
/// that belongs to a claim has an `X` before it.
pub trait Claim: Kind {
    /// The Composition of a resource that chooses none.
    const COMPOSITION: &'static str;
    /// Rules that also see the name, for resources that keep the name that their user gave them. The composite resource
    /// of a claim has a name of its own.
    const NAME_RULES: &'static [Rule] = &[];

    /// The kind of the composite resource behind a claim, for instance `XOpenStackCluster`.
    fn composite_kind() -> String {
        format!("X{}", Self::KIND)
    }
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// Heading.
    pub name: &'static str,
    /// An OpenAPI type: string, integer, number, boolean or date.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where the value is.
    pub json_path: &'static str,
    /// 0: always shown. 1: with `-o wide`.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: u8,
}

impl Column {
    /// A column that is always shown.
    pub const fn new(name: &'static str, kind: &'static str, json_path: &'static str) -> Self {
        Self {
            name,
            kind,
            json_path,
            priority: 0,
        }
    }

    /// A column shown with `-o wide`.
    pub const fn wide(name: &'static str, kind: &'static str, json_path: &'static str) -> Self {
        Self {
            name,
            kind,
            json_path,
            priority: 1,
        }
    }
}

/// What `kubectl get` shows of a service of OpenStack.
pub(crate) const SERVICE_COLUMNS: &[Column] = &[
    Column::new("Endpoint", "string", ".status.endpoint"),
    Column::wide("Release", "string", ".status.release"),
];

fn is_zero(priority: &u8) -> bool {
    *priority == 0
}
