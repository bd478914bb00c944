//! The external network, and a network in the tenant's first project. Neither is ever deleted: servers and floating IPs may be on them.

use c5c3_api::PhysicalNetwork;
use c5c3_api::control_plane::{ExternalNetwork, ExternalSubnet, FirstNetwork};
use c5c3_api::shell::argument;
use c5c3_kinds::korc::{Made, Project};
use provider_composer::{Conditions, DesiredState, ExternalRequest, Progress, Reason};
use provider_openstack::NEUTRON;

use super::korc::Korc;
use super::tenant::TENANT;
use crate::Recipe;
use crate::credentials::neutron::{
    Access, Answer, Call, Change, Network, Query, Question, SYSTEM, Subnet,
};
use crate::graph::Node;
use crate::node_state::NodeStates;

/// What the network, subnet and router in the tenant's first project are called.
const FIRST: &str = "default";

/// What a step of Neutron is to change, and how far that is.
type Step = (Option<Change>, Progress);

/// How far the networks are, of those that are wanted.
#[derive(Default)]
pub struct Networks {
    /// The external network.
    pub external: Option<Progress>,
    /// The network in the tenant's first project.
    pub first: Option<Progress>,
}

impl Networks {
    /// Sets their conditions.
    pub fn report(&self, conditions: &mut Conditions) {
        let each = [
            ("ExternalNetworkReady", &self.external),
            ("FirstNetworkReady", &self.first),
        ];
        for (type_, progress) in each {
            if let Some(progress) = progress {
                conditions.set(type_, progress);
            }
        }
    }
}

/// Composes the networks once Neutron is ready, and from then on, and returns how far they are.
pub fn compose(recipe: &Recipe<'_>, states: &NodeStates, desired: &mut DesiredState) -> Networks {
    let spec = recipe.spec();
    let name = spec.global.network.external_network.as_deref();
    let first = spec.bootstrap.network.as_ref();
    if name.is_none() && first.is_none() {
        return Networks::default();
    }
    let korc = Korc::new(recipe, desired);
    let [external, first] = match reach(&korc, states) {
        Ok(neutron) => {
            let external = name.map(|name| neutron.external(&korc, name));
            let first = first.map(|first| neutron.first(&korc, name, first));
            let steps = external.iter().chain(&first);
            for change in steps.filter_map(|(change, _)| change.clone()) {
                korc.desired.call(neutron.call(change));
            }
            [external, first].map(|step| step.map(|(_, it)| it))
        }
        Err(progress) => {
            let external = name.map(|_| progress.clone());
            [external, first.map(|_| progress)]
        }
    };
    Networks { external, first }
}

/// A Neutron that serves.
struct Neutron(Access);

fn reach(korc: &Korc<'_>, states: &NodeStates) -> Result<Neutron, Progress> {
    let recipe = korc.recipe;
    if !recipe.korc.enabled || !recipe.graph.contains(Node::Neutron) {
        return Err(Progress::failed(
            Reason::Unsupported,
            "networks need Neutron and K-ORC: set services.neutron.enabled and korc.enabled to true, or remove \
             global.network.externalNetwork and bootstrap.network",
        ));
    }
    let state = states.get(&Node::Neutron);
    if !state.is_some_and(|state| state.progress.is_ready()) {
        return Err(waiting("waits for Neutron".to_owned()));
    }
    Ok(Neutron(Access {
        keystone: korc.access()?,
        url: recipe.endpoint(&NEUTRON),
    }))
}

impl Neutron {
    fn call(&self, change: Change) -> ExternalRequest {
        let access = self.0.clone();
        ExternalRequest::new(SYSTEM, &Call { access, change })
    }

    fn answer(&self, korc: &Korc<'_>, question: Question) -> Result<Answer, Progress> {
        let access = self.0.clone();
        let query = ExternalRequest::new(SYSTEM, &Query { access, question });
        let answer = korc.observed.external(query);
        let answer = answer.parsed(|_| "Neutron's answer can't be understood".to_owned());
        answer.or_default()
    }

    fn externals(&self, korc: &Korc<'_>, name: &str) -> Result<Vec<Network>, Progress> {
        let name = name.to_owned();
        let answer = self.answer(korc, Question::External { name });
        answer.map(|answer| answer.networks)
    }

    fn external(&self, korc: &Korc<'_>, name: &str) -> Step {
        let spec = korc.recipe.spec();
        let wanted = spec.bootstrap.external_network.as_ref();
        match self.externals(korc, name) {
            Ok(found) => external(name, wanted, &spec.global.network.physical_networks, &found),
            Err(progress) => (None, progress),
        }
    }

