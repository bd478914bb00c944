//! The public endpoints of exposed services in the catalogue.

use c5c3_api::glance::GlanceSpec;
use provider_composer::{Key, ResourceKind};
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, korc};

const PUBLIC: &str = "glance-public";
const WITHIN: Option<&str> = Some("https://glance.openstack.svc.cluster.local:9292");
const FIRST: Option<&str> = Some("https://image.example.com");
const SECOND: Option<&str> = Some("https://images.example.com");

fn exposed(hostname: &str) -> Value {
    let expose = json!({ "hostname": hostname, "gateway": { "name": "public" } });
    json!({ "glance": { "expose": expose } })
}

/// A catalogue, and a Glance that hasn't answered.
fn begun(services: &Value) -> Stage {
    let mut stage = Stage::new(&json!({ "services": services }));
    stage.cluster.put(&glance(), &json!({ "spec": {} }));
    stage.settle();
    stage
}

fn glance() -> Key {
    Key::new(ResourceKind::of::<GlanceSpec>(), NAMESPACE, "glance")
}

/// Glance reports the URL at which it answers.
fn answer(stage: &mut Stage, url: Option<&str>) {
    let status = json!({ "publicEndpoint": url });
    stage.cluster.set_status(&glance(), status);
    stage.settle();
}

/// The services of the ControlPlane change.
fn change(stage: &mut Stage, services: &Value) {
    let key = stage.control_plane.clone();
    let change = |object: &mut Value| object["spec"]["services"] = services.clone();
    stage.cluster.edit(&key, change);
    stage.settle();
}

fn endpoint<'a>(stage: &'a Stage, name: &str, pointer: &str) -> Option<&'a str> {
    let endpoint = stage.cluster.get(&korc("Endpoint", "endpoints", name))?;
    endpoint.pointer(pointer)?.as_str()
}

fn url<'a>(stage: &'a Stage, name: &str) -> Option<&'a str> {
    endpoint(stage, name, "/spec/resource/url")
}

#[test]
fn public_endpoint_appears_once_it_answers_and_stays() {
    let mut stage = begun(&exposed("image.example.com"));
    assert_eq!(url(&stage, PUBLIC), None);
    assert_eq!(url(&stage, "glance-internal"), WITHIN);
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());

    answer(&mut stage, FIRST);
    assert_eq!(url(&stage, PUBLIC), FIRST);
    let id = endpoint(&stage, PUBLIC, "/status/id").unwrap();
    let regions = stage.keystone.borrow().answer.regions.clone();
    assert_eq!(regions[id], "RegionOne");

    answer(&mut stage, None);
    assert_eq!(url(&stage, PUBLIC), FIRST);
    stage.cluster.set_readable(&glance(), false);
    stage.settle();
    assert_eq!(url(&stage, PUBLIC), FIRST);
}

#[test]
fn public_endpoint_keeps_its_url_until_the_next_one_answers() {
    let mut stage = begun(&json!({}));
    assert_eq!(url(&stage, PUBLIC), WITHIN);

    change(&mut stage, &exposed("image.example.com"));
    assert_eq!(url(&stage, PUBLIC), WITHIN);
    answer(&mut stage, FIRST);
    assert_eq!(url(&stage, PUBLIC), FIRST);

    change(&mut stage, &exposed("images.example.com"));
    assert_eq!(url(&stage, PUBLIC), FIRST);
    answer(&mut stage, SECOND);
    assert_eq!(url(&stage, PUBLIC), SECOND);

    change(&mut stage, &json!({}));
    assert_eq!(url(&stage, PUBLIC), WITHIN);
}
