//! The exporter of processes, run beside the processes of this machine.

#![cfg(test)]

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

const EXPORTER: &str = concat!(
    include_str!("../src/metrics/processes.py"),
    "\n\n",
    include_str!("../src/metrics/server.py")
);

/// An exporter that runs, and ends with the test.
struct Exporter {
    child: Child,
    port: u16,
    socket: PathBuf,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_file(&self.socket).unwrap();
    }
}

/// Tries until something is there.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("{what} never comes");
}

impl Exporter {
    /// Starts it, so that processes count from their beginning, and waits until it answers.
    fn start(test: &str) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let name = format!("exporter-{test}-{}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let script = EXPORTER.replace("\nAGE = 10\n", "\nAGE = 0\n");
        assert_ne!(script, EXPORTER);
        // Otherwise it would have the name of any program in Python.
        let script = format!("open('/proc/self/comm', 'w').write('for-{test}')\n{script}");
        let child = Command::new("python3")
            .args(["-c", &script, &port.to_string()])
            .arg(&socket)
            .spawn()
            .unwrap();
        let exporter = Self {
            child,
            port,
            socket,
        };
        eventually("an answer", || exporter.metrics());
        exporter
    }

    /// What it answers; none while it doesn't listen.
    fn metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        let patience = Some(Duration::from_secs(5));
        stream.set_read_timeout(patience).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Whether somebody receives what is sent to its socket.
    fn receives(&self, report: &Value) -> bool {
        let sender = UnixDatagram::unbound().unwrap();
        match sender.send_to(report.to_string().as_bytes(), &self.socket) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A report of a call as oslo.messaging sends it to a host's nova-compute.
fn report(name: &str, value: &Value, host: &str) -> Value {
    json!({
        "module": "oslo_messaging",
        "name": name,
        "action": { "action": if value.is_null() { "inc" } else { "observe" }, "value": value },
        "labels": {
            "call_type": "call", "exchange": null, "topic": "compute", "namespace": null, "version": "6.0",
            "server": host, "fanout": null, "method": "start_instance", "timeout": null, "process": "",
            "exception": "Messaging\"Timeout",
        },
    })
}

#[test]
fn exporter_reads_what_linux_has_of_processes() {
    let exporter = Exporter::start("processes");
    let metrics = exporter.metrics().unwrap();
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    let own = format!("process=\"{}\"", own.trim_end());
    let value = |metric: &str| -> f64 {
        let mut lines = metrics.lines();
        let line = lines.find(|line| line.starts_with(metric) && line.contains(&own));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.expect(metric).parse().unwrap()
    };
    assert!(value("process_resident_memory_bytes{") > 1e6);
    assert!(value("process_virtual_memory_bytes{") >= value("process_resident_memory_bytes{"));
    assert!(value("process_open_fds{") >= 3.0);
    assert!(value("process_threads{") >= 1.0);
    assert!(value("process_cpu_seconds_total{") >= 0.0);
    // In 2025 or later.
    assert!(value("process_start_time_seconds{") > 1.7e9);
    let exporters = "process=\"for-processes\"";
    assert!(!metrics.contains(exporters), "it is no process of the pod");
}

/// A proxy has a process for each connection.
#[test]
fn exporter_has_sixteen_processes_of_one_name_and_gives_numbers_again() {
    let exporter = Exporter::start("numbers");
    let mut children: Vec<Child> = (0..17)
        .map(|_| {
            let script = "printf numbered > /proc/$$/comm; read _";
            let mut command = Command::new("sh");
            let command = command.args(["-c", script]).stdin(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let all = || {
        let metrics = exporter.metrics().unwrap();
        let numbers = metrics.lines().filter_map(|line| {
            let line = line.strip_prefix("process_threads{process=\"numbered\",number=\"")?;
            line.split_once('"')?.0.parse().ok()
        });
        let numbers: BTreeSet<u32> = numbers.collect();
        (numbers == BTreeSet::from_iter(0..16)).then_some(())
    };
    eventually("a number of each but one", all);
    let end = |child: &mut Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    end(&mut children.remove(0));
    eventually("the number of the one that ended", all);
    children.iter_mut().for_each(end);
}

#[test]
fn exporter_counts_calls_without_the_host_that_is_called() {
    let exporter = Exporter::start("calls");
    let none = Value::Null;
    for host in ["host-1", "host-2"] {
        let name = "rpc_client_invocation_start_total";
        assert!(exporter.receives(&report(name, &none, host)));
        for seconds in [0.3, 200.0] {
            let name = "rpc_client_processing_seconds";
            assert!(exporter.receives(&report(name, &json!(seconds), host)));
        }
    }
    for unknown in [json!([]), json!({}), report("unknown", &none, "host-1")] {
        assert!(exporter.receives(&unknown));
    }
    let last = report("rpc_client_exception_total", &none, "host-1");
    assert!(exporter.receives(&last));
    let call = r#"call_type="call",topic="compute",method="start_instance""#;
    let failed = format!(
        "oslo_messaging_rpc_client_exception_total{{{call},exception=\"Messaging\\\"Timeout\"}} 1\n"
    );
    let metrics = eventually("the last call", || {
        exporter.metrics().filter(|text| text.contains(&failed))
    });
    let seconds = "oslo_messaging_rpc_client_processing_seconds";
    for line in [
        format!("oslo_messaging_rpc_client_invocation_start_total{{{call}}} 2\n"),
        format!("# TYPE {seconds} histogram\n"),
        format!("{seconds}_bucket{{{call},le=\"0.25\"}} 0\n"),
        format!("{seconds}_bucket{{{call},le=\"0.5\"}} 2\n"),
        format!("{seconds}_bucket{{{call},le=\"100\"}} 2\n"),
        format!("{seconds}_bucket{{{call},le=\"+Inf\"}} 4\n"),
        format!("{seconds}_sum{{{call}}} 400.6\n"),
        format!("{seconds}_count{{{call}}} 4\n"),
    ] {
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    assert!(!metrics.contains("host-1"), "{metrics}");
}

/// oslo.messaging waits for whoever has the socket, and the program for oslo.messaging.
#[test]
fn exporter_that_is_told_to_end_receives_reports_until_the_program_has_ended() {
    let exporter = Exporter::start("end");
    let terminate = format!("kill {}", exporter.child.id());
    let told = Command::new("sh").args(["-c", &terminate]).status();
    assert!(told.unwrap().success());
    eventually("the end of its answers", || {
        exporter.metrics().is_none().then_some(())
    });
    // Longer than it waits for a report.
    sleep(Duration::from_millis(1500));
    let report = report("rpc_client_invocation_end_total", &Value::Null, "host-1");
    assert!(exporter.receives(&report), "processes of others run");
}