    fn first(&self, korc: &Korc<'_>, outside: Option<&str>, wanted: &FirstNetwork) -> Step {
        if korc.recipe.spec().access.is_none() {
            let message = "bootstrap.network is in the project of the tenant's first user: set access, for a claim tenantAccess in the \
                 Composition's input, or remove bootstrap.network";
            return (None, Progress::failed(Reason::Unsupported, message));
        }
        let Some(project) = korc.id::<Made<Project>>(TENANT) else {
            return (None, waiting(format!("waits for project {TENANT}")));
        };
        let question = Question::Project {
            project: project.clone(),
            name: FIRST.to_owned(),
        };
        let externals = outside.map(|name| self.externals(korc, name)).transpose();
        match (self.answer(korc, question), externals) {
            (Ok(found), Ok(externals)) => first(project, wanted, &found, externals.as_deref()),
            (Err(progress), _) | (_, Err(progress)) => (None, progress),
        }
    }
}

/// Returns the next change for an external network of this name, and how far it is.
fn external(
    name: &str,
    wanted: Option<&ExternalNetwork>,
    physical: &[PhysicalNetwork],
    found: &[Network],
) -> Step {
    let failed = |reason, message: String| (None, Progress::failed(reason, message));
    let quoted = argument(name);
    match (found, wanted) {
        ([], None) => failed(
            Reason::NetworkMissing,
            format!(
                "Neutron has no external network {name}: set bootstrap.externalNetwork, for a claim \
                 bootstrap.externalNetworks.{name}.allocationPools in the Composition's input, or create it by `openstack network create \
                 --external {quoted}`"
            ),
        ),
        ([network], None) if network.subnets.is_empty() => failed(
            Reason::NetworkMissing,
            format!(
                "external network {name} has no addresses: create a subnet by `openstack subnet create --network {quoted}`"
            ),
        ),
        ([_], None) => (None, Progress::Ready),
        ([], Some(wanted)) => match invalid(wanted, physical) {
            Some(progress) => (None, progress),
            None => {
                let change = Change::CreateExternalNetwork {
                    name: name.to_owned(),
                    network: wanted.clone(),
                };
                (Some(change), waiting(format!("waits for network {name}")))
            }
        },
        ([network], Some(wanted)) => existing(name, network, wanted, physical),
        (_, _) => failed(
            Reason::Ambiguous,
            format!("Neutron has several external networks {name}: rename all but one"),
        ),
    }
}

fn existing(
    name: &str,
    network: &Network,
    wanted: &ExternalNetwork,
    physical: &[PhysicalNetwork],
) -> Step {
    let on = |physical: Option<&str>, vlan: Option<u16>| {
        let physical = physical.unwrap_or("no physical network");
        vlan.map_or_else(
            || format!("{physical} without a VLAN"),
            |vlan| format!("{physical} with VLAN {vlan}"),
        )
    };
    let is = on(network.physical_network.as_deref(), network.vlan);
    let should = on(Some(&wanted.physical_network), wanted.vlan);
    if is != should {
        let message = format!(
            "external network {name} is on {is}, and bootstrap.externalNetwork says {should}: Neutron can't change it, so set what \
             is, or another name as global.network.externalNetwork"
        );
        return (None, Progress::failed(Reason::NameTaken, message));
    }
    if let Some(progress) = invalid(wanted, physical) {
        return (None, progress);
    }
    let cidr = wanted.subnet.cidr.to_string();
    let mut pools = wanted.subnet.allocation_pools.clone();
    pools.sort();
    let change = match network.subnets.iter().find(|subnet| subnet.cidr == cidr) {
        None => Change::CreateExternalSubnet {
            network: network.id.clone(),
            name: name.to_owned(),
            subnet: wanted.subnet.clone(),
            dhcp: wanted.shared,
        },
        Some(subnet) => {
            let mut assigned = subnet.pools.clone();
            assigned.sort();
            if assigned == pools {
                return (None, Progress::Ready);
            }
            Change::SetPools {
                subnet: subnet.id.clone(),
                pools,
            }
        }
    };
    let message = format!("waits for the addresses of network {name}");
    (Some(change), waiting(message))
}

/// Why Neutron would refuse an external network.
fn invalid(wanted: &ExternalNetwork, physical: &[PhysicalNetwork]) -> Option<Progress> {
    let name = &wanted.physical_network;
    if physical.is_empty() {
        return Some(waiting(format!(
            "no hypervisor is wired to physical network {name} yet: set global.network.physicalNetworks, for a claim \
             network.physicalNetworks of its HypervisorClusters"
        )));
    }
    if !physical.iter().any(|one| one.name == *name) {
        let names: Vec<&str> = physical.iter().map(|one| one.name.as_str()).collect();
        let message = format!(
            "bootstrap.externalNetwork is on physical network {name}, and hypervisors are wired to {}: name one of these, or add \
             {name} to global.network.physicalNetworks",
            names.join(", ")
        );
        return Some(Progress::failed(Reason::NetworkMissing, message));
    }
    addresses(&wanted.subnet).map(|message| Progress::failed(Reason::Invalid, message))
}

