//! How Neutron and its agents reach OVN's databases.

use std::collections::BTreeSet;

use c5c3_api::neutron::{self, NeutronSpec};
use c5c3_api::ovn_cluster::OvnClusterSpec;
use provider_composer::{Custom, Key, ObservedState, Progress, Reason};
use provider_openstack::{Files, NEUTRON, Prerequisite, Section, Service, holds, shortest};

/// The OVNCluster that is meant where none is named.
const CLUSTER: &str = "ovn";
/// Why OVN isn't used yet.
const WAITING: Reason = Reason::WaitingFor("OVN");
/// The conditions of an OVNCluster whose databases answer.
const SERVING: [&str; 2] = ["NorthboundReady", "SouthboundReady"];
/// The files of Neutron's own certificate for OVN.
const FILES: ClientFiles<'_> = ClientFiles {
    authority: "ovn-ca.crt",
    certificate: "ovn-tls.crt",
    key: "ovn-tls.key",
};

/// The names of the files with the certificate of a client of OVN.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClientFiles<'a> {
    /// The certificate of the issuer of the servers' certificates.
    pub authority: &'a str,
    /// The client's certificate.
    pub certificate: &'a str,
    /// Its key.
    pub key: &'a str,
}

/// The databases of OVN, and the certificate that Neutron connects with.
#[derive(Clone, PartialEq, Eq)]
pub struct Ovn {
    /// The northbound database, as OVSDB writes it; members have commas between them.
    pub northbound: String,
    /// The southbound database.
    pub southbound: String,
    /// `ca.crt`, `tls.crt` and `tls.key`, where a connection is encrypted.
    client: Option<[String; 3]>,
}

impl Ovn {
    /// Returns the databases that a Neutron connects to: those that its resource gives, else those in the status of its OVNCluster.
    ///
    /// # Errors
    /// The OVNCluster has no endpoints yet, or the Secret with the client's certificate isn't there.
    pub fn resolve(service: &Service<'_>, wanted: &neutron::Ovn) -> Prerequisite<Self> {
        let (northbound, southbound) = match (&wanted.nb_connection, &wanted.sb_connection) {
            (Some(northbound), Some(southbound)) => (northbound.clone(), southbound.clone()),
            (northbound, southbound) => {
                let cluster = cluster(service.namespace, wanted);
                let (own_northbound, own_southbound) = endpoints(service.observed, &cluster)?;
                (
                    northbound.clone().unwrap_or(own_northbound),
                    southbound.clone().unwrap_or(own_southbound),
                )
            }
        };
        let encrypted = [&northbound, &southbound]
            .iter()
            .any(|one| one.contains("ssl:"));
        let client = encrypted.then(|| client(service, wanted)).transpose()?;
        Ok(Self {
            northbound,
            southbound,
            client,
        })
    }

    /// Configures the connections of Neutron's own programs.
    pub fn configure(&self, section: &mut Section, files: &mut Files) {
        self.connect(section, NEUTRON.folder, FILES);
        if let Some([authority, certificate, key]) = &self.client {
            files.text(FILES.authority, authority);
            files.text(FILES.certificate, certificate);
            files.secret(FILES.key, key);
        }
    }

    /// Sets the connections, and where a program finds the certificate that it connects with
    /// (<https://docs.openstack.org/neutron/latest/configuration/ml2-conf.html#ovn>).
    pub fn connect(&self, section: &mut Section, folder: &str, files: ClientFiles<'_>) {
        for (database, connection) in [("nb", &self.northbound), ("sb", &self.southbound)] {
            section.set(format!("ovn_{database}_connection"), connection);
            if connection.contains("ssl:") {
                section
                    .set(
                        format!("ovn_{database}_ca_cert"),
                        format!("{folder}/{}", files.authority),
                    )
                    .set(
                        format!("ovn_{database}_certificate"),
                        format!("{folder}/{}", files.certificate),
                    )
                    .set(
                        format!("ovn_{database}_private_key"),
                        format!("{folder}/{}", files.key),
                    );
            }
        }
    }

    /// The ports of the northbound database's members.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        let members = self.northbound.split(',');
        members.filter_map(|member| member.rsplit_once(':')?.1.parse().ok())
    }

    /// Whether a connection is to the northbound database: both name one of its members, or one names the Service of the members.
    fn is_northbound(&self, connection: &str) -> bool {
        let others = addresses(connection);
        let is_same = |own: String| {
            others
                .iter()
                .any(|other| is_of(&own, other) || is_of(other, &own))
        };
        addresses(&self.northbound).into_iter().any(is_same)
    }
}

/// The hosts and ports of a connection. Names within the cluster are without its domain.
fn addresses(connection: &str) -> Vec<String> {
    let members = connection.split(',');
    let addresses = members.filter_map(|member| {
        let (_, address) = member.split_once(':')?;
        let (host, port) = address.rsplit_once(':')?;
        Some(format!("{}:{port}", shortest(host)))
    });
    addresses.collect()
}

/// Whether an address is another one, or that of a member of the Service there.
fn is_of(address: &str, other: &str) -> bool {
    let member = address.strip_suffix(other);
    member.is_some_and(|member| member.is_empty() || member.ends_with('.'))
}

