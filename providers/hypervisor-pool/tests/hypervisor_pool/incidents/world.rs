//! A pool of two control planes, a Nova of each, and machines that outlast their Nodes.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::HypervisorPoolSpec;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use proptest::sample::Index;
use provider_composer::{Key, Subject};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::SYSTEM;
use provider_hypervisor_pool::{LEASE, PHASE, SINCE};
use serde_json::{Value, json};

use super::clouds::Clouds;
use crate::drain::{label, node_key};
use crate::fixture::*;
use crate::nova::{Nova, Placement};

/// The control planes, and the name of each in Base64, which its clouds.yaml has.
pub const PLANES: [(&str, &str); 2] = [("one", "b25l"), ("two", "dHdv")];

/// The labels of a node's lease.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    pub lease: Option<String>,
    pub phase: Option<String>,
    pub since: Option<String>,
}

/// What is on a machine.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Servers in libvirt. They are those of the files' control plane.
    pub domains: u32,
    /// Whose agents run.
    pub runs: Option<String>,
    pub files: Option<Files>,
}

/// What agents leave until the machine is wiped.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    pub plane: String,
    /// The name of the Node when they started for the first time.
    pub host: String,
}

impl Machine {
    /// Whether agents of another control plane left files.
    pub fn has_files_of_other(&self, plane: &str) -> bool {
        self.files
            .as_ref()
            .is_some_and(|files| files.plane != plane)
    }
}

pub struct World {
    pub cluster: Cluster,
    pub novas: BTreeMap<String, Nova>,
    /// The machines that have a Node, by its name.
    pub machines: BTreeMap<String, Machine>,
    /// Those whose Node was deleted, with its labels.
    gone: BTreeMap<String, (Machine, Value)>,
    /// The names of nodes of which a person took or changed the label of the lease, so that the pool can't know what is on them.
    pub irregular: BTreeSet<String>,
    /// Of each deleted Node whose share reported it, the control plane and the share's UID.
    reported: BTreeMap<String, (String, Value)>,
    renamed: usize,
}

pub fn second_pool() -> Key {
    Key::of::<Subject<HypervisorPoolSpec>>("", "second")
}

fn pick<'a>(index: &Index, names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<&String> = names.collect();
    (!names.is_empty()).then(|| names[index.index(names.len())].clone())
}

impl World {
    /// Four nodes, and no share.
    pub fn new() -> Self {
        let mut cluster = Cluster::default();
        put_pool(&mut cluster, json!({ "mode": "Shared" }));
        let mut novas = BTreeMap::new();
        for (plane, clouds) in PLANES {
            novas.insert(plane.to_owned(), Nova::default());
            let labels = json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" });
            let secret =
                json!({ "metadata": { "labels": labels }, "data": { "clouds.yaml": clouds } });
            put::<Secret>(&mut cluster, &format!("openstack-{plane}"), "nova", &secret);
            // It is waited for, so that no agent is composed: pods follow the labels of nodes here.
            let owner = json!({ "uid": "earlier", "controller": true, "kind": "HypervisorShare", "name": plane });
            let namespace = json!({ "metadata": { "ownerReferences": [owner] } });
            put::<Namespace>(&mut cluster, "", &format!("agents-{plane}"), &namespace);
        }
        cluster.join(SYSTEM, Clouds(novas.clone()));
        let mut world = Self {
            cluster,
            novas,
            machines: BTreeMap::new(),
            gone: BTreeMap::new(),
            irregular: BTreeSet::new(),
            reported: BTreeMap::new(),
            renamed: 0,
        };
        for number in 0..4 {
            world.join(number);
        }
        world
    }

    /// The name of a node that is there.
    pub fn name(&self, index: &Index) -> Option<String> {
        pick(index, self.machines.keys())
    }

    pub fn names(&self) -> Vec<String> {
        self.machines.keys().cloned().collect()
    }

    pub fn labels_of(&self, name: &str) -> Labels {
        let label = |key: &str| label(&self.cluster, name, key);
        Labels {
            lease: label(LEASE),
            phase: label(PHASE),
            since: label(SINCE),
        }
    }

    pub fn labels(&self) -> BTreeMap<String, Labels> {
        let names = self.machines.keys();
        names
            .map(|name| (name.clone(), self.labels_of(name)))
            .collect()
    }

