//! The `Debug` output of messages with secrets: their keys only.

use std::fmt;

use crate::v1::{CredentialData, Resource};

impl fmt::Debug for CredentialData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.data.keys()).finish()
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("resource", &self.resource)
            .field("connection_details", &self.connection_details.keys())
            .field("ready", &self.ready)
            .finish()
    }
}
