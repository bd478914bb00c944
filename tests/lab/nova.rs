//! A Keystone, a Nova and a Placement that know compute services, aggregates, and how many servers are on each host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::machine::Machine;
use crate::objects::{Kind, SECRET, kind};
use crate::pki::Identity;
use crate::serve::Server;

const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");

/// What a Nova knows.
#[derive(Default)]
pub struct NovaState {
    /// By host, why its compute service is disabled.
    pub services: BTreeMap<String, Option<String>>,
    /// By host, the number of servers.
    pub servers: BTreeMap<String, usize>,
    /// The aggregates, by ID.
    aggregates: BTreeMap<u64, Aggregate>,
}

/// An aggregate of hosts.
#[derive(Default)]
struct Aggregate {
    name: String,
    /// The availability zone of its hosts.
    zone: Option<String>,
    /// Its metadata, without the zone.
    metadata: BTreeMap<String, String>,
    hosts: BTreeSet<String>,
}

/// A Keystone, a Nova and a Placement. Dropped, they are gone.
pub struct Nova {
    port: u16,
    state: Arc<Mutex<NovaState>>,
    _server: Server,
}

impl Nova {
    /// Starts them.
    pub async fn start(machine: &Machine) -> Result<Self> {
        Self::serve(machine.port(), None).await
    }

    /// Starts a Nova, by HTTPS with a certificate: its Keystone and Placement are others then.
    pub(crate) async fn serve(port: u16, identity: Option<&Identity>) -> Result<Self> {
        let state = Arc::default();
        Ok(Self {
            _server: serve(&state, port, identity).await?,
            port,
            state,
        })
    }

    /// Serves its Placement by HTTPS.
    pub(crate) async fn placement(&self, port: u16, identity: &Identity) -> Result<Server> {
        serve(&self.state, port, Some(identity)).await
    }

    /// What it knows.
    pub fn state(&self) -> MutexGuard<'_, NovaState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a share of a control plane, with other fields of its spec, and what the control plane says of its Nova. Without a release
    /// its nova-compute is simulated.
    pub async fn share(
        &self,
        cluster: &Cluster,
        control_plane: &str,
        release: Option<&str>,
        other: Value,
    ) -> Result<()> {
        let namespace = format!("openstack-{control_plane}");
        let host = format!("nova.{namespace}.svc");
        let mut secret = json!({
            "metadata": { "labels": { "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" } },
            "stringData": { "nova.conf": "", "migration.key": "key", "clouds.yaml": self.clouds(&host).to_string() },
        });
        if let Some(release) = release {
            secret["stringData"]["release"] = json!(release);
        }
        let mut share = json!({ "spec": other });
        share["spec"]["controlPlane"] = json!(control_plane);
        share["spec"]["weight"] = json!(1);
        share["spec"]["endpoints"] =
            json!([{ "name": "nova", "hostnames": [host], "addresses": ["127.0.0.1"] }]);
        cluster.put_namespace(&namespace).await?;
        let place = format!("{namespace}/nova-cell1-compute");
        cluster.put(SECRET, &place, secret).await?;
        cluster.put(SHARE, control_plane, share).await
    }

    /// The clouds.yaml that says where they are, under a name.
    fn clouds(&self, host: &str) -> Value {
        let url = format!("http://{host}:{}", self.port);
        json!({ "clouds": { "nova": {
            "auth": { "auth_url": url, "application_credential_id": "1", "application_credential_secret": "2" },
            "compute_endpoint_override": format!("{url}/v2.1"),
            "network_endpoint_override": url,
            "placement_endpoint_override": url,
        } } })
    }
}

async fn serve(
    state: &Arc<Mutex<NovaState>>,
    port: u16,
    identity: Option<&Identity>,
) -> Result<Server> {
    let state = Arc::clone(state);
    Server::start_api(port, identity, move |request| respond(&state, request)).await
}

fn respond(state: &Mutex<NovaState>, request: &Request<Value>) -> (StatusCode, String) {
    let line = format!("{} {}", request.method(), request.uri());
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, answer) = match line.split_once(" /v2.1/os-aggregates") {
        Some((method, rest)) => state.aggregate(method, rest, request.body()),
        None => match line.split_once(" /resource_providers") {
            Some((method, rest)) => state.providers(method, rest, request.body()),
            None => answer(&mut state, &line, request.body()),
        },
    };
    (status.try_into().unwrap_or_default(), answer.to_string())
}

