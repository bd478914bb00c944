//! Peers and ports of NetworkPolicies.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_openstack::pods_of;

use super::super::placement;
use super::pods::Pods;

/// Ports of DNS servers; Gardener's listen at 8053 behind port 53.
const DNS: [u16; 2] = [53, 8053];
/// Where a node's own DNS cache listens.
const NODE_LOCAL_DNS: &str = "169.254.20.10/32";
/// What is no public address: private, shared, loopback, link-local, reserved ones, and those for protocols and benchmarks (RFC 6890).
const NOT_PUBLIC: [&str; 10] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "240.0.0.0/4",
];

/// Peers and ports of a rule, as ingress and egress rules have them; none stands for all.
pub(super) type Allowed = (
    Option<Vec<NetworkPolicyPeer>>,
    Option<Vec<NetworkPolicyPort>>,
);

pub(super) fn peer(pods: &Pods) -> NetworkPolicyPeer {
    let label = BTreeMap::from([(pods.label.0.to_owned(), pods.label.1.to_owned())]);
    NetworkPolicyPeer {
        pod_selector: Some(placement::selector(&label)),
        ..NetworkPolicyPeer::default()
    }
}

pub(super) fn block(cidr: impl Into<String>, except: &[&str]) -> NetworkPolicyPeer {
    let except: Vec<String> = except.iter().map(|&cidr| cidr.to_owned()).collect();
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.into(),
            except: Some(except).filter(|except| !except.is_empty()),
        }),
        ..NetworkPolicyPeer::default()
    }
}

/// The one address of a host that is given by its address.
pub(super) fn address(host: &str) -> Option<Vec<NetworkPolicyPeer>> {
    let address: IpAddr = host.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    Some(vec![block(format!("{address}/{bits}"), &[])])
}

/// All public addresses.
pub(super) fn public() -> impl Iterator<Item = NetworkPolicyPeer> {
    [block("0.0.0.0/0", &NOT_PUBLIC), block("2000::/3", &[])].into_iter()
}

/// The cluster's DNS.
pub(super) fn dns() -> Allowed {
    let servers = pods_of(&["kube-system".to_owned()]);
    let servers = servers.into_iter().chain([block(NODE_LOCAL_DNS, &[])]);
    let both = ["UDP", "TCP"].iter();
    let both = both.flat_map(|protocol| DNS.map(|number| port(protocol, number)));
    (Some(servers.collect()), Some(both.collect()))
}

pub(super) fn ports(allowed: &[u16]) -> Option<Vec<NetworkPolicyPort>> {
    Some(allowed.iter().map(|number| port("TCP", *number)).collect())
}

pub(super) fn port(protocol: &str, port: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        port: Some(IntOrString::Int(port.into())),
        protocol: Some(protocol.to_owned()),
        ..NetworkPolicyPort::default()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use c5c3_api::Cidr;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::private("10.1.2.3", false)]
    #[case::of_a_provider("100.127.0.1", false)]
    #[case::for_protocols("192.0.0.170", false)]
    #[case::for_benchmarks("198.19.0.1", false)]
    #[case::reserved("255.0.0.1", false)]
    #[case::below_them("198.17.255.255", true)]
    #[case::above_them("198.20.0.0", true)]
    #[case::in_the_internet("9.9.9.9", true)]
    fn public_addresses_are_those_of_the_internet(
        #[case] address: Ipv4Addr,
        #[case] is_public: bool,
    ) {
        let mut ranges = NOT_PUBLIC
            .iter()
            .map(|range| range.parse::<Cidr>().unwrap());
        assert_eq!(!ranges.any(|range| range.contains(address)), is_public);
    }
}
