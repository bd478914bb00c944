//! What the tenant finds on the first day: the site's part, and the claim's.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use serde_json::{Value, json};

use super::call;

/// A call at a site that gives every control plane a flavor, and two claims addresses of an external network.
fn site(spec: Value, bootstrap: Value) -> Call {
    let mut call = call("customer-a-prod");
    for (field, value) in spec.as_object().into_iter().flatten() {
        call.composite["spec"][field] = value.clone();
    }
    if let Some(input) = &mut call.input {
        input["bootstrap"] = bootstrap;
    }
    call
}

fn input() -> Value {
    json!({
        "flavors": [flavor("m1.small", 1)],
        "externalNetworks": { "internet": {
            "physicalNetwork": "physnet1",
            "cidr": "203.0.113.0/24",
            "gateway": "203.0.113.1",
            "allocationPools": {
                "tenant-customer-a/customer-a-prod": [range(10, 19)],
                "tenant-customer-b/customer-b-prod": [range(20, 29)],
            },
        } },
    })
}

fn flavor(name: &str, vcpus: u32) -> Value {
    json!({ "name": name, "vcpus": vcpus, "ramMB": 2048, "diskGB": 20, "public": true })
}

fn range(start: u8, end: u8) -> Value {
    json!({ "start": format!("203.0.113.{start}"), "end": format!("203.0.113.{end}") })
}

fn bootstrap(outcome: &Outcome) -> Value {
    outcome.manifest("control-plane")["spec"]["bootstrap"].clone()
}

#[test]
fn control_plane_gets_the_sites_flavors_and_the_claims_own_addresses() {
    let spec = json!({ "network": { "externalNetwork": "internet" } });
    let outcome = site(spec, input()).run();
    assert_eq!(
        bootstrap(&outcome),
        json!({
            "flavors": [flavor("m1.small", 1)],
            "externalNetwork": {
                "physicalNetwork": "physnet1",
                "shared": false,
                "subnet": {
                    "cidr": "203.0.113.0/24", "gateway": "203.0.113.1", "allocationPools": [range(10, 19)],
                },
            },
        })
    );
}

#[test]
fn control_plane_gets_flavors_that_require_a_trait_of_a_pool() {
    let mut premium = flavor("premium", 1);
    premium["traits"] = json!(["CUSTOM_TIER_PREMIUM"]);
    let outcome = site(json!({}), json!({ "flavors": [premium] })).run();
    assert_eq!(bootstrap(&outcome)["flavors"], json!([premium]));
    let share = &outcome.manifest("share-hv-pool-b")["spec"];
    let traits = share["traits"].as_array().unwrap();
    assert!(traits.contains(&json!("CUSTOM_TIER_PREMIUM")), "{share}");
}

#[test]
fn claims_of_a_site_never_share_an_address() {
    let mut input = input();
    input["externalNetworks"]["internet"]["allocationPools"]["tenant-customer-b/customer-b-prod"] =
        json!([range(19, 29)]);
    let spec = json!({ "network": { "externalNetwork": "internet" } });
    let outcome = site(spec, input).run();
    assert_eq!(
        outcome.fatal.as_deref(),
        Some(
            "bootstrap.externalNetworks.internet of the Composition's input gives addresses of 203.0.113.19 to 203.0.113.29 to both \
         tenant-customer-a/customer-a-prod and tenant-customer-b/customer-b-prod: give each claim addresses of its own"
        )
    );
}

#[test]
fn a_claim_without_addresses_gets_only_the_name() {
    let spec = json!({ "network": { "externalNetwork": "intranet" } });
    let outcome = site(spec, input()).run();
    assert_eq!(
        bootstrap(&outcome),
        json!({ "flavors": [flavor("m1.small", 1)] })
    );
    let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(network["externalNetwork"], "intranet");
}

#[test]
fn flavors_of_a_claim_need_the_sites_consent_and_never_replace_the_sites() {
    let own = json!({ "bootstrap": { "flavors": [flavor("m1.small", 64), flavor("own", 2)] } });
    let outcome = site(own.clone(), input()).run();
    assert_eq!(
        bootstrap(&outcome)["flavors"],
        json!([flavor("m1.small", 1)])
    );
    let (status, reason, message) = &outcome.conditions["FlavorsAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        message,
        "this site has flavors of these names, or allows none of claims: remove m1.small, own from spec.bootstrap.flavors, or ask \
         the platform team for bootstrap.allowFlavors in the Composition's input"
    );
    let mut allowing = input();
    allowing["allowFlavors"] = json!(true);
    let outcome = site(own, allowing).run();
    assert_eq!(
        bootstrap(&outcome)["flavors"],
        json!([flavor("m1.small", 1), flavor("own", 2)])
    );
}

