//! Asks and calls Keystone where K-ORC has no kind for it: role assignments, and the regions of endpoints.
//!
//! What is understood stands in [`provider_control_plane::credentials::keystone`]. Keystone is found, and authenticated at,
//! by the clouds.yaml that K-ORC reads. A token is used as long as it is valid.

mod clouds;
mod error;
mod exchange;
mod identity;
mod session;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use provider_control_plane::credentials::keystone::{Access, Call, Query, SYSTEM};
use provider_runtime::{Driver, DriverError};
use serde_json::Value;

use crate::error::Error;
use crate::session::Session;

/// The driver of Keystone.
#[derive(Default)]
pub struct Keystone {
    sessions: Mutex<HashMap<Access, Arc<Session>>>,
}

/// More clouds than this are not remembered at once: each new credential of one is another.
const SESSIONS: usize = 256;

impl Keystone {
    async fn answer(&self, query: &str) -> Result<Value, Error> {
        let query: Query = serde_json::from_str(query).map_err(|_| Error::NotUnderstood)?;
        let session = self.session(query.access)?;
        let answer = identity::answer(&session, &query.scope).await?;
        serde_json::to_value(answer).map_err(|_| Error::NotUnderstood)
    }

    async fn carry_out(&self, call: &str) -> Result<(), Error> {
        let call: Call = serde_json::from_str(call).map_err(|_| Error::NotUnderstood)?;
        let session = self.session(call.access)?;
        identity::carry_out(&session, &call.change).await
    }

    fn session(&self, access: Access) -> Result<Arc<Session>, Error> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&access) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::new(&access)?);
        if sessions.len() >= SESSIONS {
            sessions.clear();
        }
        sessions.insert(access, Arc::clone(&session));
        Ok(session)
    }
}

impl Driver for Keystone {
    fn system(&self) -> &'static str {
        SYSTEM
    }

    fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        async move { Ok(self.answer(query).await?) }.boxed()
    }

    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async move { Ok(self.carry_out(content).await?) }.boxed()
    }
}
