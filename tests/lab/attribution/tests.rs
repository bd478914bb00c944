use super::Moment::{Created, End, Last};
use super::*;

const PATH: Path = Path {
    begin: ("claims", "claim"),
    parts: &[
        &[
            // It is created while Keystone's operator reacts.
            Step::by_others("the volume", "Rook", Created(("volumes", ""))),
            Step::by_operators("Keystone", &[("databases", "")], Created(("jobs", "sync"))),
            Step::by_operators("users", &[("jobs", "")], Created(("users.k", "")))
                .asking("Keystone"),
            Step::by_operators("the state", &[("jobs", "")], Last(&[("novas", "")], None)),
        ],
        &[Step::by_others("a server", "Nova", End)],
    ],
    limit: 5.0,
};

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap()
}

/// A write of one of this project's operators, or of another user, at so many milliseconds.
fn write(is_ours: bool, code: u16, resource: &str, name: &str, milliseconds: i64) -> Request {
    let user = match is_ours {
        true => Operator::user("nova"),
        false => "system:serviceaccount:c5c3-system-2:nova-operator".to_owned(),
    };
    Request {
        user,
        agent: String::new(),
        verb: "patch".to_owned(),
        group: String::new(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        code,
        time: at(milliseconds),
        took: std::time::Duration::ZERO,
        is_dry_run: false,
    }
}

#[test]
fn logs_are_merged_by_time_with_other_names_and_without_what_changes_nothing() {
    let read = Request {
        verb: "get".to_owned(),
        ..write(false, 200, "pods", "agents-first/a", 10)
    };
    let dry_run = Request {
        is_dry_run: true,
        ..write(false, 201, "pods", "agents-first/b", 10)
    };
    let hypervisors = vec![
        write(false, 200, "pods/status", "agents-first/c", 30),
        write(false, 409, "pods/status", "agents-first/d", 10),
        write(false, 200, "pods/status", "kube-system/e", 10),
        write(true, 201, "shares", "first", 10),
        read,
        dry_run,
    ];
    let control_plane = vec![write(false, 201, "jobs", "openstack-first/sync", 20)];
    let of_hypervisors: Names = &[("agents-first", "agents"), ("first", "share")];
    let of_control_plane: Names = &[("openstack-first/", "")];
    let merged = merged([
        (hypervisors, of_hypervisors),
        (control_plane, of_control_plane),
    ]);
    let names: Vec<&str> = merged.iter().map(|write| write.name.as_str()).collect();
    assert_eq!(names, ["share", "sync", "agents/c"]);
}

#[test]
fn waits_are_attributed_to_those_who_wrote_last() {
    let user = Request {
        group: "k".to_owned(),
        ..write(true, 201, "users", "a", 9000)
    };
    let writes = [
        write(false, 201, "claims", "claim", 1000),
        write(false, 200, "databases/status", "keystone", 3500),
        write(true, 200, "databases", "keystone", 3900),
        write(false, 201, "volumes", "a", 3960),
        write(true, 201, "jobs", "sync-1", 4000),
        // Another group's users, and a second Job.
        write(true, 201, "users", "b", 4100),
        write(true, 201, "jobs", "sync-2", 4200),
        write(true, 200, "novas/status", "nova", 4300),
        write(false, 200, "jobs/status", "sync-1", 8000),
        user,
        write(true, 200, "novas/status", "nova", 9210),
        write(false, 200, "novas", "nova", 9300),
        // After the end.
        write(true, 200, "novas/status", "nova", 99_000),
    ];
    let attribution = PATH.attribute(&writes, at(21_000));
    assert_eq!(
        attribution.to_string(),
        "\
        | Step | at | other operators | this project |\n\
        |---|---:|---:|---:|\n\
        | the volume (Rook) | 3.0 s | 3.0 s |  |\n\
        | Keystone | 3.0 s | 0.0 s | 0.50 s |\n\
        | users, with answers of Keystone | 8.0 s | 4.0 s | 1.00 s |\n\
        | the state | 8.2 s | 0.0 s | 1.21 s |\n\
        | a server (Nova) | 20.0 s | 11.8 s |  |\n\
        | total of this project, of 5 s | | | 1.71 s |"
    );
    assert!(attribution.check().is_ok());
}

#[test]
fn steps_that_no_log_has_are_named() {
    let writes = [write(true, 201, "jobs", "sync", 4000)];
    let attribution = PATH.attribute(&writes, at(5000));
    assert_eq!(
        attribution.to_string(),
        "\
        | Step | at | other operators | this project |\n\
        |---|---:|---:|---:|\n\
        | Keystone | 0.0 s | 0.0 s |  |\n\
        | a server (Nova) | 1.0 s | 1.0 s |  |\n\
        | the volume (Rook) | not seen | | |\n\
        | users, with answers of Keystone | not seen | | |\n\
        | the state | not seen | | |\n\
        | the beginning: claims | not seen | | |\n\
        | what others wrote before: Keystone | not seen | | |\n\
        | total of this project, of 5 s | | | 0.00 s |"
    );
}

#[test]
fn operators_that_take_too_long_fail_the_check() {
    let writes = [
        write(false, 201, "claims", "claim", 0),
        write(false, 201, "databases", "keystone", 0),
        write(true, 201, "jobs", "sync", 5000),
    ];
    let error = PATH.attribute(&writes, at(6000)).check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "this project's operators took 5.00 s, and 5 s are allowed"
    );
}
