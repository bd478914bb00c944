//! How scenarios are run: once more after a failure, stopped after twice their budget or with their run, and what is said of it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::suite::{CLUSTER, Scenario};
use lab::{
    Cluster, Context, Etcd, Kind, Result, TIME_SCALE, bail, ensure, eventually, kind, minutes,
    never, scaled, scenario, seconds,
};

/// What there is. Scenarios that run the same fixture would remove each other's logs, so each has fixtures of its own.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 30 s, scenario_that_fails_once_is_flaky, []),
    scenario!(Gate, 30 s, scenario_that_fails_twice_fails_the_run, []),
    scenario!(Gate, 30 s, scenario_in_which_something_forbidden_happens_has_no_second_run, []),
    scenario!(Gate, 30 s, scenario_that_hangs_is_stopped_and_named, []),
    scenario!(Gate, 30 s, scenario_on_a_slow_machine_has_more_time, []),
    scenario!(Gate, 30 s, scenario_ends_with_a_run_that_is_killed, []),
    scenario!(Gate, 60 s, waiting_for_an_api_server_that_was_killed_stops_within_seconds, [CLUSTER]),
    scenario!(Fixture, 10 s, fails_once, []),
    scenario!(Fixture, 10 s, fails, []),
    scenario!(Fixture, 10 s, passes, []),
    scenario!(Fixture, 10 s, fails_beside_one_that_hangs, []),
    scenario!(Fixture strict, 10 s, asserts, []),
    scenario!(Fixture, 10 s, does_what_it_must_not, []),
    scenario!(Fixture, 2 s, hangs, []),
    scenario!(Fixture, 10 s, waits, []),
    scenario!(Fixture, 60 s, lasts, []),
];

const NAMESPACE: Kind = kind("v1", "Namespace");

/// The variable with a file that the first run of `fails_once` creates, and to which `lasts` writes its process ID.
const MARK: &str = "LAB_MARK";

fn scenario_that_fails_once_is_flaky() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mark = folder.path().join("mark");
    let run = run(&["runs::fails_once"], &[(MARK, mark.as_os_str())])?;
    let printed = printed(&run);
    ensure!(run.status.success(), "{printed}");
    ensure!(
        printed.contains("this is the first run")
            && printed.contains("test runs::fails_once ... flaky (")
            && !printed.contains("FAILED"),
        "{printed}"
    );
    let mut results = lab::results().context("the runner gives no folder")?;
    results.set_file_name("fails_once");
    ensure!(
        results.join("first").is_dir(),
        "the first run's logs are lost: {}",
        results.display()
    );
    Ok(())
}

fn scenario_that_fails_twice_fails_the_run() -> Result<()> {
    let run = run(&["runs::fails", "runs::passes"], &[])?;
    let printed = printed(&run);
    ensure!(!run.status.success(), "{printed}");
    ensure!(
        printed.matches("start runs::fails (").count() == 2
            && printed.matches("test runs::fails ... FAILED (").count() == 1
            && printed.contains("run: cargo xtask test runs::fails"),
        "{printed}"
    );
    Ok(())
}

fn scenario_in_which_something_forbidden_happens_has_no_second_run() -> Result<()> {
    for fixture in ["runs::asserts", "runs::does_what_it_must_not"] {
        let run = run(&[fixture], &[])?;
        let printed = printed(&run);
        ensure!(
            !run.status.success()
                && printed.matches(&format!("start {fixture} (")).count() == 1
                && printed.contains(&format!("test {fixture} ... FAILED (")),
            "{printed}"
        );
    }
    Ok(())
}

fn scenario_that_hangs_is_stopped_and_named() -> Result<()> {
    let late = run(&["runs::hangs"], &[(TIME_SCALE, OsStr::new("1.5"))])?;
    let text = printed(&late);
    ensure!(
        !late.status.success()
            && text.contains("runs::hangs (stopped after 6 s)")
            && text.contains("stopped by SIGTERM\nit ends: not yet; last seen: it hangs"),
        "{text}"
    );
    let both = ["runs::hangs", "runs::fails_beside_one_that_hangs"];
    let out_of_time = run(&[&both[..], &["--within", "3"]].concat(), &[])?;
    let text = printed(&out_of_time);
    ensure!(
        !out_of_time.status.success()
            && text.contains("runs::hangs (stopped: the time of the whole run is up)"),
        "{text}"
    );
    Ok(())
}

