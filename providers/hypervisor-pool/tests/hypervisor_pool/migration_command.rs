//! What a host does for the nova-compute of another one, as a script.

use std::fs;

use rstest::rstest;

use crate::root::Root;

const COMMAND: &str = include_str!("../../src/scripts/migration-command.sh");
/// A server, by its folder.
const FOLDER: &str = "var/lib/nova/instances/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f";
const PROBE: &str = "0123456789abcdef0123456789abcdef.tmp";
const REFUSED: &str = "this command is not allowed: only Nova's, for resizes and cold migrations";

/// A host, with the folder of a server that another host has brought.
fn host() -> Root {
    let root = Root::new();
    root.write(&format!("{FOLDER}/disk"), "content");
    root.program("scp", "echo \"$@\" > \"$ROOT/scp\"");
    root.program("stat", "cat \"$ROOT/type\"");
    root.write("type", "xfs\n");
    root
}

/// Runs a command, with `/var/lib` in it below the host's folder. Returns what it says if it fails.
fn run(host: &Root, command: &str) -> Result<(), String> {
    let root = host.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let output = host
        .script(COMMAND, &["/var/lib/"])
        .env(
            "SSH_ORIGINAL_COMMAND",
            command.replace("/var/lib/", &format!("{root}/var/lib/")),
        )
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8(output.stderr).unwrap().replace(root, "")),
    }
}

fn refused(message: &str) -> Result<(), String> {
    Err(format!("{message}\n"))
}

#[test]
fn commands_of_nova_are_run() {
    let host = host();
    let new = "var/lib/nova/instances/11111111-0a1b-0a1b-0a1b-0a1b2c3d4e5f";
    assert_eq!(run(&host, &format!("mkdir -p /{new}")), Ok(()));
    assert!(host.path(new).is_dir());
    assert_eq!(run(&host, &format!("mkdir -p /{new}")), Ok(()), "again");
    let probe = format!("{new}/{PROBE}");
    assert_eq!(run(&host, &format!("touch /{probe}")), Ok(()));
    assert!(host.path(&probe).is_file());
    assert_eq!(run(&host, &format!("rm /{probe}")), Ok(()));
    assert!(!host.path(&probe).exists());
    for target in [
        format!("{new}/disk"),
        format!("{new}/disk.eph0"),
        new.to_owned(),
    ] {
        assert_eq!(run(&host, &format!("scp -r -t /{target}")), Ok(()));
        let arguments = fs::read_to_string(host.path("scp")).unwrap();
        assert_eq!(
            arguments,
            format!("-r -t {}\n", host.path(&target).display())
        );
    }
    assert_eq!(run(&host, &format!("rm -rf /{FOLDER}")), Ok(()));
    assert!(!host.path(FOLDER).exists());
}

/// Nova tries first whether both hosts see the same folder, and takes a failure for a no.
#[test]
fn probe_of_a_server_that_is_new_to_the_host_fails() {
    let host = host();
    let new = "/var/lib/nova/instances/11111111-0a1b-0a1b-0a1b-0a1b2c3d4e5f";
    assert!(run(&host, &format!("touch {new}/{PROBE}")).is_err());
    assert!(!host.path(&new[1..]).exists());
}

