use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Output};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::*;

/// Any part of a credential is recognized.
const SECRET: &str = "ZZZZZZZZZZZZZZZZ";
const PART: &str = "ZZZ";

/// A valid kubeconfig. An empty list of authorities spares reading those of the machine.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters:
- name: a
  cluster:
    server: https://127.0.0.1:1
    certificate-authority-data: Cg==
contexts:
- name: a
  context: {cluster: a, user: a}
- name: b
  context:
    cluster: a
    user: b
current-context: a
users:
- name: b
  user:
    username: b
    password: ZZZZZZZZZZZZZZZZ
- name: a
  user:
    token: ZZZZZZZZZZZZZZZZ
";

#[tokio::test]
async fn client_tells_api_servers_which_program_it_is() {
    let cluster = ClusterConfig {
        config: Config::new("http://127.0.0.1:1".parse().unwrap()),
        origin: String::new(),
    };
    let mut headers = Vec::new();
    let client = cluster.build(|config| {
        headers.clone_from(&config.headers);
        Client::try_from(config)
    });
    assert!(client.is_ok());
    let agent = concat!("c5c3/", env!("CARGO_PKG_VERSION"));
    assert_eq!(headers, [(USER_AGENT, HeaderValue::from_static(agent))]);
}

/// Reads files of these texts and builds a client.
fn refusal(texts: &[&str], context: Option<&str>) -> Option<String> {
    let folder = TempDir::new().unwrap();
    let name = |index: usize| folder.path().join(format!("file-{index}"));
    let files: Vec<PathBuf> = (0..texts.len()).map(name).collect();
    for (file, text) in files.iter().zip(texts) {
        fs::write(file, text).unwrap();
    }
    let refused = match files.as_slice() {
        [file] => {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let client = async {
                ClusterConfig::read(Some(file.as_path()), context)
                    .await?
                    .client()
            };
            runtime.block_on(client).err()
        }
        files => merged(files).err(),
    };
    let place = format!("{}/", folder.path().display());
    refused.map(|error| error.to_string().replace(&place, ""))
}

/// The message of a kubeconfig whose user `a` has this instead of a token.
fn of_user(user: &str) -> String {
    let text = KUBECONFIG.replace("token: ZZZZZZZZZZZZZZZZ", user);
    refusal(&[&text], None).unwrap_or_default()
}

/// The message of a kubeconfig with this replaced.
fn of(from: &str, to: &str) -> String {
    refusal(&[&KUBECONFIG.replace(from, to)], None).unwrap_or_default()
}

fn exec(command: &str, argument: &str) -> String {
    of_user(&format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {command}, args: [{argument:?}]}}"
    ))
}

#[test]
fn valid_kubeconfig_is_accepted() {
    assert_eq!(refusal(&[KUBECONFIG], None), None);
    assert_eq!(refusal(&[KUBECONFIG], Some("b")), None);
}

#[test]
fn yaml_that_is_not_valid_is_refused_with_its_position() {
    let check = "check the indentation, duplicate keys and the types of values";
    let at = |position: &str| {
        format!("the kubeconfig file-0 can't be used: {position} is not valid: {check}")
    };
    for (user, position) in [
        ("token: ZZZZZZZZZZZZZZZZ\n   client: x", "line 24, column 4"),
        ("token: [ZZZZZZZZZZZZZZZZ]", "line 23, column 12"),
        (
            "token: ZZZZZZZZZZZZZZZZ\n    token: ZZZZZZZZZZZZZZZZ",
            "line 24, column 5",
        ),
    ] {
        assert_eq!(of_user(user), at(position), "{user}");
    }
    let second = KUBECONFIG.replace("token: ZZZZZZZZZZZZZZZZ", "token: {ZZZZZZZZZZZZZZZZ: 1}");
    let message = refusal(&[KUBECONFIG, &second], None).unwrap_or_default();
    assert!(
        message.starts_with("the kubeconfig file-1 can't be used: line 23, column "),
        "{message}"
    );
    assert!(!message.contains(PART), "{message}");
}

