//! Hosts, as they stand in URLs.

use std::borrow::Cow;

/// A name or an address as a URL has it: one of IPv6 in brackets.
pub fn in_url(host: &str) -> Cow<'_, str> {
    match host.contains(':') {
        true => format!("[{host}]").into(),
        false => host.into(),
    }
}
