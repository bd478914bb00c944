//! Masks secrets in configuration files.

use std::mem::take;

use crate::options::in_any_release;

/// Replaces a secret.
pub const STARS: &str = "****";

/// Parts of the names of secret options. Not all libraries mark their secret options.
const SECRETS: [&str; 8] = [
    "credential",
    "key",
    "keys",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "token",
];

/// Masks the secrets in a service's configuration file, and the passwords in URLs. Whether an option is secret follows from the
/// service's option table, or from the option's name if the table doesn't have it.
///
/// An indented line continues a value in oslo.config's files, and can be an option in Ceph's
/// (<https://docs.ceph.com/en/tentacle/rados/configuration/ceph-conf/>). It is masked in either case.
pub fn masked(service: &str, text: &str) -> String {
    let mut shown = String::new();
    let mut section = "DEFAULT";
    // The indentation of a secret option whose value the next lines may continue.
    let mut secret = None;
    // Whether the line before is masked and ends with a backslash, after which Ceph continues a value in any line.
    let mut is_continued = false;
    for line in text.lines() {
        let bare = line.trim();
        let header = bare
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let indented = line.len() - line.trim_start().len();
        let continues = take(&mut is_continued) || secret.is_some_and(|option| indented > option);
        if let Some(name) = header {
            section = name;
            secret = None;
            shown.push_str(line);
        } else if bare.is_empty() {
            shown.push_str(line);
        } else if continues {
            shown.push_str(STARS);
            is_continued = bare.ends_with('\\');
        } else if bare.starts_with(['#', ';']) {
            shown.push_str(line);
        } else if let Some((name, sign, value)) = option(line) {
            let is_secret = is_secret(service, section, name);
            let value = value.trim();
            if is_secret {
                let indent = &line[..indented];
                let value = hidden(value);
                shown.push_str(format!("{indent}{name}{sign} {value}").trim_end());
            } else if indented == 0 && sign != ":" {
                let value = without_password(value);
                shown.push_str(format!("{name}{sign} {value}").trim_end());
            } else {
                shown.push_str(&without_password(line));
            }
            secret = is_secret.then_some(indented);
            is_continued = is_secret && bare.ends_with('\\');
        } else if secret.is_some() && indented > 0 {
            // Not an option, so it may belong to the secret before it.
            shown.push_str(STARS);
        } else {
            shown.push_str(&without_password(line));
        }
        shown.push('\n');
    }
    shown
}

/// The option in a line: its name, the sign after it, and the value. The sign may be a colon (`_split_key_value` of
/// <https://github.com/openstack/oslo.config/blob/05b6a3333603595ef99131286b8ccbf1e48136f7/oslo_config/iniparser.py>).
fn option(line: &str) -> Option<(&str, &str, &str)> {
    let at = line.find(['=', ':'])?;
    let (name, rest) = line.split_at(at);
    let sign = if rest.starts_with('=') { " =" } else { ":" };
    Some((name.trim(), sign, &rest[1..]))
}

/// Whether an option is secret. An unknown option is if its name suggests it.
pub(crate) fn is_secret(service: &str, section: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_called_so = name
        .rsplit('_')
        .next()
        .is_some_and(|word| SECRETS.contains(&word));
    let known = in_any_release(service, section, &name)
        .map(|known| known.secret || is_called_so && known.kind.contains("text"));
    let known = known.reduce(|one, other| one || other);
    known.unwrap_or_else(|| SECRETS.iter().any(|word| name.contains(word)))
}

/// Masks a secret: all of it, or the password if it is a URL.
fn hidden(value: &str) -> String {
    match (value, value.contains("://")) {
        ("", _) => String::new(),
        (url, true) => without_password(url),
        (_, false) => STARS.to_owned(),
    }
}

/// Masks the passwords of URLs in a value. The host starts after the last `@`. Of several hosts only the last is shown, because an
/// unescaped password may contain any delimiter.
fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else {
        return value.to_owned();
    };
    let Some((account, host)) = rest.rsplit_once('@') else {
        return value.to_owned();
    };
    let host = match host.split_once('?') {
        Some((host, query)) => format!("{host}?{}", parameters(query)),
        None => host.to_owned(),
    };
    match account.split_once(':') {
        _ if account.contains(['@', ',']) => format!("{scheme}://{STARS}@{host}"),
        Some((user, _)) => format!("{scheme}://{user}:{STARS}@{host}"),
        None => format!("{scheme}://{account}@{host}"),
    }
}

