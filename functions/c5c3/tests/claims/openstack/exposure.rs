//! How clients outside reach a claim's APIs.

use function_c5c3_fixtures::{Call, Outcome, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

const SERVICES: [&str; 6] = [
    "cinder",
    "glance",
    "keystone",
    "neutron",
    "nova",
    "placement",
];

fn exposed(exposure: Value) -> Call {
    let mut call = call("customer-a-prod");
    if let Some(input) = &mut call.input {
        input["exposure"] = exposure;
    }
    call
}

fn services(outcome: &Outcome) -> Value {
    outcome.manifest("control-plane")["spec"]["services"].clone()
}

#[test]
fn every_api_has_a_host_name_of_the_claims_own() {
    let gateway = json!({"name": "public", "namespace": "gateways"});
    let outcome = exposed(json!({"domain": "cloud.example.com", "gateway": gateway})).run();
    let services = services(&outcome);
    for service in SERVICES {
        assert_eq!(
            services[service]["expose"],
            json!({
                "hostname": format!("{service}.customer-a-prod.cloud.example.com"),
                "gateway": gateway,
            })
        );
    }
    assert_eq!(
        services["nova"]["consoles"],
        json!({ "hostname": "novnc.customer-a-prod.cloud.example.com", "gateway": gateway })
    );
}

#[test]
fn host_names_of_all_claims_fit_one_wildcard_where_the_site_asks_for_it() {
    let outcome = exposed(json!({
        "domain": "cloud.example.com",
        "hostNames": "Flat",
        "gateway": {"name": "public"},
    }))
    .run();
    let services = services(&outcome);
    for service in SERVICES {
        assert_eq!(
            services[service]["expose"]["hostname"],
            format!("{service}-customer-a-prod.cloud.example.com")
        );
    }
    assert_eq!(
        services["nova"]["consoles"]["hostname"],
        "novnc-customer-a-prod.cloud.example.com"
    );
}

/// The claim with a cell beside the first, at a site with this exposure.
fn divided(host_names: &str, cell: &str) -> Call {
    let mut call = exposed(json!({
        "domain": "cloud.example.com",
        "hostNames": host_names,
        "gateway": {"name": "public"},
    }));
    call.composite["spec"]["cells"] = json!([{"name": cell, "hypervisorClusters": ["hv-pool-b"]}]);
    call
}

/// A dash would make the consoles of cell2 of customer-a those of a claim cell2-customer-a.
#[rstest]
#[case::nested("Nested", "novnccell2.customer-a-prod.cloud.example.com")]
#[case::flat("Flat", "novnccell2-customer-a-prod.cloud.example.com")]
fn consoles_of_each_cell_have_a_host_name_of_their_own(
    #[case] host_names: &str,
    #[case] hostname: &str,
) {
    let outcome = divided(host_names, "cell2").run();
    let cell = &outcome.manifest("control-plane")["spec"]["compute"]["cells"][0];
    assert_eq!(
        cell["consoles"],
        json!({"hostname": hostname, "gateway": {"name": "public"}})
    );
    let first = &services(&outcome)["nova"]["consoles"]["hostname"];
    assert_ne!(*first, hostname);
}

/// The claim with a name that makes the host name of the consoles of this cell too long where host names are flat.
fn long_named(host_names: &str) -> Call {
    let mut call = divided(host_names, &"c".repeat(20));
    call.composite["metadata"]["labels"]["crossplane.io/claim-name"] = json!("n".repeat(53));
    call
}

#[test]
fn new_cell_whose_consoles_would_have_too_long_a_host_name_is_refused_before_pools_admit_the_claim()
{
    let mut unadmitted = long_named("Flat");
    unadmitted.composite["metadata"]["uid"] = json!("new");
    for call in [long_named("Flat"), unadmitted] {
        let fatal = call.run().fatal.unwrap();
        assert!(
            fatal.starts_with("spec.cells: the host name novncccccc")
                && fatal.ends_with("is too long: give the cell a shorter name"),
            "{fatal}"
        );
    }
}

/// The cell of a share can't change.
#[test]
fn cell_that_exists_stays_without_consoles_where_the_site_makes_their_host_name_too_long() {
    let (mut call, before) = long_named("Nested").running();
    call = call.applied(&before, well);
    call.input.as_mut().unwrap()["exposure"]["hostNames"] = json!("Flat");
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    let consoles = |outcome: &Outcome| {
        let cell = &outcome.manifest("control-plane")["spec"]["compute"]["cells"][0];
        cell.get("consoles").is_some()
    };
    assert_eq!([&before, &outcome].map(consoles), [true, false]);
    let hostname = format!(
        "novnc{}-{}.cloud.example.com",
        "c".repeat(20),
        "n".repeat(53)
    );
    let (status, reason, message) = &outcome.conditions["Exposed"];
    assert_eq!([status, reason], ["False", "NotExposed"]);
    assert!(
        message.starts_with("the consoles of cccc") && message.contains(&hostname),
        "{message}"
    );
    assert!(outcome.warnings.contains(message), "{:?}", outcome.warnings);
    assert_eq!(outcome.status["phase"], "Ready");

    let other = json!({"name": "d".repeat(20), "hypervisorClusters": ["hv-pool-a"]});
    let cells = call.composite["spec"]["cells"].as_array_mut().unwrap();
    cells.push(other);
    assert_eq!(call.run().fatal, None, "hv-pool-a stays in cell1");
}

#[test]
fn timeouts_that_the_sites_gateway_refuses_are_left_out_for_every_api() {
    let outcome = exposed(json!({
        "domain": "cloud.example.com",
        "gateway": {"name": "public"},
        "requestTimeout": "Gateway",
    }))
    .run();
    let services = services(&outcome);
    for service in SERVICES {
        let expose = &services[service]["expose"];
        assert_eq!(expose["requestTimeout"], "Gateway", "{service}");
    }
    assert_eq!(services["nova"]["consoles"]["requestTimeout"], "Gateway");
}

#[test]
fn claims_of_one_name_in_two_clusters_have_different_host_names() {
    let ingress = json!({"className": "nginx"});
    let domain = "{controlPlaneCluster}.example.com";
    let outcome = exposed(json!({"domain": domain, "ingress": ingress})).run();
    let keystone = &services(&outcome)["keystone"]["expose"];
    assert_eq!(
        keystone["hostname"],
        "keystone.customer-a-prod.eu-de-1-control-plane.example.com"
    );
    assert_eq!(keystone["ingress"], ingress);
}

#[test]
fn nothing_is_exposed_without_a_domain_of_the_site() {
    let outcome = call("customer-a-prod").run();
    let services = services(&outcome);
    for service in SERVICES {
        assert_eq!(services[service].get("expose"), None, "{service}");
    }
    assert!(!outcome.conditions.contains_key("Exposed"));
}

#[test]
fn claim_is_ready_while_its_gateway_is_away_and_says_what_is_not_reached() {
    let exposure = json!({"domain": "cloud.example.com", "gateway": {"name": "public"}});
    let (call, outcome) = exposed(exposure).running();
    let said = |outcome: &Outcome| <[String; 3]>::from(outcome.conditions["Exposed"].clone());
    let unreported = "the c5c3-operator hasn't reported whether the APIs are exposed";
    assert_eq!(said(&outcome), ["Unknown", "Waiting", unreported]);

    let reported = |status: &str, reason: &str, message: &str| {
        let exposed =
            json!({"type": "Exposed", "status": status, "reason": reason, "message": message});
        let status = |name: &str, manifest: &Value| {
            let mut status = well(name, manifest);
            if manifest["kind"] == "ControlPlane" {
                let conditions = status["conditions"].as_array_mut().unwrap();
                conditions.push(exposed.clone());
            }
            status
        };
        call.clone().applied(&outcome, status).run()
    };
    let waits =
        "Keystone keystone isn't exposed: waits for Gateway public to take HTTPRoute keystone";
    let away = reported("False", "NotExposed", waits);
    assert_eq!(said(&away), ["False", "NotExposed", waits]);
    assert!(
        away.events.iter().any(|event| event == waits),
        "{:?}",
        away.events
    );
    assert_eq!(away.status["phase"], "Ready");
    assert_eq!(away.composite_ready, Some(true));
    assert!(!away.conditions.contains_key("Stalled"));
    assert!(!away.warnings.iter().any(|event| event == waits));
    for (reason, no) in [
        (
            "AnnotationNotAllowed",
            "Keystone keystone isn't exposed: expose.ingress.annotations: no",
        ),
        (
            "RefusedByKORC",
            "Glance glance isn't exposed: K-ORC gave up on Endpoint glance-public: no",
        ),
    ] {
        let refused = reported("False", reason, no);
        assert_eq!(said(&refused), ["False", reason, no]);
        assert!(
            refused.warnings.iter().any(|event| event == no),
            "{:?}",
            refused.warnings
        );
        assert!(!refused.conditions.contains_key("Stalled"));
    }
    let unread = "HTTPRoutes can't be read";
    let unknown = reported("Unknown", "LookupFailed", unread);
    assert_eq!(said(&unknown), ["Unknown", "LookupFailed", unread]);
    let reached = reported("True", "Ready", "");
    assert_eq!(said(&reached), ["True", "Ready", ""]);

    let mut withdrawn = call.clone().applied(&outcome, well);
    withdrawn.composite["status"]["conditions"] = reached.written_conditions();
    let input = withdrawn.input.as_mut().and_then(Value::as_object_mut);
    input.unwrap().remove("exposure");
    let no_apis = "the site exposes no APIs";
    assert_eq!(said(&withdrawn.run()), ["Unknown", "NotOffered", no_apis]);
}

#[rstest]
#[case::no_way(json!({"domain": "example.com"}))]
#[case::two_ways(json!({"domain": "example.com", "gateway": {"name": "a"}, "ingress": {}}))]
#[case::no_domain(json!({"domain": "", "gateway": {"name": "a"}}))]
#[case::text(json!({"domain": "Example.com/x", "gateway": {"name": "a"}}))]
fn exposure_that_cannot_be_is_refused(#[case] exposure: Value) {
    let fatal = exposed(exposure).run().fatal.unwrap();
    assert!(
        fatal.starts_with("exposure of the Composition's input needs a domain"),
        "{fatal}"
    );
}

#[test]
fn one_host_name_for_all_claims_is_refused() {
    let mut call = call("customer-b-staging");
    let expose = json!({"hostname": "identity.example.com", "gateway": {"name": "public"}});
    call.input.as_mut().unwrap()["sizes"]["small"]["services"]["keystone"]["expose"] = expose;
    let fatal = call.run().fatal.unwrap();
    assert!(
        fatal.starts_with("the Composition's input sets services.keystone.expose"),
        "{fatal}"
    );
}

#[test]
fn claim_says_what_its_site_does_not_offer_and_is_ready() {
    let offered = |settings: Value| {
        let mut call = call("customer-b-staging");
        let input = call.input.as_mut().and_then(Value::as_object_mut).unwrap();
        input.extend(settings.as_object().unwrap().clone());
        let (_, outcome) = call.running();
        let (status, reason, message) = outcome.conditions["AccessOffered"].clone();
        (outcome.status["phase"].clone(), [status, reason, message])
    };
    let exposure = json!({"domain": "cloud.example.com", "ingress": {}});
    let tenant_access = json!({"secretStore": {"name": "tenants", "kind": "ClusterSecretStore"}});
    let credentials = "no credentials are handed out: the platform team sets tenantAccess in the Composition's input";
    assert_eq!(
        offered(json!({})),
        (
            json!("Ready"),
            [
                "False".to_owned(),
                "NotOffered".to_owned(),
                format!(
                    "the APIs have names of Services only, which pods of the control plane cluster reach: the platform team sets \
                     exposure in the Composition's input; {credentials}"
                )
            ]
        )
    );
    assert_eq!(offered(json!({"exposure": exposure})).1[2], credentials);
    let (_, said) = offered(json!({"exposure": exposure, "tenantAccess": tenant_access}));
    assert_eq!(said, ["True", "Offered", ""]);
}
