//! The certificate of live migrations, which QEMU reads.

use super::{MIGRATION, NODE, Pod, of};

/// QEMU stays in the mounts of the pod that has started it, whose volumes don't change any more once that pod is deleted.
#[test]
fn qemu_reads_the_certificate_of_migrations_on_the_node_and_a_renewed_one_too() {
    let pod = Pod::encrypted("instance-1\n", |_| ());
    let sides = |pod: &Pod| ["server", "client"].map(|side| pod.read_as(side, MIGRATION));
    assert_eq!(sides(&pod), [of("the node"), of("the node")]);
    let key = format!("{MIGRATION}/client-key.pem");
    assert_eq!([pod.mode(MIGRATION), pod.mode(&key)], [0o750, 0o440]);
    pod.replace(&format!("{NODE}/tls.crt"), "renewed");
    pod.rounds();
    let [authority, _, key] = of("the node");
    let renewed = [authority, "renewed".to_owned(), key];
    assert_eq!(sides(&pod), [renewed.clone(), renewed]);
    assert_eq!(pod.read(), of("consoles"));
    assert_eq!(pod.lines("reloaded"), Vec::<String>::new());
}