/// Masks secrets in the parameters of a URL.
fn parameters(query: &str) -> String {
    let shown = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_secret("", "", name) => format!("{name}={STARS}"),
            _ => parameter.to_owned(),
        });
    shown.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::what_the_service_calls_one("keystone_authtoken", "memcache_secret_key = hush")]
    #[case::by_the_name_of_before("keystone_authtoken", "authorization_code=hush")]
    #[case::by_its_name_alone("keystone_authtoken", "memcache_password = hush")]
    #[case::unknown_in_doubt("elsewhere", "s3_store_secret_key = hush")]
    #[case::in_a_url("database", "connection = mysql://user:hush@host/name")]
    #[case::in_a_url_that_is_badly_written(
        "database",
        "connection = mysql://user:hu@sh:h@ush@host/name"
    )]
    #[case::in_the_first_of_several_hosts(
        "DEFAULT",
        "transport_url = rabbit://a:hush@one:5672,a:b@two:5672/"
    )]
    #[case::in_a_parameter(
        "database",
        "connection = mysql://user@host/name?ssl_key_password=hush&charset=utf8"
    )]
    #[case::in_a_url_that_is_no_secret("keystone_authtoken", "auth_url = http://user:hush@host/v3")]
    #[case::over_several_lines("keystone_authtoken", "password = hush\n  hush")]
    #[case::over_several_lines_like_options(
        "keystone_authtoken",
        "password = a\n  b = hush\n # hush"
    )]
    #[case::indented("client.cinder", "  key = hush")]
    #[case::indented_by_a_tab("client.cinder", "\tkey=hush")]
    #[case::indented_after_another("client.cinder", "  rbd_cache = true\n  key = hush")]
    #[case::indented_below_another_option("DEFAULT", "debug = true\n  password = hush")]
    #[case::indented_over_several_lines("client.cinder", "  key = a\n    b = hush\n  hush")]
    #[case::after_a_backslash("client.cinder", "  key = a \\\n  hush== \\\nhush==")]
    #[case::after_a_colon("keystone_authtoken", "password: hush=")]
    fn a_secret_is_not_shown(#[case] section: &str, #[case] line: &str) {
        let shown = masked("glance", &format!("[{section}]\n{line}\n"));
        assert!(!shown.contains("hush"), "{shown}");
        assert!(!shown.contains("hu@"), "{shown}");
        assert!(shown.contains(STARS), "{shown}");
    }

    #[test]
    fn everything_else_is_shown_as_it_is() {
        let text = "\
[DEFAULT]
use_stderr = true

[database]
connection = mysql+pymysql://glance:****@db.openstack.svc:3306/glance?charset=utf8mb4

[keystone_authtoken]
application_credential_id = 0815
application_credential_secret = ****
auth_url = https://keystone.openstack.svc.cluster.local:5000/v3
keyfile = /etc/key

[profiler]
enabled = false

[rbd]
rbd_store_pool = images
";
        let secret = text
            .replace("glance:****", "glance:p%40ss")
            .replace("secret = ****", "secret = hush");
        assert_eq!(masked("glance", &secret), text);
    }

    #[test]
    fn indented_options_that_are_no_secrets_are_shown_as_they_are() {
        let text = "\
[client]
    mon host = 192.0.2.1:6789
    key = ****
    rbd_cache: true
[paste]
/v3: public
hosts = one:1
  two:2
";
        assert_eq!(masked("cinder", &text.replace("****", "hush")), text);
    }

    #[test]
    fn a_number_is_no_secret_whatever_it_is_called() {
        let text = "[fernet_tokens]\nmax_active_keys = 3\n";
        assert_eq!(masked("keystone", text), text);
    }

    #[test]
    fn an_option_without_a_value_is_not_made_a_secret() {
        assert_eq!(
            masked("keystone", "[DEFAULT]\nadmin_token =\n"),
            "[DEFAULT]\nadmin_token =\n"
        );
    }
}
