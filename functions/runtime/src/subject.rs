//! What a call is about, for logs.

use std::fmt;

use function_protocol::v1::RunFunctionRequest;
use serde::Deserialize;

/// The composite resource's kind, name and version. Empty where it cannot be read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Subject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
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

    /// Its `resourceVersion`, the same in all calls of one reconcile.
    pub(crate) fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

/// `Kind namespace/name`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metadata {
            namespace, name, ..
        } = &self.metadata;
        let separator = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {namespace}{separator}{name}", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use function_protocol::Document;
    use function_protocol::v1::{Resource, State};
    use serde_json::json;

    use super::*;

    #[test]
    fn subject_is_what_the_call_is_about_in_a_version() {
        let composite = json!({
            "kind": "OpenStackCluster",
            "metadata": {"namespace": "a", "name": "b", "resourceVersion": "17"},
        });
        let request = RunFunctionRequest {
            observed: Some(State {
                composite: Some(Resource {
                    resource: Some(Document::from_value(&composite).unwrap()),
                    ..Resource::default()
                }),
                ..State::default()
            }),
            ..RunFunctionRequest::default()
        };
        let subject = Subject::of(&request);
        assert_eq!(subject.to_string(), "OpenStackCluster a/b");
        assert_eq!(subject.version(), "17");
        let unread = Subject::of(&RunFunctionRequest::default());
        assert_eq!(unread.version(), "");
    }
}