fn addresses(subnet: &ExternalSubnet) -> Option<String> {
    let (cidr, gateway, pools) = (subnet.cidr, subnet.gateway, &subnet.allocation_pools);
    if !cidr.contains(gateway) {
        return Some(format!(
            "the gateway {gateway} of bootstrap.externalNetwork is not in {cidr}: correct one of them"
        ));
    }
    let is_valid = |index: usize| {
        let pool = pools[index];
        let overlaps = pools[..index].iter().any(|other| other.overlaps(pool));
        let has_gateway = pool.start <= gateway && gateway <= pool.end;
        let within = cidr.contains(pool.start) && cidr.contains(pool.end);
        within && pool.start <= pool.end && !has_gateway && !overlaps
    };
    let wrong = (0..pools.len()).find(|index| !is_valid(*index))?;
    Some(format!(
        "the range {} to {} of bootstrap.externalNetwork must be in {cidr}, without the gateway and addresses of another range: \
         correct it",
        pools[wrong].start, pools[wrong].end
    ))
}

/// Returns the next change for the network in the tenant's first project, and how far it is. Members of the project may create further
/// networks and routers of the same name: one connected pair is enough, and nothing is changed where there is a choice.
fn first(
    project: String,
    wanted: &FirstNetwork,
    found: &Answer,
    externals: Option<&[Network]>,
) -> Step {
    let next = |change, what: &str| {
        let message = format!("waits for {what} {FIRST} of project {TENANT}");
        (Some(change), waiting(message))
    };
    let (networks, routers) = (&found.networks, &found.routers);
    let is_reachable = |subnet: &Subnet| {
        externals.is_none()
            || routers
                .iter()
                .any(|router| router.subnets.contains(&subnet.id))
    };
    let mut subnets = networks.iter().flat_map(|network| &network.subnets);
    if subnets.any(is_reachable) {
        return (None, Progress::Ready);
    }
    if let Some(message) = ambiguous(networks.len(), routers.len(), externals.is_some()) {
        return (None, Progress::failed(Reason::Ambiguous, message));
    }
    let name = FIRST.to_owned();
    let [network, ..] = networks.as_slice() else {
        return next(Change::CreateNetwork { project, name }, "network");
    };
    let [subnet, ..] = network.subnets.as_slice() else {
        let change = Change::CreateSubnet {
            project,
            network: network.id.clone(),
            name,
            cidr: wanted.cidr,
        };
        return next(change, "subnet");
    };
    let [router, ..] = routers.as_slice() else {
        let Some([external]) = externals else {
            let message = "waits for the external network: see the condition ExternalNetworkReady";
            return (None, waiting(message.to_owned()));
        };
        // A router without an address of the outside is of no use.
        if external.subnets.is_empty() {
            let message = "waits for the addresses of the external network";
            return (None, waiting(message.to_owned()));
        }
        let external = external.id.clone();
        let change = Change::CreateRouter {
            project,
            name,
            external,
        };
        return next(change, "router");
    };
    let change = Change::Connect {
        router: router.id.clone(),
        subnet: subnet.id.clone(),
    };
    next(change, "the connection of router")
}

/// Says what to do where it isn't known which network is to get a subnet or a router, or which router to connect.
fn ambiguous(networks: usize, routers: usize, has_outside: bool) -> Option<String> {
    let (several, rename) = match (networks > 1, has_outside && routers > 1) {
        (false, false) => return None,
        (true, false) => ("networks", "`openstack network set --name NAME NETWORK-ID`"),
        (false, true) => ("routers", "`openstack router set --name NAME ROUTER-ID`"),
        (true, true) => (
            "networks and routers",
            "`openstack network set --name NAME NETWORK-ID` and `openstack router set --name NAME ROUTER-ID`",
        ),
    };
    let (lacks, otherwise) = match has_outside {
        true => (
            format!("no router {FIRST} is connected to a subnet of a network {FIRST}"),
            "connect one by `openstack router add subnet ROUTER-ID SUBNET-ID`",
        ),
        false => (
            format!("no network {FIRST} has a subnet"),
            "create one by `openstack subnet create --network NETWORK-ID --subnet-range CIDR NAME`",
        ),
    };
    Some(format!(
        "project {TENANT} has several {several} {FIRST}, and {lacks}: rename all but one by {rename}, or {otherwise}"
    ))
}

fn waiting(message: String) -> Progress {
    Progress::waiting(Reason::WaitingFor(Node::Neutron.step().word), message)
}
