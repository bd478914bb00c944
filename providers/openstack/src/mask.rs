//! Masks secrets in configuration files.

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
pub fn masked(service: &str, text: &str) -> String {
    let mut shown = String::new();
    let mut section = "DEFAULT";
    let mut secret = false;
    for line in text.lines() {
        let bare = line.trim();
        let header = bare
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        match (header, line.split_once('=')) {
            (Some(name), _) => {
                section = name;
                secret = false;
                shown.push_str(line);
            }
            _ if bare.is_empty() || bare.starts_with(['#', ';']) => shown.push_str(line),
            // Continues the value of the line before.
            _ if line.starts_with(char::is_whitespace) && secret => shown.push_str(STARS),
            (None, Some((name, value))) if !line.starts_with(char::is_whitespace) => {
                secret = is_secret(service, section, name.trim());
                let value = value.trim();
                let value = match secret {
                    true => hidden(value),
                    false => without_password(value),
                };
                shown.push_str(format!("{} = {value}", name.trim()).trim_end());
            }
            _ => shown.push_str(&without_password(line)),
        }
        shown.push('\n');
    }
    shown
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