/// Answers a request, the method and the path. The ID of a compute service is its host.
fn answer(state: &mut NovaState, line: &str, body: &Value) -> (u16, Value) {
    if let Some(host) = line.strip_prefix("PUT /v2.1/os-services/") {
        let is_disabled = body["status"] == "disabled";
        let reason = body["disabled_reason"].as_str().unwrap_or_default();
        let reason = is_disabled.then(|| reason.to_owned());
        return match state.services.get_mut(host) {
            Some(service) => {
                *service = reason;
                (200, json!({ "service": {} }))
            }
            None => (404, json!({})),
        };
    }
    if let Some(host) = line.strip_prefix("DELETE /v2.1/os-services/") {
        return match state.servers.get(host) {
            Some(1..) => (409, json!({})),
            _ if state.services.remove(host).is_some() => {
                for aggregate in state.aggregates.values_mut() {
                    aggregate.hosts.remove(host);
                }
                (204, Value::Null)
            }
            _ => (404, json!({})),
        };
    }
    if let Some(host) = line.strip_prefix("GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=")
    {
        let count = state.servers.get(host).copied().unwrap_or_default();
        let servers: Vec<Value> = (0..count)
            .map(|id| json!({ "id": id.to_string() }))
            .collect();
        return (200, json!({ "servers": servers }));
    }
    if let Some(part) =
        line.strip_prefix("GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern=")
    {
        let hosts = state.services.keys().filter(|host| host.contains(part));
        let hypervisors = hosts.map(|host| json!({ "id": host, "service": { "host": host } }));
        let hypervisors: Vec<Value> = hypervisors.collect();
        return match hypervisors.is_empty() {
            true => (404, json!({})),
            false => (200, json!({ "hypervisors": hypervisors })),
        };
    }
    if let Some(rest) = line.strip_prefix("GET /v2.1/os-hypervisors/detail?limit=100") {
        // All are on the first page.
        let hosts = state.services.keys().filter(|_| rest.is_empty());
        let hypervisors = hosts.map(|host| {
            let servers = state.servers.get(host).copied().unwrap_or_default();
            json!({ "id": host, "service": { "host": host }, "running_vms": servers })
        });
        let hypervisors: Vec<Value> = hypervisors.collect();
        return (200, json!({ "hypervisors": hypervisors }));
    }
    if let Some(host) = line.strip_prefix("GET /v2.1/os-hypervisors/") {
        let status = if state.services.contains_key(host) {
            200
        } else {
            404
        };
        return (status, json!({ "hypervisor": { "id": host } }));
    }
    let wanted = line.strip_prefix("GET /v2.1/os-services?binary=nova-compute&host=");
    let services = state.services.iter();
    let services = services.filter(|(host, _)| wanted.is_none_or(|wanted| wanted == *host));
    let services = services.map(|(host, reason)| {
        let status = if reason.is_some() { "disabled" } else { "enabled" };
        json!({ "id": host, "host": host, "status": status, "state": "up", "disabled_reason": reason })
    });
    match line {
        "POST /v3/auth/tokens" => (
            201,
            json!({ "token": { "expires_at": "2999-01-01T00:00:00.000000Z" } }),
        ),
        _ if line.starts_with("GET /v2.1/os-services?binary=nova-compute") => {
            (200, json!({ "services": services.collect::<Vec<_>>() }))
        }
        _ if line.starts_with("GET /v2.1/os-migrations") => (200, json!({ "migrations": [] })),
        // No provider has a trait of an earlier spec.
        "GET /traits?name=startswith:CUSTOM_" => (200, json!({ "traits": [] })),
        _ if line.starts_with("GET /v2.0/agents?") => (200, json!({ "agents": [] })),
        _ => (404, json!({})),
    }
}

