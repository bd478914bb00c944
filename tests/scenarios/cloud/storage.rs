//! The network of Ceph, which hypervisors reach and tenants don't.

use c5c3_api::Cidr;
use lab::{Ceph, Fabric, Hypervisor, Result, ensure};

/// Prints what a monitor sends whoever connects to it.
const GREETING: &str = "read -r greeting < /dev/tcp/$0/3300 && echo \"$greeting\"";

/// Fine if Ceph has a network of its own, whose monitors are reached from hypervisors, but neither from outside of the cloud nor from
/// the server with this floating IP, which must answer HTTP requests from outside.
pub fn is_closed_to_tenants(
    ceph: &Ceph,
    hypervisors: [&Hypervisor; 2],
    fabric: &Fabric,
    server: &str,
) -> Result<()> {
    let network: Cidr = Ceph::NETWORK.parse()?;
    let monitor = ceph.address();
    ensure!(
        network.contains(monitor),
        "Ceph's address is {monitor}, which isn't in {network}"
    );
    let address = monitor.to_string();
    let connect = ["timeout", "10", "bash", "-euc", GREETING, &address];
    for hypervisor in hypervisors {
        let greeting = hypervisor.run(&connect)?;
        ensure!(greeting == "ceph v2", "the monitor sends {greeting:?}");
    }
    ensure!(
        fabric.run(&connect).is_err(),
        "{monitor} is reached from outside of the cloud"
    );
    let connects = |to: &str| {
        let url = format!("http://{server}/cgi-bin/connects?{to}");
        fabric.run(&["curl", "--silent", "--fail", "--max-time", "20", &url])
    };
    let to_itself = connects("127.0.0.1:80")?;
    let to_monitor = connects(&format!("{monitor}:3300"))?;
    ensure!(
        to_itself == "yes" && to_monitor == "no",
        "whether {server} connects to itself: {to_itself}, to {monitor}: {to_monitor}"
    );
    Ok(())
}
