//! The script that archives and purges deleted rows, with a nova-manage that only prints how it is called.

use std::process::Command;

use k8s_openapi::api::batch::v1::CronJob;

use super::*;

/// Runs the script with a nova-manage whose commands return these codes. Returns whether it succeeds, and the commands.
fn archived(archive: u8, purge: u8) -> (bool, Vec<String>) {
    let cluster = running();
    let jobs = cluster.all::<CronJob>();
    let pod = &jobs["nova-archive"]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let command = pod["containers"][0]["command"].as_array().unwrap();
    let [program, option, script] = [0, 1, 2].map(|word| command[word].as_str().unwrap());
    assert_eq!((program, option, command.len()), ("sh", "-c", 3));
    let script = script.replace("nova-manage ", "manage ");
    let script = format!(
        "manage() {{ echo \"$4\"; case \"$4\" in purge) return {purge};; *) return {archive};; esac; }}\n{script}"
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let commands = said.lines().map(str::to_owned).collect();
    (output.status.success(), commands)
}

/// <https://docs.openstack.org/nova/latest/cli/nova-manage.html> has the codes.
#[rstest::rstest]
#[case::nothing_was_found(0, 3)]
#[case::rows_were_archived(1, 3)]
#[case::rows_were_archived_and_purged(1, 0)]
#[case::rows_were_purged(0, 0)]
fn archive_succeeds_whether_rows_are_found_or_not(#[case] archive: u8, #[case] purge: u8) {
    let commands = ["archive_deleted_rows", "purge"].map(str::to_owned);
    assert_eq!(archived(archive, purge), (true, commands.to_vec()));
}

#[rstest::rstest]
#[case::of_the_archive(255, 0, &["archive_deleted_rows"])]
#[case::of_the_purge(1, 4, &["archive_deleted_rows", "purge"])]
fn archive_fails_with_an_error(#[case] archive: u8, #[case] purge: u8, #[case] commands: &[&str]) {
    let (succeeds, ran) = archived(archive, purge);
    assert!(!succeeds);
    assert_eq!(ran, commands);
}