#[test]
fn kubeconfig_with_a_mistake_is_refused_without_its_text() {
    for (from, to, says) in [
        (
            "https://",
            "https://u:ZZZZZZZZZZZZZZZZ@",
            "server of the cluster must not contain a username or password",
        ),
        (
            "https://127",
            "https:// ZZZZZZZZZZZZZZZZ 127",
            "server of the cluster must be a URL",
        ),
        (
            "current-context: a",
            "current-context: ZZZZZZZZZZZZZZZZ",
            "it has no context of the name in current-context",
        ),
        ("current-context: a", "", "it has no current-context"),
        (
            "{cluster: a,",
            "{cluster: ZZZZZZZZZZZZZZZZ,",
            "it has no cluster of the name in the context",
        ),
        (
            "Cg==",
            "ZZZZZZZZZZZZZZZZ-",
            "certificate-authority-data must be Base64",
        ),
        (
            "certificate-authority-data: Cg==",
            "certificate-authority: ZZZZZZZZZZZZZZZZ",
            "the file that certificate-authority names can't be read: No such file",
        ),
        (
            "certificate-authority-data: Cg==",
            "proxy-url: http://u:ZZZZZZZZZZZZZZZZ@127.0.0.1:1",
            "proxies are not supported",
        ),
    ] {
        let message = of(from, to);
        let expected = format!("the kubeconfig file-0 can't be used: {says}");
        assert!(message.starts_with(&expected), "{message}");
        assert!(!message.contains(PART), "{message}");
    }
}

#[test]
fn credentials_that_are_not_valid_are_refused_without_their_text() {
    let breaks = "of the user must not contain control characters such as line breaks";
    for (user, says) in [
        ("token: \"ZZZZZZZZZZZZZZZZ\\nx\"", format!("token {breaks}")),
        (
            "{username: \"ZZZZZZZZZZZZZZZZ\\n\", password: x}",
            format!("username {breaks}"),
        ),
        (
            "{username: x, password: \"ZZZZZZZZZZZZZZZZ\\0\"}",
            format!("password {breaks}"),
        ),
        (
            "auth-provider: {name: oidc, config: {id-token: \"ZZZZZZZZZZZZZZZZ\\n\"}}",
            format!("id-token {breaks}"),
        ),
        (
            "auth-provider: {name: ZZZZZZZZZZZZZZZZ}",
            "its credentials can't be used".to_owned(),
        ),
        (
            "tokenFile: ZZZZZZZZZZZZZZZZ",
            "the file that tokenFile names can't be read: No such file".to_owned(),
        ),
        (
            "{client-certificate-data: Cg==, client-key-data: ZZZZZZZZZZZZZZZZ-}",
            "client-key-data must be Base64".to_owned(),
        ),
        (
            "{client-certificate-data: Cg==, client-key-data: Cg==}",
            "a certificate, a key or a name isn't valid".to_owned(),
        ),
        (
            "{token: x, as: \"ZZZZZZZZZZZZZZZZ\\n\"}",
            "as, as-uid, as-groups and as-user-extra".to_owned(),
        ),
    ] {
        let message = of_user(user);
        let expected = format!("the kubeconfig file-0 can't be used: {says}");
        assert!(message.starts_with(&expected), "{user}: {message}");
        assert!(!message.contains(PART), "{message}");
    }
}

#[test]
fn failing_exec_plugin_is_named_without_arguments_and_output() {
    let used = "the kubeconfig file-0 can't be used: the exec plugin";
    assert_eq!(
        exec("cat", "/nonexistent/ZZZZZZZZZZZZZZZZ"),
        format!("{used} cat failed with exit status: 1; run it in a terminal to see why")
    );
    for printed in ["ZZZZZZZZZZZZZZZZ", "{ZZZZZZZZZZZZZZZZ: [x"] {
        assert_eq!(
            exec("echo", printed),
            format!(
                "{used} echo must print an ExecCredential; run it in a terminal to see its output"
            )
        );
    }
    let missing = exec("/nonexistent/ZZZZZZZZZZZZZZZZ/plugin", SECRET);
    assert!(
        missing.starts_with(&format!("{used} plugin can't be started: No such file")),
        "{missing}"
    );
    assert!(!missing.contains(PART), "{missing}");
}

