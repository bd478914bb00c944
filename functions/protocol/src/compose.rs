//! One call of a composer.

use crate::v1;
use crate::{Fatal, Request, Response};

/// Says what should exist, from what is asked for and what exists. Pure: the same request gives the same response, to
/// the byte.
pub trait Composer: Send + Sync {
    /// Adds to the response what this composer wants.
    ///
    /// # Errors
    /// [`Fatal`] when the owner of the composite resource has to change something first. Nothing that was added to the
    /// response is sent then; what earlier steps of the pipeline wanted still is.
    fn compose(&self, request: &Request, response: &mut Response) -> Result<(), Fatal>;
}

/// Calls the composer once, as the protocol asks: the tag is echoed, desired state and context of earlier steps pass
/// through, and [`Fatal`] becomes a result of severity fatal, for the composite resource and its claim.
pub fn run(composer: &dyn Composer, request: v1::RunFunctionRequest) -> v1::RunFunctionResponse {
    let (request, mut response) = Request::split(request);
    match composer.compose(&request, &mut response) {
        Ok(()) => response.into_message(),
        Err(fatal) => response.into_fatal(fatal),
    }
}
