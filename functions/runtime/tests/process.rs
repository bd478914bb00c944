//! A process that serves, as a kubelet starts and stops it.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

/// The example `nothing`, which a whole `cargo test` builds first, but `cargo test --test process` does not.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let mut path = std::env::current_exe()?;
    path.pop();
    path.pop();
    Ok(path.join("examples/nothing"))
}

/// A child that does not outlive its test.
struct Process(Child);

impl Process {
    fn start(address: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self(
            Command::new(program()?)
                .arg(address)
                .stderr(Stdio::piped())
                .spawn()?,
        ))
    }

    fn signal(&self, signal: &str) -> Result<ExitStatus, Box<dyn Error>> {
        // The shell's own kill: a bare machine has no other.
        Ok(Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", self.0.id())])
            .status()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0
            .kill()
            .and_then(|()| self.0.wait())
            .map(drop)
            .unwrap_or_default();
    }
}

#[test]
fn it_says_where_it_serves_and_ends_when_told_to() -> Result<(), Box<dyn Error>> {
    for signal in ["TERM", "INT"] {
        let mut process = Process::start("127.0.0.1:0")?;
        let mut lines = BufReader::new(process.0.stderr.take().ok_or("stderr is piped")?).lines();
        let serving: Value = serde_json::from_str(&lines.next().ok_or("a line")??)?;
        assert_eq!(serving["level"], "INFO");
        assert_eq!(serving["message"], "serving");
        assert_eq!(serving["tls"], false);
        let address = serving["address"].as_str().ok_or("an address")?;
        TcpStream::connect(address)?;

        assert!(process.signal(signal)?.success());
        let rest: Vec<String> = lines.collect::<Result<_, _>>()?;
        assert!(
            rest.iter()
                .any(|line| line.contains("\"message\":\"stopping\"")),
            "{rest:?}"
        );
        assert!(process.0.wait()?.success());
    }
    Ok(())
}

#[test]
fn what_keeps_it_from_serving_is_one_sentence() -> Result<(), Box<dyn Error>> {
    let output = Command::new(program()?)
        .args(["127.0.0.1:0", "/no/such/folder"])
        .output()?;
    assert!(!output.status.success());
    let stderr = String::from_utf8(output.stderr)?;
    assert!(stderr.contains("/no/such/folder/tls.crt"), "{stderr}");
    Ok(())
}
