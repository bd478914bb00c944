//! Extra specs of Nova's flavors (<https://docs.openstack.org/api-ref/compute/#flavors-extra-specs-flavors-os-flavor-extra-specs>).

use std::collections::BTreeMap;

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::session::Session;
use crate::url::encoded;

const READ: &str = "the extra specs of a flavor";

#[derive(Deserialize)]
struct Found {
    extra_specs: BTreeMap<String, String>,
}

fn specs_of(flavor: &str) -> String {
    format!("/flavors/{}/os-extra_specs", encoded(flavor))
}

/// Reads the extra specs of a flavor.
pub(crate) async fn extra_specs(
    session: &Session,
    flavor: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let (nova, path) = (session.nova()?, specs_of(flavor));
    let reply = nova.send(Method::GET, &path, None, READ).await?;
    let found: Found = serde_json::from_value(reply).map_err(|_| nova.strange(READ))?;
    Ok(found.extra_specs)
}

/// Sets some extra specs of a flavor.
pub(crate) async fn set_extra_specs(
    session: &Session,
    flavor: &str,
    specs: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let (nova, path) = (session.nova()?, specs_of(flavor));
    let body = json!({ "extra_specs": specs });
    let what = "the change of a flavor's extra specs";
    let sent = nova.send(Method::POST, &path, Some(&body), what);
    sent.await.map(drop)
}
