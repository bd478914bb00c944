//! Names and addresses of hosts, and how URLs have them.

use std::borrow::Cow;

/// What the name of a Service ends with, besides its namespace; and the domain of a cluster, which clients may leave out.
const SERVICE: &str = ".svc";
const DOMAIN: &str = ".cluster.local";

/// The name of a Service within its cluster, or of a pod of it as `pod.service`.
pub fn in_cluster(service: &str, namespace: &str) -> String {
    format!("{service}.{namespace}{SERVICE}{DOMAIN}")
}

/// The shortest name of a host within the cluster: that of a Service, with its namespace. Other hosts keep theirs.
pub fn shortest(host: &str) -> &str {
    let host = host.strip_suffix(DOMAIN).unwrap_or(host);
    host.strip_suffix(SERVICE).unwrap_or(host)
}

/// Formats a host name or an address for a URL: an IPv6 address gets brackets.
pub fn in_url(host: &str) -> Cow<'_, str> {
    match host.contains(':') {
        true => format!("[{host}]").into(),
        false => host.into(),
    }
}
