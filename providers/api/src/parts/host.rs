//! External servers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::textual;

/// A DNS name, or an address of either family without brackets.
pub(crate) const HOST: &str =
    r"^([a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)$";

/// What a server is written as.
const FORM: &str = "host:port, for instance rabbitmq-0.rabbitmq:5672 or [2001:db8::1]:5672";

/// A server and its port, `host:port`; an IPv6 address stands in brackets. Without a port the protocol's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    host: String,
    port: Option<u16>,
}

impl HostPort {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                let port = match port {
                    "" => None,
                    port => Some(port.strip_prefix(':')?),
                };
                (Some(host).filter(|host| is_address(host))?, port)
            }
            None => {
                let (host, port) = match text.split_once(':') {
                    Some((host, port)) => (host, Some(port)),
                    None => (text, None),
                };
                (Some(host).filter(|host| is_name(host))?, port)
            }
        };
        let port = match port {
            Some(digits) => Some(number(digits)?),
            None => None,
        };
        let host = host.to_owned();
        Some(Self { host, port })
    }

    /// The name or the address, an IPv6 one without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, 1 to 65535.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.iter().copied().all(inner) && end(bytes.first()) && end(bytes.last())
}

fn is_address(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
    text.contains(':') && text.bytes().all(inner)
}

/// A port, 1 to 65535, in plain digits.
fn number(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

impl fmt::Display for HostPort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(out, "[{}]", self.host)?,
            false => out.write_str(&self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

const PORT: &str =
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const NAME: &str = "[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?";
const ADDRESS: &str = r"\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\]";

textual!(HostPort, HostPortError("a valid server", FORM), {
    "title": FORM,
    "type": "string",
    "pattern": format!("^({NAME}|{ADDRESS})(:{PORT})?$"),
    "minLength": 1,
    "maxLength": 261,
});