    pub fn is_ready(&self, name: &str) -> bool {
        let node = self.cluster.get(&node_key(name));
        node.is_some_and(|node| node["status"]["conditions"][0]["status"] == "True")
    }

    pub fn is_cordoned(&self, name: &str) -> bool {
        let node = self.cluster.get(&node_key(name));
        node.is_some_and(|node| node["spec"]["unschedulable"] == true)
    }

    /// The control planes whose Nova has a compute service of a host, or whose Placement has a resource provider.
    pub fn records(&self, host: &str) -> Vec<&str> {
        let novas = self.novas.iter();
        let having = novas
            .filter(|(_, nova)| nova.change(|state| state.hosts().contains(host)))
            .map(|(plane, _)| plane.as_str());
        having.collect()
    }

    pub fn has_share(&self, plane: &str) -> bool {
        self.cluster.get(&share_key(plane)).is_some()
    }

    pub fn wait(&mut self, seconds: i64) {
        self.cluster.wait(SignedDuration::from_secs(seconds));
    }

    /// A new machine joins, unless one of its name is known.
    pub fn join(&mut self, number: u8) {
        let name = format!("node-{number}");
        let is_known = self.machines.contains_key(&name) || self.gone.contains_key(&name);
        if !is_known {
            put_node(&mut self.cluster, &name, "10.0.0.1");
            self.machines.insert(name, Machine::default());
        }
    }

    pub fn share(&mut self, plane: &str, weight: u32, min_hosts: u32, is_held: bool) {
        let endpoint = json!({ "name": "nova", "hostnames": ["nova.example.org"], "addresses": ["192.0.2.1"] });
        let mut spec = json!({
            "controlPlane": plane, "weight": weight, "minHosts": min_hosts, "held": is_held, "endpoints": [endpoint],
        });
        if plane == "one" {
            // By its aggregate, lost nodes are found.
            spec["availabilityZone"] = json!("zone-one");
        }
        let share = json!({ "metadata": { "name": plane }, "spec": spec });
        self.cluster.put(&share_key(plane), &share);
    }

    pub fn set_second_pool(&mut self, exists: bool) {
        match exists {
            true => {
                let pool =
                    json!({ "metadata": { "name": "second" }, "spec": { "mode": "Shared" } });
                self.cluster.put(&second_pool(), &pool);
            }
            false => self.cluster.delete(&second_pool()),
        }
    }

    pub fn set_ready(&mut self, name: &str, is_ready: bool) {
        if self.is_ready(name) == is_ready {
            return;
        }
        let since = self.cluster.now().to_string();
        let status = if is_ready { "True" } else { "Unknown" };
        let ready = json!({ "type": "Ready", "status": status, "lastTransitionTime": since });
        let status = json!({ "conditions": [ready] });
        self.cluster.set_status(&node_key(name), status);
    }

    /// A person deletes a Node. Its kubelet stops the pods; servers keep running.
    pub fn delete_node(&mut self, name: &str) {
        match self.reporting(name) {
            Some(share) => self.reported.insert(name.to_owned(), share),
            None => self.reported.remove(name),
        };
        if let Some((machine, labels)) = self.remove(name) {
            self.gone.insert(name.to_owned(), (machine, labels));
        }
    }

    /// The share whose servers may be on a machine, if its status has the node.
    fn reporting(&self, name: &str) -> Option<(String, Value)> {
        let plane = &self.machines.get(name)?.files.as_ref()?.plane;
        let share = self.cluster.get(&share_key(plane))?;
        let mut hosts = share.pointer("/status/hosts")?.as_array()?.iter();
        let is_reported = hosts.any(|host| host["name"] == name && host["phase"] != "Wiping");
        is_reported.then(|| (plane.clone(), share["metadata"]["uid"].clone()))
    }

    /// Whether a node without labels has servers that its share can know of.
    pub fn has_known_servers(&self, name: &str) -> bool {
        let Some((plane, uid)) = self.reported.get(name) else {
            return false;
        };
        let share = self.cluster.get(&share_key(plane));
        let is_same = share.is_some_and(|share| {
            let metadata = &share["metadata"];
            metadata["uid"] == *uid && metadata["deletionTimestamp"].is_null()
        });
        let machine = &self.machines[name];
        let files = machine.files.as_ref();
        let is_own = files.is_some_and(|files| files.plane == *plane && files.host == name);
        is_same && is_own && machine.domains > 0
    }

