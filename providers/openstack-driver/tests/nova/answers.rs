//! What the server answers as Keystone, Nova and Neutron do.

use serde_json::{Value, json};

use crate::server::ok;

/// Answers a request; 409 to the deletion of the service `busy`, and as Nova refuses changes of the aggregates 7 and 10.
pub fn answer(request: &str) -> (u16, Value) {
    match request {
        "GET /v2.1/os-services?binary=nova-compute" => ok(json!({ "services": [
            { "id": "1", "host": "node-a", "status": "enabled", "state": "up", "disabled_reason": null },
            { "id": "2", "host": "node-b", "status": "disabled", "state": "down", "disabled_reason": "drain" },
        ] })),
        "GET /forced/os-services?binary=nova-compute" => ok(json!({ "services": [
            { "id": "1", "host": "node-a", "status": "enabled", "state": "down", "disabled_reason": null, "forced_down": true },
            { "id": "2", "host": "node-b", "status": "disabled", "state": "down", "disabled_reason": "drain", "forced_down": true },
            { "id": "3", "host": "node-c", "status": "enabled", "state": "up", "disabled_reason": null, "forced_down": false },
        ] })),
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-a" => {
            ok(json!({ "servers": [{ "id": "s" }, { "id": "t" }] }))
        }
        "GET /v2.1/os-migrations?host=node-a&limit=500" => ok(json!({
            "migrations": [
                { "uuid": "m3", "status": "finished" }, { "uuid": "m2", "status": "confirmed" },
                { "uuid": "m1", "status": "running" },
            ],
            "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
        })),
        "GET /v2.1/os-services?binary=nova-compute&host=node-a" => ok(json!({ "services": [
            { "id": "1", "host": "node-a", "status": "enabled", "state": "up" },
        ] })),
        // The latest migrations of node-d have ended, and an older one waits for its confirmation.
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-d" => {
            ok(json!({ "servers": [] }))
        }
        "GET /v2.1/os-migrations?host=node-d&limit=500" => ok(json!({
            "migrations": [{ "uuid": "m9", "status": "completed" }, { "uuid": "m8", "status": "error" }],
            "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
        })),
        "GET /v2.1/os-migrations?host=node-d&status=finished&limit=1" => ok(json!({
            "migrations": [{ "uuid": "m7", "status": "finished" }],
            "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
        })),
        "GET /v2.1/os-services?binary=nova-compute&host=node-d" => ok(json!({ "services": [
            { "id": "4", "host": "node-d", "status": "enabled", "state": "up" },
        ] })),
        // There is no end of the migrations of node-e that have ended.
        _ if request.starts_with("GET /v2.1/os-migrations?host=node-e&limit=500") => ok(json!({
            "migrations": [{ "uuid": "m6", "status": "error" }],
            "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
        })),
        // The latest migration of node-f has a state of a later release.
        "GET /v2.1/os-migrations?host=node-f&limit=500" => ok(json!({
            "migrations": [{ "uuid": "m5", "status": "settling" }],
        })),
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-e"
        | "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-f" => {
            ok(json!({ "servers": [] }))
        }
        "GET /v2.1/os-services?binary=nova-compute&host=node-e"
        | "GET /v2.1/os-services?binary=nova-compute&host=node-f" => ok(json!({ "services": [] })),
        // No other migration of these hosts is in the state that is asked for.
        _ if ["node-d", "node-e"].iter().any(|host| {
            let path = format!("GET /v2.1/os-migrations?host={host}&status=");
            request.starts_with(&path)
        }) =>
        {
            ok(json!({ "migrations": [] }))
        }
        // Nova finds what contains the pattern.
        "GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern=node-a" => ok(json!({
            "hypervisors": [
                { "id": "h3", "hypervisor_hostname": "node-a3.example.com", "service": { "id": "3", "host": "node-a3" } },
                { "id": "h1", "hypervisor_hostname": "node-a.example.com", "service": { "id": "1", "host": "node-a" } },
            ],
        })),
        // It leaves out a hypervisor without a compute service.
        "GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern=node-b" => {
            ok(json!({ "hypervisors": [] }))
        }
        // Nova leaves hypervisors out of the first page, so that it doesn't link to another one.
        "GET /v2.1/os-hypervisors/detail?limit=100" => ok(json!({ "hypervisors": [
            { "id": "h1", "service": { "id": "1", "host": "node-a" }, "running_vms": 3 },
        ] })),
        "GET /v2.1/os-hypervisors/detail?limit=100&marker=h1" => ok(json!({ "hypervisors": [
            { "id": "h2", "service": { "id": "2", "host": "node-b" }, "running_vms": 0 },
            { "id": "h3", "service": { "id": "3", "host": "node-c" }, "running_vms": null },
        ] })),
        "GET /v2.1/os-hypervisors/detail?limit=100&marker=h3" => ok(json!({ "hypervisors": [] })),
        // A Nova that ignores the marker.
        "GET /same/os-hypervisors/detail?limit=100"
        | "GET /same/os-hypervisors/detail?limit=100&marker=h1" => ok(json!({ "hypervisors": [
            { "id": "h1", "service": { "id": "1", "host": "node-a" }, "running_vms": 3 },
        ] })),
        // The database of a cell is down.
        "GET /down/os-hypervisors/detail?hypervisor_hostname_pattern=node-a" => (500, json!({})),
        "GET /down/os-hypervisors/detail?limit=100" => (500, json!({})),
        // The database of node-c's cell is down.
        "GET /down/os-services?binary=nova-compute" => ok(json!({ "services": [
            { "id": "1", "host": "node-a", "status": "enabled", "state": "up" },
            { "binary": "nova-compute", "host": "node-c", "status": "UNKNOWN" },
        ] })),
        "GET /down/os-services?binary=nova-compute&host=node-c" => ok(json!({ "services": [
            { "binary": "nova-compute", "host": "node-c", "status": "UNKNOWN" },
        ] })),
        "GET /down/servers?all_tenants=1&soft_deleted=true&host=node-c" => {
            ok(json!({ "servers": [] }))
        }
        "GET /down/os-migrations?host=node-c&limit=500" => ok(json!({ "migrations": [] })),
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=strange" => ok(json!([0])),
        "GET /v2.1/os-aggregates" => ok(json!({ "aggregates": [{
            "id": 7, "uuid": "u", "name": "hv-pool-a", "availability_zone": "zone-a", "hosts": ["node-a"],
            "metadata": { "availability_zone": "zone-a", "tier": "premium" }, "deleted": false,
        }] })),
        "POST /v2.1/os-aggregates"
        | "PUT /v2.1/os-aggregates/8"
        | "POST /v2.1/os-aggregates/8/action" => ok(json!({ "aggregate": {} })),
        "POST /v2.1/os-aggregates/7/action" | "PUT /v2.1/os-aggregates/10" => (409, json!({})),
        "PUT /v2.1/os-aggregates/7" => (400, json!({})),
        // Others may not know of the filter.
        "GET /v2.0/agents?id=node-a&id=node-b&id=node-c" => ok(json!({ "agents": [
            { "id": "node-a", "alive": true, "binary": "ovn-controller" },
            { "id": "node-b", "alive": false, "binary": "ovn-controller" },
            { "id": "node-d", "alive": false, "binary": "ovn-controller" },
        ] })),
        "DELETE /v2.0/agents/node-a" => (404, json!({})),
        "DELETE /v2.0/agents/node-b" | "DELETE /v2.1/os-services/2" => (204, Value::Null),
        "DELETE /v2.1/os-services/busy" => (409, json!({ "conflictingRequest": {} })),
        _ => (404, json!({})),
    }
}
