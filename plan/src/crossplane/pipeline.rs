//! One call of a function, repeated until it requires nothing more.

use function_protocol::v1::{ResourceSelector, RunFunctionRequest, RunFunctionResponse, Severity};
use function_protocol::{Function, run};

use super::required::fetch;
use crate::Error;
use crate::store::Store;

/// How often a function may be called again for its requirements (crossplane, internal/xfn: MaxRequirementsIterations).
const ROUNDS: usize = 5;

/// Calls a function as Crossplane does: what it asks for is fetched and it is called again, until it asks for the same. What
/// `is_read` excludes stays unresolved.
///
/// # Errors
/// It never does, or something has no wire form.
pub fn call(
    function: &dyn Function,
    mut request: RunFunctionRequest,
    store: &Store,
    title: &str,
    is_read: impl Fn(&ResourceSelector) -> bool,
) -> Result<RunFunctionResponse, Error> {
    let mut requirements = None;
    for _ in 0..=ROUNDS {
        let response = run(function, request.clone());
        if fatal(&response).is_some() || response.requirements == requirements {
            return Ok(response);
        }
        let wanted = response.requirements.clone().unwrap_or_default();
        request.extra_resources = fetch(store, &wanted.extra_resources, &is_read)?;
        request.required_resources = fetch(store, &wanted.resources, &is_read)?;
        request.context = response.context;
        requirements = response.requirements;
    }
    Err(Error::Unstable {
        title: title.to_owned(),
        rounds: ROUNDS,
    })
}

/// The message of a fatal result, if there is one.
pub fn fatal(response: &RunFunctionResponse) -> Option<&str> {
    let mut results = response.results.iter();
    let fatal = results.find(|result| result.severity() == Severity::Fatal)?;
    Some(&fatal.message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use function_protocol::{Fatal, Match, Request, Required, Response, Selector};

    use super::*;

    /// Asks for one thing more in every call, up to a number.
    struct Curious(usize);

    impl Function for Curious {
        fn compose(&self, request: Request, response: &mut Response) -> Result<(), Fatal> {
            let answered = (0..self.0)
                .take_while(|number| request.required(&number.to_string()) != Required::Unresolved);
            for number in 0..(answered.count() + 1).min(self.0) {
                response.require(
                    number.to_string(),
                    Selector {
                        api_version: "v1".to_owned(),
                        kind: "Namespace".to_owned(),
                        namespace: None,
                        by: Match::Labels(BTreeMap::new()),
                    },
                );
            }
            Ok(())
        }
    }

    fn asked(most: usize) -> Result<usize, Error> {
        let response = call(
            &Curious(most),
            RunFunctionRequest::default(),
            &Store::default(),
            "XThing a",
            |_| true,
        )?;
        Ok(response
            .requirements
            .unwrap_or_default()
            .extra_resources
            .len())
    }

    #[test]
    fn a_function_is_called_until_it_asks_for_nothing_new() {
        assert_eq!(asked(0).unwrap(), 0);
        assert_eq!(asked(1).unwrap(), 1);
        assert_eq!(asked(5).unwrap(), 5);
    }

    #[test]
    fn a_function_that_always_asks_for_more_is_an_error() {
        let error = asked(6).unwrap_err().to_string();
        assert_eq!(
            error,
            "XThing a: requirements didn't stabilize after the maximum number of iterations (5)"
        );
    }
}
