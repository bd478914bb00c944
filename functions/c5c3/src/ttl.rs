//! How long Crossplane may reuse a response.

use std::time::Duration;

use function_protocol::Response;

/// How long a response may be reused while the claim waits for something that Crossplane before 2.4 doesn't watch, such as a pool.
const WAITING: Duration = Duration::from_secs(15);

/// How long a response may be reused once all is ready: how late a claim learns of a change in its pools, which Crossplane before 2.4
/// doesn't watch.
const SETTLED: Duration = Duration::from_secs(30);

/// The same where Crossplane watches the pools, in case that it misses a change.
const WATCHED_WAITING: Duration = Duration::from_secs(5 * 60);
const WATCHED_SETTLED: Duration = Duration::from_secs(4 * 60 * 60);

/// Sets how long Crossplane may reuse the response. Call it after all resources are required.
pub fn set_ttl(response: &mut Response, settled: bool) {
    response.ttl(match (response.is_watched(), settled) {
        (false, false) => WAITING,
        (false, true) => SETTLED,
        (true, false) => WATCHED_WAITING,
        (true, true) => WATCHED_SETTLED,
    });
}