/// Checks that no other Neutron uses the northbound database, whose networks a repair would delete. Neutrons are looked for in the
/// namespaces of this one and of the OVNCluster that it uses.
///
/// # Errors
/// Another Neutron uses it, or it isn't known whether one does.
pub fn unshared(service: &Service<'_>, wanted: &neutron::Ovn, ovn: &Ovn) -> Prerequisite<()> {
    let observed = service.observed;
    let cluster = cluster(service.namespace, wanted);
    let of_cluster = cluster.namespace.as_deref();
    let of_cluster = of_cluster.filter(|_| uses_cluster(wanted));
    let own = service.namespace;
    for namespace in BTreeSet::from([own, of_cluster.unwrap_or(own)]) {
        let all = observed.list::<Custom<NeutronSpec>>(namespace, &[]);
        for other in all.or_default()? {
            let name = other.metadata.name.as_str();
            if (namespace, name) == (own, service.name) {
                continue;
            }
            let is_same = match northbound(observed, namespace, &other.body.spec.ovn) {
                Ok(connection) => ovn.is_northbound(&connection),
                Err(pending) if pending.is_unknown() => return Err(pending),
                Err(_) => false,
            };
            if is_same {
                let message = format!(
                    "Neutron {name} in {namespace} uses the northbound database {} too, and a repair would delete its networks: give \
                     each Neutron an OVNCluster of its own; the repair starts once no other Neutron uses it",
                    ovn.northbound
                );
                return Err(Progress::failed(Reason::NorthboundShared, message));
            }
        }
    }
    Ok(())
}

/// The northbound database that a Neutron of a namespace connects to.
fn northbound(
    observed: &ObservedState<'_>,
    namespace: &str,
    wanted: &neutron::Ovn,
) -> Prerequisite<String> {
    match &wanted.nb_connection {
        Some(given) => Ok(given.clone()),
        None => Ok(endpoints(observed, &cluster(namespace, wanted))?.0),
    }
}

/// Says whether OVN is connected: its OVNCluster, if it has one, serves both databases, and the maintenance worker is ready, which
/// it is while it has a connection to the northbound one.
pub fn connected(
    service: &Service<'_>,
    wanted: &neutron::Ovn,
    ovn: &Prerequisite<Ovn>,
    worker: &Progress,
) -> Progress {
    let ovn = match ovn {
        Ok(ovn) => ovn,
        Err(pending) => return pending.clone(),
    };
    if uses_cluster(wanted) {
        let key = cluster(service.namespace, wanted);
        let unready = SERVING
            .iter()
            .find_map(|type_| holds(&key, type_, WAITING, service.observed).err());
        if let Some(unready) = unready {
            return unready;
        }
    }
    let explained = |message: &str| {
        let northbound = &ovn.northbound;
        format!(
            "{message}; a pod is ready while it is connected to OVN's northbound database at {northbound}"
        )
    };
    match worker.clone().explained(explained) {
        Progress::Waiting { message, .. } => Progress::waiting(WAITING, message),
        worker => worker,
    }
}

/// Whether a Neutron takes a connection from its OVNCluster.
fn uses_cluster(wanted: &neutron::Ovn) -> bool {
    wanted.nb_connection.is_none() || wanted.sb_connection.is_none()
}

/// The OVNCluster of a Neutron of a namespace.
fn cluster(own: &str, wanted: &neutron::Ovn) -> Key {
    let reference = wanted.cluster_ref.as_ref();
    let namespace = reference.and_then(|cluster| cluster.namespace.as_deref());
    let name = reference.map_or(CLUSTER, |cluster| &cluster.name);
    Key::of::<Custom<OvnClusterSpec>>(namespace.unwrap_or(own), name)
}

/// The northbound and the southbound database of an OVNCluster.
fn endpoints(observed: &ObservedState<'_>, key: &Key) -> Prerequisite<(String, String)> {
    let namespace = key.namespace.as_deref().unwrap_or_default();
    let cluster = observed.body::<Custom<OvnClusterSpec>>(namespace, &key.name);
    let waiting = || Progress::waiting(WAITING, format!("waits for {key}"));
    let status = cluster.required(waiting)?.status;
    let endpoints = status.endpoints.unwrap_or_default();
    endpoints
        .northbound
        .zip(endpoints.southbound)
        .ok_or_else(|| {
            let message =
                format!("waits for {key} to have endpoints of both databases in its status");
            Progress::waiting(WAITING, message)
        })
}

fn client(service: &Service<'_>, wanted: &neutron::Ovn) -> Prerequisite<[String; 3]> {
    let usual = || format!("{}-client", cluster(service.namespace, wanted).name);
    let given = wanted.client_secret_ref.as_ref();
    let name = given.map_or_else(usual, |given| given.name.clone());
    let purpose = "ca.crt, tls.crt and tls.key of a client of OVN";
    let values = service.secret(&name, purpose)?;
    let text = |key| values.text(key).map(str::to_owned);
    Ok([text("ca.crt")?, text("tls.crt")?, text("tls.key")?])
}