#[test]
fn a_first_network_is_the_claims_or_where_tenants_have_access_the_sites() {
    let first = |spec: &Value, site_has_access: bool| {
        let mut call = site(
            spec.clone(),
            json!({ "network": { "cidr": "192.168.0.0/24" } }),
        );
        if let Some(input) = call.input.as_mut().filter(|_| site_has_access) {
            let store = json!({ "name": "tenants", "kind": "ClusterSecretStore" });
            input["tenantAccess"] = json!({ "secretStore": store });
        }
        bootstrap(&call.run())["network"]["cidr"].clone()
    };
    let own = json!({ "bootstrap": { "network": { "cidr": "10.0.0.0/24" } } });
    assert_eq!(first(&json!({}), false), Value::Null);
    assert_eq!(first(&json!({}), true), "192.168.0.0/24");
    assert_eq!(first(&own, true), "10.0.0.0/24");
}

fn image(name: &str, url: &str) -> Value {
    json!({
        "name": name, "url": url, "checksum": format!("sha256:{}", "0".repeat(64)), "diskFormat": "raw",
        "compression": "none", "minDiskGB": 3, "minRamMB": 0,
    })
}

/// The image of every control plane.
fn debian() -> Value {
    image("debian-12", "https://images.example.com/debian-12.raw")
}

#[test]
fn images_need_glance() {
    let spec = json!({ "services": { "glance": false, "nova": false } });
    let outcome = site(spec, json!({ "images": [debian()] })).run();
    assert_eq!(bootstrap(&outcome), Value::Null);
    assert!(!outcome.conditions.contains_key("ImagesAllowed"));
}

#[test]
fn a_size_has_the_flavors_and_images_that_it_names() {
    let other = image("other", "https://images.example.com/other.raw");
    let input = json!({
        "flavors": [flavor("m1.small", 1), flavor("m1.large", 8)],
        "images": [debian(), other],
    });
    let sized = |names: Value| {
        let own = json!({ "bootstrap": { "flavors": [flavor("m1.large", 8)] } });
        let mut call = site(own, input.clone());
        let size = text(&call.composite, "/spec/size");
        if let Some(input) = &mut call.input {
            input["sizes"][size]["bootstrap"] = names;
        }
        call.run()
    };
    let outcome = sized(json!({ "flavors": ["m1.small"], "images": ["other"] }));
    assert_eq!(
        bootstrap(&outcome),
        json!({ "flavors": [flavor("m1.small", 1)], "images": [other] })
    );
    assert_eq!(outcome.conditions["FlavorsAllowed"].0, "False");
    let outcome = sized(json!({ "images": [] }));
    assert_eq!(bootstrap(&outcome)["images"], Value::Null);
    assert_eq!(outcome.conditions["FlavorsAllowed"].0, "True");
    let fatal = sized(json!({ "flavors": ["m1"] })).fatal.unwrap();
    assert!(
        fatal.ends_with(
            ".bootstrap.flavors of the Composition's input names m1, which bootstrap.flavors doesn't have: correct the name, or add it \
             there"
        ),
        "{fatal}"
    );
}

#[test]
fn an_image_that_the_site_removed_is_skipped_and_reported_where_a_size_names_it() {
    let mut call = site(json!({}), json!({ "images": [debian()] }));
    let size = text(&call.composite, "/spec/size");
    if let Some(input) = &mut call.input {
        input["sizes"][&size]["bootstrap"] = json!({ "images": ["debian-11", "debian-12"] });
    }
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(bootstrap(&outcome)["images"], json!([debian()]));
    let (status, reason, message) = &outcome.conditions["ImagesAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        *message,
        format!(
            "sizes.{size}.bootstrap.images of the Composition's input names debian-11, which bootstrap.images doesn't have: ask the \
             platform team to remove the name, or to add the image there"
        )
    );
    call.composite["status"]["conditions"] = outcome.written_conditions();
    if let Some(input) = &mut call.input {
        input["sizes"][&size]["bootstrap"] = json!({ "images": ["debian-12"] });
    }
    assert_eq!(call.run().conditions["ImagesAllowed"].0, "True");
}

