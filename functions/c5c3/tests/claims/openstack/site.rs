//! Settings of the site that every control plane gets.

use function_c5c3_fixtures::Call;
use serde_json::{Value, json};

use super::call;

#[test]
fn control_plane_is_monitored_as_the_site_says() {
    let monitoring = |settings: Value| {
        let mut call = call("customer-a-prod");
        for (setting, value) in settings.as_object().unwrap() {
            call.input.as_mut().unwrap()[setting] = value.clone();
        }
        call.run().manifest("control-plane")["spec"]["global"]["monitoring"].clone()
    };
    assert_eq!(
        [
            json!({ "monitoring": true }),
            json!({ "monitoring": false, "processMetrics": true }),
        ]
        .map(monitoring),
        [
            json!({ "enabled": true }),
            json!({ "enabled": true, "processes": true }),
        ]
    );
}

#[test]
fn control_plane_has_its_images_from_the_sites_registry() {
    let mut call = call("customer-a-prod");
    let images =
        |call: &Call| call.run().manifest("control-plane")["spec"]["global"]["images"].clone();
    assert_eq!(images(&call), Value::Null);
    let mirror = json!({
        "registry": "registry.example.com:5000/mirror", "pullSecrets": [{ "name": "mirror" }],
    });
    call.input.as_mut().unwrap()["images"] = mirror.clone();
    assert_eq!(images(&call), mirror);
}
