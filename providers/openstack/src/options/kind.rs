//! What the values of options are, as oslo.config takes them
//! (<https://docs.openstack.org/oslo.config/latest/reference/types.html>).
//!
//! A kind is a word: `text`, `bool`, `int(1..65535)`, `float(0..)`, `ip`, `host`, `uri(http|https)`, `scheme(tcp|ssl)` for anything after
//! one of these and a colon, `like(^[a-z]+$)` for text that matches a regular expression, `one(a|b)`, `any-case(a|b)`,
//! or one made of another: `list(int)`, `brackets(host)` for a list in brackets, `dict(text)`.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

use regex::Regex;

use super::near::near;

/// Before a kind: the option may have several values.
pub const MANY: &str = "many:";
/// Before a kind, and before [`MANY`]: nobody may see the option's values.
pub const SECRET: &str = "secret:";

const TRUE_OR_FALSE: [&str; 8] = ["true", "1", "on", "yes", "false", "0", "off", "no"];

/// Checks a value as it stands in a file. One that refers to another option can't be known here.
pub fn check(kind: &str, value: &str) -> Result<(), String> {
    let value = unquoted(value.trim());
    match value.contains('$') {
        true => Ok(()),
        false => fits(kind, value).map_err(|hint| format!("{}{hint}", described(kind))),
    }
}

/// Whether values are numbers, truth values or given words: `many:text` or `secret:text` are neither.
pub fn is_plain(kind: &str) -> bool {
    ["bool", "int", "float", "one", "any-case"].contains(&parts(kind).0)
}