#[test]
fn claim_gets_images_of_the_site_that_its_size_lacks() {
    let other = image("other", "https://images.example.com/other.raw");
    let spec = json!({ "bootstrap": { "images": ["other"] } });
    let mut call = site(spec, json!({ "images": [debian(), other] }));
    let size = text(&call.composite, "/spec/size");
    if let Some(input) = &mut call.input {
        input["sizes"][size]["bootstrap"] = json!({ "images": [] });
    }
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome)["images"], json!([other]));
    assert_eq!(outcome.conditions["ImagesAllowed"].0, "True");
    call.composite["spec"]["bootstrap"]["images"] = json!(["other", "fedora"]);
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome)["images"], json!([other]));
    let (status, reason, message) = &outcome.conditions["ImagesAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        message,
        "this site has no image fedora: remove it from spec.bootstrap.images, correct its name, or ask the platform team for it in \
         bootstrap.images of the Composition's input"
    );
}

#[test]
fn input_with_images_that_no_control_plane_takes_is_refused() {
    let fatal = |images: Vec<Value>| {
        let call = site(json!({}), json!({ "images": images }));
        call.run().fatal.unwrap_or_default()
    };
    let numbered = |most: u8| {
        let images = (0..most).map(|number| image(&format!("a{number}"), "https://a/a"));
        images.collect::<Vec<Value>>()
    };
    let url = "https://images.example.com/a.raw";
    let refused = fatal(vec![debian(), image("debian-12", url)]);
    assert!(
        refused.ends_with("has two images debian-12: remove one, or give it another name"),
        "{refused}"
    );
    let refused = fatal(vec![image("Debian 12", url)]);
    assert!(
        refused.contains("has the name \"Debian 12\": write lower-case letters"),
        "{refused}"
    );
    let refused = fatal(numbered(65));
    assert!(
        refused.ends_with("has 65 images, and a ControlPlane takes 64: remove some"),
        "{refused}"
    );
    assert_eq!(fatal(numbered(64)), "");
}

#[test]
fn urls_with_passwords_in_the_input_are_refused_and_not_shown() {
    let image = image("a", "https://user:s3cret@images.example.com/a.raw");
    let outcome = site(json!({}), json!({ "images": [image] })).run();
    let fatal = outcome.fatal.unwrap();
    assert!(fatal.contains("write https://"), "{fatal}");
    assert!(!fatal.contains("s3cret"), "{fatal}");
}

#[test]
fn claim_says_how_its_images_are_and_is_ready_without_them() {
    let call = site(json!({}), json!({ "images": [debian()] }));
    let (call, outcome) = call.running();
    assert!(!outcome.conditions.contains_key("ImagesReady"));
    let said = |reason: &str| {
        let condition = json!({
            "type": "ImagesReady", "status": "False", "reason": reason, "message": "got: 00 of https://10.0.0.1/?signature=a",
        });
        call.clone().applied(&outcome, |name, manifest| {
            let mut status = well(name, manifest);
            if manifest["kind"] == "ControlPlane"
                && let Some(conditions) = status["conditions"].as_array_mut()
            {
                conditions.push(condition.clone());
            }
            status
        })
    };
    for (reason, expected) in [
        ("RefusedByKORC", "remove it from the claim and add it again"),
        ("NameTaken", "the former one stays in use"),
        ("WaitingForKORC", "K-ORC downloads one at a time"),
        ("Unsupported", "the platform team finds why"),
    ] {
        let (status, is, message) = said(reason).run().conditions["ImagesReady"].clone();
        assert_eq!([status.as_str(), is.as_str()], ["False", reason]);
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("got: 00"), "{message}");
    }
    let mut call = said("RefusedByKORC");
    let outcome = call.run();
    assert_eq!(outcome.status["phase"], "Ready");
    call = call.applied(&outcome, well);
    call.composite["status"]["conditions"] = outcome.written_conditions();
    assert_eq!(call.run().conditions["ImagesReady"].0, "True");
}

#[test]
fn quotas_are_those_of_the_size_and_of_the_claim_which_wins() {
    let own = json!({ "bootstrap": { "quotas": { "servers": 20, "ports": -1 } } });
    let mut call = site(own, json!({}));
    let size = text(&call.composite, "/spec/size");
    if let Some(input) = &mut call.input {
        let quotas = json!({ "servers": 100, "volumesGB": 5000 });
        input["sizes"][size]["bootstrap"] = json!({ "quotas": quotas });
    }
    assert_eq!(
        bootstrap(&call.run())["quotas"],
        json!({ "servers": 20, "volumesGB": 5000, "ports": -1 })
    );
}
