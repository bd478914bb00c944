//! Documents.

use std::sync::OnceLock;

use function_protocol::Fatal;
use function_sdk_rust::resource::struct_to_json;
use pbjson_types::Struct;
use serde::Deserialize;
use serde_json::Value;

/// A JSON object, as the SDK has decoded it.
pub struct Document {
    decoded: Struct,
    json: OnceLock<Value>,
}

/// A document is not of the type wanted.
pub struct Unfit(serde_json::Error);

impl Document {
    /// Reads a value.
    ///
    /// # Errors
    /// The document does not fit.
    pub fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Unfit> {
        let json = self.json.get_or_init(|| struct_to_json(&self.decoded));
        T::deserialize(json).map_err(Unfit)
    }
}

impl From<Struct> for Document {
    fn from(decoded: Struct) -> Self {
        let json = OnceLock::new();
        Self { decoded, json }
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Unfit> for Fatal {
    fn from(unfit: Unfit) -> Self {
        Fatal::new(unfit.to_string())
    }
}