    /// The machine of a deleted Node registers again as it was.
    pub fn register_again(&mut self, index: &Index, with_labels: bool) {
        let Some(name) = pick(index, self.gone.keys()) else {
            return;
        };
        let Some((machine, labels)) = self.gone.remove(&name) else {
            return;
        };
        put_node(&mut self.cluster, &name, "10.0.0.1");
        if with_labels {
            self.cluster.edit(&node_key(&name), |node| {
                node["metadata"]["labels"] = labels;
            });
        } else if machine.files.is_some() {
            self.irregular.insert(name.clone());
        }
        self.machines.insert(name, machine);
    }

    /// The machine registers by another name.
    pub fn rename(&mut self, name: &str) {
        if let Some((machine, _)) = self.remove(name) {
            self.renamed += 1;
            let renamed = format!("renamed-{}", self.renamed);
            put_node(&mut self.cluster, &renamed, "10.0.0.1");
            self.irregular.insert(name.to_owned());
            self.irregular.insert(renamed.clone());
            self.machines.insert(renamed, machine);
        }
    }

    fn remove(&mut self, name: &str) -> Option<(Machine, Value)> {
        let mut machine = self.machines.remove(name)?;
        let labels = self.cluster.get(&node_key(name))?["metadata"]["labels"].clone();
        self.cluster.delete(&node_key(name));
        for (plane, _) in PLANES {
            self.novas[plane].set_up(name, false);
            for component in ["nova-compute", "drain", "wipe"] {
                pod_of(&mut self.cluster, plane, component, name, None);
            }
        }
        machine.runs = None;
        Some((machine, labels))
    }

    /// A person sets the label of a lease, or removes it.
    pub fn label(&mut self, name: &str, lease: Option<&str>) {
        let before = self.labels_of(name);
        self.reported.remove(name);
        self.cluster.edit(&node_key(name), |node| {
            let labels = node["metadata"]["labels"].as_object_mut().unwrap();
            match lease {
                Some(plane) => drop(labels.insert(LEASE.to_owned(), json!(plane))),
                None => drop(labels.remove(LEASE)),
            }
        });
        // Without it, the date says that the node was leased.
        if lease.is_some() || before.since.is_none() {
            self.irregular.insert(name.to_owned());
        }
    }

    fn unlabel(&mut self, name: &str) {
        self.cluster.edit(&node_key(name), |node| {
            let labels = node["metadata"]["labels"].as_object_mut().unwrap();
            for label in [LEASE, PHASE, SINCE] {
                labels.remove(label);
            }
        });
    }

    pub fn set_unreachable(&mut self, plane: &str, is_unreachable: bool) {
        self.novas[plane].change(|state| state.is_unreachable = is_unreachable);
    }

    /// While a Placement doesn't answer, its Nova deletes compute services and leaves their resource providers.
    pub fn set_placement(&mut self, plane: &str, is_unreachable: bool) {
        self.novas[plane].change(|state| {
            state.leaves_providers = is_unreachable;
            state.placement = match is_unreachable {
                true => Placement::Silent,
                false => Placement::Answering,
            };
        });
    }

    /// A person deletes the compute services of a host.
    pub fn delete_services(&mut self, host: &str) {
        for nova in self.novas.values() {
            nova.delete_service(host);
        }
    }

    /// People repair what is theirs: nodes and Novas work, and servers and machines that have no lease are deleted.
    pub fn repair(&mut self) {
        self.set_second_pool(false);
        for (plane, _) in PLANES {
            self.set_placement(plane, false);
        }
        for nova in self.novas.values() {
            nova.change(|state| {
                state.is_unreachable = false;
                state.occupants.clear();
            });
        }
        self.gone.clear();
        for name in self.names() {
            self.set_ready(&name, true);
            let labels = self.labels_of(&name);
            let lease = labels.lease.as_deref();
            let is_shared = lease.is_some_and(|plane| self.has_share(plane));
            let machine = self.machines.get_mut(&name).unwrap();
            machine.domains = 0;
            let is_own = machine
                .files
                .as_ref()
                .is_none_or(|files| lease == Some(files.plane.as_str()) && files.host == name);
            if is_shared && is_own {
                continue;
            }
            if labels != Labels::default() || machine.files.is_some() {
                self.irregular.insert(name.clone());
            }
            machine.files = None;
            machine.runs = None;
            if !is_shared {
                self.unlabel(&name);
            }
        }
    }
}