#[test]
fn exec_plugin_that_fails_later_is_named_without_arguments_and_output() {
    let redact = redacting("the exec plugin aws".to_owned());
    let out = Output {
        status: ExitStatus::from_raw(256),
        stdout: SECRET.into(),
        stderr: SECRET.into(),
    };
    let failed = AuthError::AuthExecRun {
        cmd: format!("aws --key {SECRET}"),
        out: Box::new(out),
    };
    assert_eq!(
        redact(failed.into()).to_string(),
        "the exec plugin aws failed with exit status: 1; run it in a terminal to see why"
    );
    let other = BoxError::from("connection refused");
    assert_eq!(redact(other).to_string(), "connection refused");
}

/// Deletes, duplicates or inserts characters (below 3) or lines.
fn corrupted(edits: &[(u8, Index, String)]) -> String {
    let mut text = KUBECONFIG.to_owned();
    for (kind, position, inserted) in edits {
        let mut parts: Vec<String> = match kind {
            0..3 => text.chars().map(String::from).collect(),
            _ => text.split_inclusive('\n').map(str::to_owned).collect(),
        };
        let index = position.index(parts.len());
        match kind % 3 {
            0 => drop(parts.remove(index)),
            1 => parts.insert(index, parts[index].clone()),
            _ => parts.insert(index, inserted.clone()),
        }
        text = parts.concat();
    }
    text
}

fn inserted() -> impl Strategy<Value = String> {
    let syntax: Vec<char> = ":-[]{}'\"|>&*!%@`#,?\\~\n\t \0\r".chars().collect();
    prop_oneof![select(syntax), any::<char>()].prop_map(String::from)
}

proptest! {
    #[test]
    fn corrupted_kubeconfig_is_never_quoted(edits in vec((0_u8..6, any::<Index>(), inserted()), 1..6)) {
        let text = corrupted(&edits);
        if let Some(message) = refusal(&[&text], None) {
            prop_assert!(!message.contains(PART), "{message}");
            prop_assert_eq!(message.lines().count(), 1);
        }
    }
}

/// Parses a text that isn't a file and builds a client. Returns why that fails.
fn parsed(text: &str) -> Option<String> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = async { ClusterConfig::parse(text, "the kubeconfig").await?.client() };
    let refused: Result<_, ConfigError> = runtime.block_on(client);
    refused.err().map(|error| error.to_string())
}

#[test]
fn text_that_has_everything_itself_is_a_kubeconfig() {
    assert_eq!(parsed(KUBECONFIG), None);
    let invalid = parsed("ZZZZZZZZZZZZZZZZ: [").unwrap();
    assert!(
        invalid.starts_with("the kubeconfig can't be used: "),
        "{invalid}"
    );
    assert!(!invalid.contains(PART), "{invalid}");
}

#[test]
fn text_that_names_files_or_commands_is_refused() {
    for (from, to, field) in [
        (
            "    token: ZZZZZZZZZZZZZZZZ",
            "    exec: {apiVersion: client.authentication.k8s.io/v1, command: ZZZZZZZZZZZZZZZZ}",
            "exec",
        ),
        (
            "    token: ZZZZZZZZZZZZZZZZ",
            "    auth-provider: {name: oidc, config: {cmd-path: ZZZZZZZZZZZZZZZZ}}",
            "auth-provider",
        ),
        (
            "    token: ZZZZZZZZZZZZZZZZ",
            "    tokenFile: /ZZZZZZZZZZZZZZZZ",
            "tokenFile",
        ),
        (
            "    username: b",
            "    client-certificate: /ZZZZZZZZZZZZZZZZ",
            "client-certificate",
        ),
        (
            "    username: b",
            "    client-key: /ZZZZZZZZZZZZZZZZ",
            "client-key",
        ),
        (
            "certificate-authority-data: Cg==",
            "certificate-authority: /ZZZZZZZZZZZZZZZZ",
            "certificate-authority",
        ),
    ] {
        let changed = KUBECONFIG.replace(from, to);
        assert_ne!(changed, KUBECONFIG, "{field}");
        let message = parsed(&changed).unwrap();
        let expected = format!("the kubeconfig can't be used: it must not have {field}, since");
        assert!(message.starts_with(&expected), "{message}");
        assert!(!message.contains(PART), "{message}");
    }
}
