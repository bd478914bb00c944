//! Lists of Keystone, Nova, Neutron and Placement.

use hyper::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::session::Server;

/// All of a list. One that Keystone cuts short isn't taken for the whole.
pub(crate) async fn list<T: DeserializeOwned>(
    server: Server<'_>,
    path: &str,
    field: &'static str,
) -> Result<Vec<T>, Error> {
    let (list, _) = page(server, path, field).await?;
    Ok(list)
}

/// One page of a list, and whether there is another.
pub(crate) async fn page<T: DeserializeOwned>(
    server: Server<'_>,
    path: &str,
    field: &'static str,
) -> Result<(Vec<T>, bool), Error> {
    let mut reply = server.send(Method::GET, path, None, field).await?;
    if reply["truncated"] == Value::Bool(true) {
        return Err(server.strange(field));
    }
    let links = reply.get(format!("{field}_links"));
    let has_more = links.and_then(Value::as_array);
    let has_more = has_more.is_some_and(|links| !links.is_empty());
    let list = reply.get_mut(field).map(Value::take);
    let list = serde_json::from_value(list.unwrap_or_default());
    Ok((list.map_err(|_| server.strange(field))?, has_more))
}
