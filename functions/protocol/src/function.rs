//! A composition function, and one call of it.

use crate::v1;
use crate::{Fatal, Request, Response};

/// A composition function: composes the desired state from the composite and the observed resources. Pure: the same request gives the same
/// response, to the byte.
pub trait Function: Send + Sync {
    /// Adds to the response what this function wants.
    ///
    /// # Errors
    /// [`Fatal`] when the owner of the composite resource has to change something first. Nothing that was added to the
    /// response is sent then; what earlier steps of the pipeline wanted still is.
    fn compose(&self, request: Request, response: &mut Response) -> Result<(), Fatal>;
}

impl<F> Function for F
where
    F: Fn(Request, &mut Response) -> Result<(), Fatal> + Send + Sync,
{
    fn compose(&self, request: Request, response: &mut Response) -> Result<(), Fatal> {
        self(request, response)
    }
}

/// Calls the function once, as the protocol requires: the tag is echoed, desired state and context of earlier steps pass
/// through, and [`Fatal`] becomes a result of severity fatal, for the composite resource and its claim.
pub fn run(function: &dyn Function, request: v1::RunFunctionRequest) -> v1::RunFunctionResponse {
    let (request, response) = Request::split(request);
    answer(function, request, response)
}

/// Does the same for a message that is taken apart already.
pub fn answer(
    function: &dyn Function,
    request: Request,
    mut response: Response,
) -> v1::RunFunctionResponse {
    match function.compose(request, &mut response) {
        Ok(()) => response.into_message(),
        Err(fatal) => response.into_fatal(fatal),
    }
}
