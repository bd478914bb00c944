//! Certificates of consoles, which QEMU reads.

use std::fs;

use super::{CONSOLES, NODE, Pod, READ, give, of};

/// A server outlives the pod that has started it, and that pod's volumes.
#[test]
fn qemu_reads_the_certificate_of_consoles_on_the_node_and_again_when_it_is_renewed() {
    let pod = Pod::encrypted("plain\ninstance-1\n", |_| ());
    assert_eq!(pod.read(), of("consoles"));
    let key = format!("{READ}/server-key.pem");
    assert_eq!([pod.mode(READ), pod.mode(&key)], [0o750, 0o440]);
    pod.rounds();
    assert_eq!(pod.lines("reloaded"), Vec::<String>::new());
    pod.replace(&format!("{CONSOLES}/tls.crt"), "renewed");
    pod.rounds();
    let [authority, _, key] = of("consoles");
    assert_eq!(pod.read(), [authority, "renewed".to_owned(), key]);
    assert_eq!(pod.lines("reloaded"), ["plain", "instance-1"]);
    pod.rounds();
    assert_eq!(pod.lines("reloaded").len(), 2, "once is enough");
}

/// A control plane without certificates of consoles must not have QEMU refuse to start, nor start without TLS.
#[test]
fn certificate_of_the_node_stands_in_until_there_is_one_of_consoles() {
    let pod = Pod::start(|root| {
        give(root, NODE, "the node");
        fs::create_dir_all(root.path(CONSOLES)).unwrap();
        root.write("servers", "instance-1\n");
    });
    pod.until("libvirt starts", |pod| pod.exists("started"));
    assert_eq!(pod.read(), of("the node"));
    let [authority, certificate, key] = of("consoles");
    pod.replace(&format!("{CONSOLES}/ca.crt"), &authority);
    pod.replace(&format!("{CONSOLES}/tls.crt"), &certificate);
    pod.rounds();
    assert_eq!(pod.read(), of("the node"), "it isn't complete");
    pod.replace(&format!("{CONSOLES}/tls.key"), &key);
    pod.rounds();
    assert_eq!(pod.read(), of("consoles"));
    assert_eq!(pod.lines("reloaded"), ["instance-1"]);
}

#[test]
fn servers_are_told_of_a_renewed_certificate_once_libvirt_answers() {
    let pod = Pod::encrypted("instance-1\n", |_| ());
    pod.root.write("down", "");
    pod.replace(&format!("{CONSOLES}/tls.crt"), "renewed");
    pod.rounds();
    assert_eq!(pod.lines("reloaded"), Vec::<String>::new());
    fs::remove_file(pod.root.path("down")).unwrap();
    pod.rounds();
    assert_eq!(pod.lines("reloaded"), ["instance-1"]);
}

/// A monitor of QEMU may hang for as long as the storage that it waits for.
#[test]
fn server_that_does_not_answer_keeps_no_other_from_a_renewed_certificate() {
    let pod = Pod::encrypted("stuck\ninstance-1\n", |_| ());
    pod.replace(&format!("{CONSOLES}/tls.crt"), "renewed");
    pod.until("both are told", |pod| pod.lines("reloaded").len() >= 2);
    pod.rounds();
    assert_eq!(pod.lines("reloaded"), ["stuck", "instance-1"]);
}

#[test]
fn server_that_was_busy_is_told_of_its_certificate_again() {
    let pod = Pod::encrypted("plain\ninstance-1\n", |root| root.write("hours", ""));
    pod.until("an hour has passed twice", |pod| {
        let told = pod.lines("reloaded");
        told.iter().filter(|server| *server == "instance-1").count() >= 2
    });
}