impl NovaState {
    /// The hosts in the aggregate of a name; none where there is no such aggregate.
    pub fn members(&self, name: &str) -> BTreeSet<String> {
        let mut aggregates = self.aggregates.values();
        let found = aggregates.find(|aggregate| aggregate.name == name);
        found.map_or_else(BTreeSet::new, |found| found.hosts.clone())
    }

    /// Answers a request for resource providers, whose path ends with a text. Each host with a compute service has one, whose ID is
    /// the host, and is in the same aggregates as the host.
    fn providers(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let member_of = path.strip_prefix("?member_of=");
        if method == "GET" && (path == "?required=COMPUTE_NODE" || member_of.is_some()) {
            let aggregate = member_of.map(|id| self.aggregates.get(&number(id)));
            let providers = self.services.keys().filter(|host| {
                let is_member = |it: &Aggregate| it.hosts.contains(*host);
                aggregate.is_none_or(|aggregate| aggregate.is_some_and(is_member))
            });
            let providers = providers
                .map(|host| json!({ "uuid": host, "name": host, "parent_provider_uuid": null }));
            let providers: Vec<Value> = providers.collect();
            return (200, json!({ "resource_providers": providers }));
        }
        let host = path.trim_start_matches('/').strip_suffix("/aggregates");
        let Some(host) = host.filter(|host| self.services.contains_key(*host)) else {
            return (404, json!({}));
        };
        let wanted = body["aggregates"].as_array().filter(|_| method == "PUT");
        for id in wanted.into_iter().flatten().filter_map(Value::as_str) {
            if let Some(aggregate) = self.aggregates.get_mut(&number(id)) {
                aggregate.hosts.insert(host.to_owned());
            }
        }
        let of_host = self.aggregates.iter();
        let of_host = of_host.filter(|(_, aggregate)| aggregate.hosts.contains(host));
        let of_host: Vec<String> = of_host.map(|(id, _)| id.to_string()).collect();
        (
            200,
            json!({ "aggregates": of_host, "resource_provider_generation": 0 }),
        )
    }

    /// Answers a request for aggregates, whose path ends with a text.
    fn aggregate(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let wanted = &body["aggregate"];
        match (method, path) {
            ("GET", "") => {
                let all = self.aggregates.iter().map(|(id, aggregate)| {
                    json!({
                        "id": id, "uuid": id.to_string(), "name": aggregate.name, "availability_zone": aggregate.zone,
                        "metadata": aggregate.metadata, "hosts": aggregate.hosts,
                    })
                });
                return (200, json!({ "aggregates": all.collect::<Vec<_>>() }));
            }
            ("POST", "") => {
                let id = self.aggregates.keys().max().map_or(1, |last| last + 1);
                let aggregate = Aggregate {
                    name: text(&wanted["name"]).unwrap_or_default(),
                    zone: text(&wanted["availability_zone"]),
                    ..Aggregate::default()
                };
                self.aggregates.insert(id, aggregate);
                return (200, json!({ "aggregate": { "id": id } }));
            }
            _ => {}
        }
        let id = path.trim_start_matches('/').trim_end_matches("/action");
        let id = number(id);
        if method == "DELETE" {
            return match self.aggregates.remove(&id) {
                Some(_) => (200, Value::Null),
                None => (404, json!({})),
            };
        }
        let Some(aggregate) = self.aggregates.get_mut(&id) else {
            return (404, json!({}));
        };
        if let Some(name) = text(&wanted["name"]) {
            aggregate.name = name;
            aggregate.zone = text(&wanted["availability_zone"]);
        }
        if let Some(host) = text(&body["add_host"]["host"]) {
            aggregate.hosts.insert(host);
        }
        if let Some(host) = text(&body["remove_host"]["host"]) {
            aggregate.hosts.remove(&host);
        }
        for (key, value) in body["set_metadata"]["metadata"]
            .as_object()
            .into_iter()
            .flatten()
        {
            match text(value) {
                Some(value) => drop(aggregate.metadata.insert(key.clone(), value)),
                None => drop(aggregate.metadata.remove(key)),
            }
        }
        (200, json!({ "aggregate": { "id": id } }))
    }
}

/// The number of an aggregate, which is its ID in Placement too.
fn number(id: &str) -> u64 {
    id.parse().unwrap_or_default()
}
