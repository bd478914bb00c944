//! A composer whose panics are answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use function_protocol::{Composer, Fatal, Request, Response};

/// Makes a panic of a composer a [`Fatal`], so that it is the answer to one request and no other is touched.
pub(crate) struct Guard<'a> {
    composer: &'a dyn Composer,
    panicked: AtomicBool,
}

impl<'a> Guard<'a> {
    pub(crate) fn new(composer: &'a dyn Composer) -> Self {
        Self {
            composer,
            panicked: AtomicBool::new(false),
        }
    }

    pub(crate) fn panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }
}

impl Composer for Guard<'_> {
    fn compose(&self, request: &Request, response: &mut Response) -> Result<(), Fatal> {
        // What a panic leaves half-made is the response, and after a Fatal nothing of it is sent.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.composer.compose(request, response)
        }));
        outcome.unwrap_or_else(|_| {
            self.panicked.store(true, Ordering::Relaxed);
            Err(Fatal::new("the function failed on this resource, which is a mistake in the function; see its log"))
        })
    }
}
