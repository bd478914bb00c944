//! The content of requests to drivers, and of their responses.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// Reads the content of a request.
pub(crate) fn request<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|_| Error::NotUnderstood)
}

/// Writes the content of a response.
pub(crate) fn response(answer: impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(|_| Error::NotUnderstood)
}
