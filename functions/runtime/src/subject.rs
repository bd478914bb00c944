//! What a call is about, for logs.

use std::fmt;

use function_protocol::v1::RunFunctionRequest;
use serde::Deserialize;

/// The composite resource's kind and name. Empty where it cannot be read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Subject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

impl Subject {
    pub(crate) fn of(request: &RunFunctionRequest) -> Self {
        let composite = request
            .observed
            .as_ref()
            .and_then(|observed| observed.composite.as_ref());
        let document = composite.and_then(|composite| composite.resource.as_ref());
        document
            .and_then(|document| document.parse().ok())
            .unwrap_or_default()
    }
}

/// `Kind namespace/name`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metadata { namespace, name } = &self.metadata;
        let separator = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {namespace}{separator}{name}", self.kind)
    }
}
