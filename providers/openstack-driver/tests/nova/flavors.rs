//! The driver of Nova's flavors.

use std::collections::BTreeMap;
use std::error::Error;

use provider_control_plane::credentials::flavors::{Access, Call, Query};
use provider_openstack_driver::Flavors;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};

use crate::server::{Log, all, listen, ok};
use crate::{Test, keystone_at};

fn answer(request: &str) -> (u16, Value) {
    match request {
        "GET /v2.1/flavors/f1/os-extra_specs" => {
            ok(json!({ "extra_specs": { "hw:mem_page_size": "large" } }))
        }
        "POST /v2.1/flavors/f1/os-extra_specs" => {
            ok(json!({ "extra_specs": { "trait:CUSTOM_TIER_PREMIUM": "required" } }))
        }
        _ => (404, json!({})),
    }
}

/// A server, and how it is reached: the clouds.yaml doesn't say where Nova is.
async fn flavors() -> Result<(Access, Log), Box<dyn Error>> {
    let (port, log) = listen(answer, all).await?;
    let url = format!("http://127.0.0.1:{port}");
    let keystone = keystone_at(&url);
    let url = format!("{url}/v2.1");
    Ok((Access { keystone, url }, log))
}

async fn observe(access: &Access, flavor: &str) -> Result<Value, DriverError> {
    let query = Query {
        access: access.clone(),
        flavor: flavor.to_owned(),
    };
    Flavors::default().observe(&json!(query).to_string()).await
}

#[tokio::test]
async fn extra_specs_of_a_flavor_are_read_and_set() -> Test {
    let (access, log) = flavors().await?;
    let found = observe(&access, "f1").await?;
    assert_eq!(found, json!({ "hw:mem_page_size": "large" }));
    let required = ("trait:CUSTOM_TIER_PREMIUM", "required");
    let specs = [required].map(|(spec, value)| (spec.to_owned(), value.to_owned()));
    let call = Call {
        access,
        flavor: "f1".to_owned(),
        specs: BTreeMap::from(specs),
    };
    Flavors::default().call(&json!(call).to_string()).await?;
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /v2.1/flavors/f1/os-extra_specs compute 2.69",
            r#"POST /v2.1/flavors/f1/os-extra_specs compute 2.69 {"extra_specs": Object {"trait:CUSTOM_TIER_PREMIUM": String("required")}}"#,
        ]
    );
    Ok(())
}

#[tokio::test]
async fn flavor_that_nova_does_not_have_is_not_one_without_extra_specs() -> Test {
    let (access, _) = flavors().await?;
    assert_eq!(
        observe(&access, "gone").await,
        Err(DriverError::Unavailable(
            "Nova at 127.0.0.1 answered 404 to the extra specs of a flavor".to_owned()
        ))
    );
    Ok(())
}