/// The server's folder is F in each.
#[rstest]
#[case::nothing("")]
#[case::shell("sh")]
#[case::other_program("cat F/disk")]
#[case::sftp("/usr/lib/openssh/sftp-server")]
#[case::rsync("rsync --server -re.LsfxC . F/disk")]
#[case::copy_from_the_host("scp -r -f F/disk")]
#[case::copy_of_a_file_alone("scp -t F/disk")]
#[case::copy_with_another_option("scp -r -p -t F/disk")]
#[case::copy_through_a_program("scp -r -S /bin/sh -t F/disk")]
#[case::copy_above_the_folder("scp -r -t F/../disk")]
#[case::copy_below_a_folder("scp -r -t F/a/b")]
#[case::copy_to_a_hidden_file("scp -r -t F/.disk")]
#[case::copy_to_an_option("scp -r -t F/-disk")]
#[case::copy_to_all_servers("scp -r -t /var/lib/nova/instances")]
#[case::copy_to_the_identity_of_the_host("scp -r -t /var/lib/nova/compute_id")]
#[case::copy_to_the_system("scp -r -t /etc/passwd")]
#[case::second_command("mkdir -p F;id")]
#[case::second_command_after_success("mkdir -p F && id")]
#[case::second_command_in_the_background("mkdir -p F & id")]
#[case::second_command_by_a_pipe("mkdir -p F | id")]
#[case::second_line("mkdir -p F\nid")]
#[case::first_line("id\nmkdir -p F")]
#[case::substitution("mkdir -p F $(id)")]
#[case::old_substitution("mkdir -p F `id`")]
#[case::variable("mkdir -p F$0")]
#[case::redirection("touch F/0123456789abcdef0123456789abcdef.tmp > F/disk")]
#[case::quotes("mkdir -p 'F'")]
#[case::backslash("mkdir -p F\\")]
#[case::tab("mkdir\t-p F")]
#[case::leading_space(" mkdir -p F")]
#[case::trailing_space("mkdir -p F ")]
#[case::two_spaces("mkdir  -p F")]
#[case::second_folder("rm -rf F F")]
#[case::second_option("rm -rf --no-preserve-root F")]
#[case::options_apart("rm -r -f F")]
#[case::parent("rm -rf F/..")]
#[case::way_up("rm -rf F/../../compute_id")]
#[case::all_servers("rm -rf /var/lib/nova/instances")]
#[case::pattern("rm -rf /var/lib/nova/instances/*")]
#[case::pattern_of_a_folder("rm -rf /var/lib/nova/instances/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5?")]
#[case::file("rm F/disk")]
#[case::file_of_any_name("touch F/new")]
#[case::file_in_a_folder("rm -rf F/disk")]
#[case::folder_of_another_name("mkdir -p /var/lib/nova/instances/_base")]
#[case::folder_elsewhere("mkdir -p /tmp/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f")]
#[case::longer_name("rm -rf F0")]
#[case::other_letters("rm -rf /var/lib/nova/instances/0A1B2C3D-0a1b-0a1b-0a1b-0a1b2c3d4e5f")]
fn other_commands_are_refused(#[case] command: &str) {
    let host = host();
    let before = host.tree("var");
    let command = command.replace('F', &format!("/{FOLDER}"));
    assert_eq!(run(&host, &command), refused(REFUSED), "{command}");
    assert_eq!(host.tree("var"), before);
    assert!(!host.path("scp").exists());
}

const CHANGES: [&str; 5] = [
    "mkdir -p F",
    "touch F/P",
    "rm F/P",
    "rm -rf F",
    "scp -r -t F/disk",
];

fn each(change: &str) -> String {
    change
        .replace('F', &format!("/{FOLDER}"))
        .replace('P', PROBE)
}

/// nova-compute and QEMU are other users than the one of the script.
#[test]
fn server_of_the_host_is_left_alone() {
    let host = host();
    host.write(&format!("{FOLDER}/{PROBE}"), "");
    host.program("id", "echo 4242424");
    let before = host.tree("var");
    for change in CHANGES {
        let message = format!(
            "/{FOLDER} has files of this host's nova-compute: if the server isn't on this host, delete the folder there"
        );
        assert_eq!(run(&host, &each(change)), refused(&message), "{change}");
    }
    assert_eq!(host.tree("var"), before);
    assert!(!host.path("scp").exists());
}

/// Nova would rename the folder of a server, copy its disk over itself, and delete both when that fails.
#[test]
fn file_system_that_hosts_may_share_is_left_alone() {
    let host = host();
    host.write(&format!("{FOLDER}/{PROBE}"), "");
    host.write("type", "nfs\n");
    let before = host.tree("var");
    for change in CHANGES {
        let message = "/var/lib/nova/instances is on a file system of the type nfs, which other hosts may use: servers can't move between \
                       these hosts";
        assert_eq!(run(&host, &each(change)), refused(message), "{change}");
    }
    assert_eq!(host.tree("var"), before);
}
