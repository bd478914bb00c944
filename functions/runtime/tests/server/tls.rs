//! Mutual TLS: who gets in, and what happens when certificates change.

use std::fs;
use std::time::{Duration, Instant};

use function_protocol::v1::RunFunctionResponse;
use function_runtime::{ServeError, Server, Tls};
use tempfile::TempDir;
use tonic::transport::ClientTlsConfig;

use crate::certificates::{Authority, swap};
use crate::serving::{Outcome, Serving, V1, call, desired, options, request};

async fn call_as(client: ClientTlsConfig, serving: &Serving) -> Outcome<RunFunctionResponse> {
    let channel = serving.tls_client(client).await?;
    Ok(call(&channel, V1, request("Fine", 0)).await?)
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_get_in() -> Outcome {
    let (directory, authority, other) = (
        TempDir::new()?,
        Authority::new("one")?,
        Authority::new("other")?,
    );
    authority.fill(directory.path())?;
    let serving = Serving::start(Tls::Directory(directory.path().to_owned())).await?;

    assert_eq!(
        desired(&call_as(authority.client()?, &serving).await?),
        ["ours", "theirs"]
    );
    assert!(call_as(authority.stranger(), &serving).await.is_err());
    let theirs = other.issue("core.test")?;
    let identity = tonic::transport::Identity::from_pem(theirs.certificate, theirs.key);
    assert!(
        call_as(authority.stranger().identity(identity), &serving)
            .await
            .is_err()
    );
    let plain = async { Ok(call(&serving.client().await?, V1, request("Fine", 0)).await?) };
    assert!(Outcome::is_err(&plain.await));
    assert_eq!(
        desired(&call_as(authority.client()?, &serving).await?),
        ["ours", "theirs"]
    );
    serving.stop().await
}

#[tokio::test]
async fn a_connection_without_a_handshake_holds_up_nobody() -> Outcome {
    let (directory, authority) = (TempDir::new()?, Authority::new("one")?);
    authority.fill(directory.path())?;
    let serving = Serving::start(Tls::Directory(directory.path().to_owned())).await?;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(tokio::net::TcpStream::connect(serving.address).await?);
    }
    // One after the other, the silent ones would take 200 s.
    let called = tokio::time::timeout(
        Duration::from_secs(60),
        call_as(authority.client()?, &serving),
    );
    assert_eq!(desired(&called.await??), ["ours", "theirs"]);
    drop(silent);
    serving.stop().await
}

/// Whether a client gets in: within seconds, and within a minute on a busy machine.
async fn gets_in(authority: &Authority, serving: &Serving) -> Outcome<bool> {
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(60) {
        if call_as(authority.client()?, serving).await.is_ok() {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(false)
}

#[tokio::test]
async fn new_certificates_are_taken_on_and_bad_ones_are_not() -> Outcome {
    let (directory, old, new) = (
        TempDir::new()?,
        Authority::new("old")?,
        Authority::new("new")?,
    );
    let path = directory.path();
    old.mount(path, "..1")?;
    let serving = Serving::start(Tls::Directory(path.to_owned())).await?;
    let open = serving.tls_client(old.client()?).await?;
    assert_eq!(
        desired(&call(&open, V1, request("Fine", 0)).await?),
        ["ours", "theirs"]
    );

    new.mount(path, "..2")?;
    assert!(gets_in(&new, &serving).await?);
    assert!(call_as(old.client()?, &serving).await.is_err());
    // Who is connected stays so.
    assert_eq!(
        desired(&call(&open, V1, request("Fine", 0)).await?),
        ["ours", "theirs"]
    );

    old.mount(path, "..3")?;
    fs::write(path.join("..3/tls.key"), "nothing like a key")?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(call_as(new.client()?, &serving).await.is_ok());
    swap(path, "..1")?;
    assert!(gets_in(&old, &serving).await?);
    drop(open);
    serving.stop().await
}

#[tokio::test]
async fn unusable_files_are_named() -> Outcome {
    let (directory, authority) = (TempDir::new()?, Authority::new("one")?);
    let path = directory.path();
    let other_key = authority.issue("function.test")?.key;
    let broken = "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n";
    let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let not_a_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let unfinished = "-----BEGIN PRIVATE KEY-----\nAAAA\n";
    let cases = [
        (
            "tls.crt",
            None,
            "cannot read {}: No such file or directory (os error 2); the folder must hold tls.crt, tls.key and ca.crt",
        ),
        (
            "ca.crt",
            None,
            "cannot read {}: No such file or directory (os error 2); the folder must hold tls.crt, tls.key and ca.crt",
        ),
        ("tls.crt", Some(""), "{} holds no certificate"),
        ("ca.crt", Some("no PEM at all"), "{} holds no certificate"),
        ("tls.key", Some(""), "{} holds no private key"),
        (
            "tls.key",
            Some(&*other_key),
            "{} is not the key of the certificate in tls.crt beside it",
        ),
        ("tls.crt", Some(broken), "{} is malformed PEM: "),
        ("tls.key", Some(unfinished), "{} is malformed PEM: "),
        ("tls.crt", Some(not_der), "{} cannot be used: "),
        ("ca.crt", Some(not_der), "{} cannot be used: "),
        ("tls.key", Some(not_a_key), "{} cannot be used: "),
    ];
    for (name, content, message) in cases {
        authority.fill(path)?;
        let file = path.join(name);
        match content {
            Some(content) => fs::write(&file, content)?,
            None => fs::remove_file(&file)?,
        }
        let bound = Server::bind(&options(Tls::Directory(path.to_owned()))).await;
        let refused = bound
            .map(|server| server.address())
            .unwrap_err()
            .to_string();
        let expected = message.replace("{}", &file.display().to_string());
        assert!(
            refused.starts_with(&expected),
            "{refused} should start with {expected}"
        );
        assert!(!refused.contains('\n'), "{refused}");
    }
    Ok(())
}

#[test]
fn insecure_wins_over_a_folder_and_must_be_asked_for() {
    let folder = || Some("/tls".into());
    assert_eq!(Tls::from_flags(true, folder()).unwrap(), Tls::Insecure);
    assert_eq!(Tls::from_flags(true, None).unwrap(), Tls::Insecure);
    assert_eq!(
        Tls::from_flags(false, folder()).unwrap(),
        Tls::Directory("/tls".into())
    );
    let refused = Tls::from_flags(false, None).unwrap_err();
    assert!(matches!(refused, ServeError::NoTls));
    assert!(refused.to_string().contains("--insecure"));
}
