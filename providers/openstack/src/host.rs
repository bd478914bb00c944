//! Hosts in URLs.

use std::borrow::Cow;

/// Formats a host name or an address for a URL: an IPv6 address gets brackets.
pub fn in_url(host: &str) -> Cow<'_, str> {
    match host.contains(':') {
        true => format!("[{host}]").into(),
        false => host.into(),
    }
}