fn scenario_on_a_slow_machine_has_more_time() -> Result<()> {
    let slow = run(&["runs::waits"], &[(TIME_SCALE, OsStr::new("2"))])?;
    let text = printed(&slow);
    ensure!(
        !slow.status.success()
            && text.contains("time-outs are 2.00 times as long as written")
            && text.contains("it is so: not so after 2 s; last seen: it isn't")
            && text.contains(" s of 20 s)"),
        "{text}"
    );
    let refused = run(&["runs::waits"], &[(TIME_SCALE, OsStr::new("slow"))])?;
    let text = printed(&refused);
    ensure!(
        !refused.status.success()
            && text.contains("LAB_TIME_SCALE must be a number from 1 to 4")
            && !text.contains("start runs::waits"),
        "{text}"
    );
    Ok(())
}

fn scenario_ends_with_a_run_that_is_killed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mark = folder.path().join("mark");
    let mut run = Command::new(env::current_exe()?)
        .arg("runs::lasts")
        .env(MARK, &mark)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("the scenarios can't be started")?;
    let process = found("the scenario has started", || {
        fs::read_to_string(&mark)
            .ok()
            .filter(|text| !text.is_empty())
    })?;
    run.kill()?;
    run.wait()?;
    found("the scenario has ended", || {
        // A process that has ended and that nobody has waited for has no command line.
        let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.is_empty().then_some(())
    })
}

/// Waits for what doesn't happen in a lab of this process.
fn found<T>(what: &str, look: impl Fn() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        ensure!(started.elapsed() < scaled(seconds(20)), "{what}: not yet");
        thread::sleep(Duration::from_millis(50));
    }
}

fn waiting_for_an_api_server_that_was_killed_stops_within_seconds() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "storage").await?;
        let process = machine.running()["kube-apiserver-storage"].to_string();
        let kill = ["-c", "kill -s KILL \"$0\"", &process];
        let killed = Command::new("sh").args(kill).status()?;
        ensure!(killed.success(), "the API server can't be killed");
        let started = Instant::now();
        let waited = eventually("a namespace is there", minutes(10), async || {
            cluster.get(NAMESPACE, "not-there").await
        });
        let Err(error) = waited.await else {
            bail!("the API server was killed")
        };
        let error = format!("{error:#}");
        ensure!(
            error.contains("kube-apiserver-storage ended by itself"),
            "{error}"
        );
        ensure!(
            started.elapsed() < scaled(seconds(30)),
            "{:?}",
            started.elapsed()
        );
        Ok(())
    })
}

/// Runs scenarios as the command line does.
fn run(arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<Output> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .context("the scenarios can't be started")
}

fn printed(run: &Output) -> String {
    let [out, error] = [&run.stdout, &run.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{error}")
}

fn fails_once() -> Result<()> {
    let Some(mark) = env::var_os(MARK) else {
        return Ok(());
    };
    if fs::exists(&mark)? {
        return Ok(());
    }
    fs::write(mark, "")?;
    bail!("this is the first run")
}

fn fails() -> Result<()> {
    bail!("it always fails")
}

fn passes() -> Result<()> {
    Ok(())
}

fn fails_beside_one_that_hangs() -> Result<()> {
    fails()
}

fn asserts() -> Result<()> {
    assert!(!fs::exists("/proc")?, "a tenant reads another's Secret");
    Ok(())
}

fn does_what_it_must_not() -> Result<()> {
    lab::on_a_bare_machine(async |_| {
        never("a user's data are deleted", minutes(1), async || {
            bail!("they are deleted")
        })
        .await
    })
}

fn hangs() -> Result<()> {
    lab::on_a_bare_machine(async |_| {
        eventually("it ends", minutes(10), async || bail!("it hangs")).await
    })
}

fn lasts() -> Result<()> {
    if let Some(mark) = env::var_os(MARK) {
        fs::write(mark, std::process::id().to_string())?;
    }
    hangs()
}

fn waits() -> Result<()> {
    lab::on_a_bare_machine(async |_| {
        eventually("it is so", seconds(1), async || bail!("it isn't")).await
    })
}
