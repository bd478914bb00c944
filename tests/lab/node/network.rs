//! The network of pods, and how they reach the API server.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;

use super::configuration::NAMES;
use crate::cluster::{ADDRESS, Cluster};
use crate::namespace::ip;
use crate::objects::kind;

/// The bridge that has the node's address.
const BRIDGE: &str = "node";

/// Gives the Service `kubernetes` its endpoint.
pub(super) async fn lead_to_the_api_server(cluster: &Cluster) -> Result<()> {
    let endpoints = json!({"subsets": [{
        "addresses": [{"ip": ADDRESS}],
        "ports": [{"name": "https", "port": cluster.port()}],
    }]});
    let place = "default/kubernetes";
    cluster.put(kind("v1", "Endpoints"), place, endpoints).await
}

/// A network between the node and this machine. Pods get one of their own behind it.
pub(super) fn lay_bridge() -> Result<()> {
    let address = format!("{ADDRESS}/24");
    let names = format!("{NAMES}/32");
    for arguments in [
        &["link", "add", BRIDGE, "type", "bridge"][..],
        &["address", "add", &address, "dev", BRIDGE],
        &["address", "add", &names, "dev", BRIDGE],
        &["link", "set", BRIDGE, "up"],
        // Nothing is behind it. But what asks for a way to anywhere finds the node's own address by it.
        &["route", "add", "default", "dev", BRIDGE],
    ] {
        ip(arguments)?;
    }
    // This is the namespace's, not the machine's.
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot let pods reach each other")
}
