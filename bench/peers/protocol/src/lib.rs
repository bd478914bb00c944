//! What function-protocol offers to composers, made of function-sdk-rust's types and helpers: so the same composers run
//! behind that SDK, and read and write documents in its way.
//!
//! Its way is a tree of `pbjson_types`, made into a `serde_json::Value`, made into a type; and the same way back. Here a
//! document becomes a `Value` when it is first read and stays one, which is cheaper than the SDK's own `resource::get`.

mod document;
mod request;
mod response;

use function_sdk_rust::proto::v1::{RunFunctionRequest, RunFunctionResponse};

pub use document::{Document, Unfit};
pub use function_protocol::{
    Condition, ConditionStatus, Fatal, Match, Readiness, Selector, Severity,
};
pub use request::{Request, Required};
pub use response::Response;

/// The one message that composers look into.
pub mod v1 {
    pub use crate::request::Resource;
}

/// As function-protocol's.
pub trait Composer: Send + Sync {
    /// Adds to the response what this composer wants.
    ///
    /// # Errors
    /// The owner of the composite resource has to change something first.
    fn compose(&self, request: &Request, response: &mut Response) -> Result<(), Fatal>;
}

/// Calls the composer once.
pub fn run(composer: &dyn Composer, message: RunFunctionRequest) -> RunFunctionResponse {
    let answer = Response::to(&message);
    let request = Request::of(message);
    let mut response = answer.after(&request);
    match composer.compose(&request, &mut response) {
        Ok(()) => response.into_message(),
        Err(fatal) => response.into_fatal(&fatal),
    }
}
