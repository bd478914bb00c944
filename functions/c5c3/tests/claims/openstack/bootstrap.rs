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
fn images_of_a_claim_come_from_places_that_the_site_allows() {
    let own = image("own", "https://files.example.com/customer-a/own.raw");
    let elsewhere = image("elsewhere", "https://files.example.com/customer-b/a.raw");
    let taken = image("debian-12", "https://files.example.com/customer-a/a.raw");
    let spec = json!({ "bootstrap": { "images": [own, elsewhere, taken] } });
    let input = json!({
        "images": [debian()],
        "allowedImageSources": ["https://files.example.com/customer-a/"],
    });
    let outcome = site(spec, input).run();
    assert_eq!(bootstrap(&outcome)["images"], json!([debian(), own]));
    let (status, reason, message) = &outcome.conditions["ImagesAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        message,
        "this site has images of these names, or allows none of claims from their URLs: remove elsewhere, debian-12 from \
         spec.bootstrap.images, or ask the platform team for bootstrap.allowedImageSources in the Composition's input"
    );
}

#[test]
fn images_of_a_claim_need_the_sites_consent_and_glance() {
    let own = image("own", "https://files.example.com/own.raw");
    let spec = json!({ "bootstrap": { "images": [own] } });
    let mut call = site(spec, json!({ "images": [debian()] }));
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome)["images"], json!([debian()]));
    assert_eq!(outcome.conditions["ImagesAllowed"].0, "False");
    call.composite["status"]["conditions"] = outcome.written_conditions();
    call.composite["spec"]["bootstrap"] = json!({});
    call.composite["spec"]["services"] = json!({ "glance": false, "nova": false });
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome), Value::Null);
    assert_eq!(outcome.conditions["ImagesAllowed"].0, "True");
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
    let fatal = sized(json!({ "images": ["debian"] })).fatal.unwrap();
    assert!(
        fatal.ends_with(
            ".bootstrap.images of the Composition's input names debian, which bootstrap.images doesn't have: correct the name, or add \
             it there"
        ),
        "{fatal}"
    );
}

#[test]
fn a_claim_chooses_images_of_the_site_that_its_size_has_not() {
    let other = image("other", "https://images.example.com/other.raw");
    let spec = json!({ "bootstrap": { "siteImages": ["other"] } });
    let mut call = site(spec, json!({ "images": [debian(), other] }));
    let size = text(&call.composite, "/spec/size");
    if let Some(input) = &mut call.input {
        input["sizes"][size]["bootstrap"] = json!({ "images": [] });
    }
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome)["images"], json!([other]));
    assert_eq!(outcome.conditions["ImagesAllowed"].0, "True");
    call.composite["spec"]["bootstrap"]["siteImages"] = json!(["other", "fedora"]);
    let outcome = call.run();
    assert_eq!(bootstrap(&outcome)["images"], json!([other]));
    let (status, reason, message) = &outcome.conditions["ImagesAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        message,
        "this site has no image fedora: correct spec.bootstrap.siteImages, or ask the platform team for it in bootstrap.images of the \
         Composition's input"
    );
}

#[test]
fn urls_with_passwords_in_the_input_are_refused_and_not_shown() {
    for input in [
        json!({ "images": [image("a", "https://user:s3cret@images.example.com/a.raw")] }),
        json!({ "allowedImageSources": ["https://user:s3cret@images.example.com"] }),
    ] {
        let fatal = site(json!({}), input).run().fatal.unwrap();
        assert!(fatal.contains("write https://"), "{fatal}");
        assert!(!fatal.contains("s3cret"), "{fatal}");
    }
}

#[test]
fn claim_says_how_its_images_are_and_is_ready_without_them() {
    let call = site(json!({}), json!({ "images": [debian()] }));
    let (call, outcome) = call.running();
    assert!(!outcome.conditions.contains_key("ImagesReady"));
    let refused = json!({
        "type": "ImagesReady", "status": "False", "reason": "RefusedByKORC", "message": "K-ORC gave up",
    });
    let mut call = call.applied(&outcome, |name, manifest| {
        let mut status = well(name, manifest);
        if manifest["kind"] == "ControlPlane"
            && let Some(conditions) = status["conditions"].as_array_mut()
        {
            conditions.push(refused.clone());
        }
        status
    });
    let outcome = call.run();
    let (status, reason, message) = &outcome.conditions["ImagesReady"];
    assert_eq!(
        [status, reason, message],
        ["False", "RefusedByKORC", "K-ORC gave up"]
    );
    assert_eq!(outcome.status["phase"], "Ready");
    call.composite["status"]["conditions"] = outcome.written_conditions();
    let outcome = call.applied(&outcome, well).run();
    assert_eq!(outcome.conditions["ImagesReady"].0, "True");
}