/// The value without the quotes that the file's reader takes off.
fn unquoted(value: &str) -> &str {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

/// Name and content of a kind.
fn parts(kind: &str) -> (&str, &str) {
    let inner = kind.strip_suffix(')').and_then(|kind| kind.split_once('('));
    inner.unwrap_or((kind, ""))
}

/// Where a value doesn't fit, the error is what else may be said, if anything.
fn fits(kind: &str, value: &str) -> Result<(), String> {
    let (name, inner) = parts(kind);
    let fits = match name {
        "bool" => TRUE_OR_FALSE.contains(&value.to_ascii_lowercase().as_str()),
        "int" => is_number::<i128>(inner, value),
        "float" => is_number::<f64>(inner, value),
        "ip" => value.parse::<IpAddr>().is_ok(),
        "host" => value.parse::<IpAddr>().is_ok() || is_host_name(value),
        "uri" => is_uri(inner, value),
        "scheme" => has_scheme(inner, value),
        "like" => Regex::new(inner).is_ok_and(|pattern| pattern.is_match(value)),
        "one" | "any-case" => return is_choice(inner, value, name == "any-case"),
        "list" => return each(value, |item| fits(inner, item.trim())),
        "brackets" => match value
            .strip_prefix('[')
            .and_then(|value| value.strip_suffix(']'))
        {
            Some(items) => return each(items, |item| fits(inner, item.trim())),
            None => false,
        },
        "dict" => return is_dict(inner, value),
        _ => true,
    };
    fits.then_some(()).ok_or_else(String::new)
}

fn is_number<N: FromStr + PartialOrd>(bounds: &str, value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() {
        // As if it weren't given.
        return true;
    }
    let Ok(number) = value.parse::<N>() else {
        return false;
    };
    let (low, high) = bounds.split_once("..").unwrap_or_default();
    let bound = |text: &str| text.parse::<N>().ok();
    bound(low).is_none_or(|low| number >= low) && bound(high).is_none_or(|high| number <= high)
}

fn is_choice(choices: &str, value: &str, any_case: bool) -> Result<(), String> {
    let same = |choice: &str| match any_case {
        true => choice.eq_ignore_ascii_case(value),
        false => choice == value,
    };
    if choices.split('|').any(same) {
        return Ok(());
    }
    let meant = near(value, choices.split('|'));
    Err(meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?")))
}

/// Checks each item of a list. A comma may belong to an item: what isn't one is tried together with what follows.
fn each(list: &str, mut fits: impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    let list = list.trim().trim_end_matches(',');
    if list.is_empty() {
        return Ok(());
    }
    let mut rest = list.split(',');
    while let Some(item) = rest.next() {
        let mut item = item.to_owned();
        while let Err(hint) = fits(&item) {
            let next = rest.next().ok_or(hint)?;
            item.push(',');
            item.push_str(next);
        }
    }
    Ok(())
}

fn is_dict(of: &str, value: &str) -> Result<(), String> {
    let mut keys = BTreeSet::new();
    each(value, |pair| {
        let (key, value) = pair.split_once(':').ok_or_else(String::new)?;
        fits(of, value.trim())?;
        match keys.insert(key.trim().to_owned()) && !key.trim().is_empty() {
            true => Ok(()),
            false => Err(", each name once".to_owned()),
        }
    })
}

fn is_host_name(value: &str) -> bool {
    let name = value.strip_suffix('.').unwrap_or(value);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    value.len() <= 253
        && name.split('.').all(is_label)
        // Else it is a mistyped address.
        && last.bytes().any(|byte| !byte.is_ascii_digit())
}

/// A URI with a scheme and a host (RFC 3986).
fn is_uri(schemes: &str, value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let known = schemes.is_empty() || schemes.split('|').any(|known| known == scheme);
    known && !scheme.is_empty() && !host.is_empty() && value.bytes().all(allowed)
}

fn has_scheme(schemes: &str, value: &str) -> bool {
    let scheme = value.split_once(':').filter(|(_, rest)| !rest.is_empty());
    scheme.is_some_and(|(scheme, _)| schemes.split('|').any(|known| known == scheme))
}

/// A kind in words.
fn described(kind: &str) -> String {
    let (name, inner) = parts(kind);
    match name {
        "bool" => "true or false".to_owned(),
        "int" => format!("a whole number{}", bounded(inner)),
        "float" => format!("a number{}", bounded(inner)),
        "ip" => "an IP address".to_owned(),
        "host" => "the name or address of a host".to_owned(),
        "uri" if inner.is_empty() => "a URL".to_owned(),
        "uri" => format!("a URL with {}", inner.replace('|', " or ")),
        "scheme" => format!("{}: and more", inner.replace('|', ": or ")),
        "like" => format!("text that matches {inner}"),
        "one" | "any-case" => format!("one of {}", inner.replace('|', ", ")),
        "list" => format!(
            "a list of values with commas between, each {}",
            described(inner)
        ),
        "brackets" => format!(
            "a list in [], with commas between, each {}",
            described(inner)
        ),
        "dict" => format!(
            "name:value pairs with commas between, each value {}",
            described(inner)
        ),
        _ => "any text".to_owned(),
    }
}

fn bounded(bounds: &str) -> String {
    let given = |bound: &dyn Display, word: &str| format!(" {word} {bound}");
    match bounds.split_once("..").unwrap_or_default() {
        ("", "") => String::new(),
        (low, "") => given(&low, "of at least"),
        ("", high) => given(&high, "of at most"),
        (low, high) => format!("{}{}", given(&low, "from"), given(&high, "to")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("text", "anything at all")]
    #[case("bool", "Yes")]
    #[case("int(1..)", "'1'")]
    #[case("int(1..)", "")]
    #[case("int", "$other")]
    #[case("float(0..1)", "0.5")]
    #[case("one(a||b)", "")]
    #[case("any-case(interval|size)", "Size")]
    #[case("list(int)", "1, 2,")]
    #[case("list(text)", "")]
    #[case("brackets(int(1..2))", "[1,2]")]
    #[case("dict(text)", "a:b, c:d:e")]
    #[case("dict(brackets(text))", "a:[b,c],d:[]")]
    #[case("ip", "2001:db8::1")]
    #[case("host", "2001:db8::1")]
    #[case("host", "db.example.com.")]
    #[case("uri()", "https://user@example.com:5000/v3?a=b")]
    #[case("uri(http|https)", "http://[2001:db8::1]:80")]
    #[case("scheme(tcp|ssl)", "ssl:192.0.2.1:6641")]
    #[case(r"like(^\d+:\d+$)", "10000:20000")]
    #[case("list(like(^(cap_[a-z]+|[0-9]+)$))", "cap_chown, 21")]
    fn values_that_fit(#[case] kind: &str, #[case] value: &str) {
        assert_eq!(check(kind, value), Ok(()));
    }

    #[rstest::rstest]
    #[case("bool", "maybe", "true or false")]
    #[case("int", "1h", "a whole number")]
    #[case("int(1..65535)", "0", "a whole number from 1 to 65535")]
    #[case("float(0..)", "-0.1", "a number of at least 0")]
    #[case("int(..4096)", "4097", "a whole number of at most 4096")]
    #[case("one(red|green)", "gren", "one of red, green: did you mean green?")]
    #[case("one(red|green)", "Red", "one of red, green: did you mean red?")]
    #[case(
        "list(int)",
        "1,b",
        "a list of values with commas between, each a whole number"
    )]
    #[case(
        "brackets(text)",
        "a",
        "a list in [], with commas between, each any text"
    )]
    #[case(
        "dict(text)",
        "a",
        "name:value pairs with commas between, each value any text"
    )]
    #[case(
        "dict(text)",
        "a:b,a:c",
        "name:value pairs with commas between, each value any text, each name once"
    )]
    #[case("ip", "db.example.com", "an IP address")]
    #[case("host", "192.0.2.256", "the name or address of a host")]
    #[case("host", "a_b", "the name or address of a host")]
    #[case("uri(http|https)", "ftp://a", "a URL with http or https")]
    #[case("uri()", "example.com", "a URL")]
    #[case("uri()", "http://a b", "a URL")]
    #[case("scheme(tcp|ssl)", "udp:192.0.2.1:6641", "tcp: or ssl: and more")]
    #[case("scheme(tcp|ssl)", "ssl:", "tcp: or ssl: and more")]
    #[case(r"like(^\d+:\d+$)", "10000", r"text that matches ^\d+:\d+$")]
    fn values_that_do_not(#[case] kind: &str, #[case] value: &str, #[case] error: &str) {
        assert_eq!(check(kind, value), Err(error.to_owned()));
    }
}
