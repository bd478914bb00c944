//! The drivers of OpenStack's services: Keystone, Neutron and Nova's flavors, where K-ORC has no kind or field for something, and Nova with
//! Placement, for leased nodes. RabbitMQ is asked for its alarms, which its operator doesn't report.
//!
//! The requests are in [`provider_control_plane::credentials`] and in [`provider_hypervisor_pool::nova`]. Services are
//! found, and authenticated at, by a clouds.yaml. A token is used as long as it is valid.

mod addresses;
mod chassis;
mod clouds;
mod compute;
mod content;
mod error;
mod exchange;
mod flavors;
mod hypervisors;
mod identity;
mod lists;
mod network;
mod placement;
mod rabbitmq;
mod session;
mod url;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use provider_control_plane::credentials::{
    flavors as nova_flavors, keystone, neutron, rabbitmq as alarms,
};
use provider_hypervisor_pool::nova;
use provider_runtime::{Driver, DriverError};
use serde_json::Value;

use crate::content::{request, response};
use crate::error::Error;
pub use crate::rabbitmq::RabbitMq;
use crate::session::{Access, Session};

/// More clouds than this are not remembered at once: each new credential of one is another.
const SESSIONS: usize = 256;

/// The sessions of a driver.
#[derive(Default)]
struct Sessions(Mutex<HashMap<Access, Arc<Session>>>);

impl Sessions {
    fn with(&self, access: Access) -> Result<Arc<Session>, Error> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&access) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::new(access.clone())?);
        if sessions.len() >= SESSIONS {
            sessions.clear();
        }
        sessions.insert(access, Arc::clone(&session));
        Ok(session)
    }
}

/// Implements a driver by its methods `answer` and `carry_out`. Its responses are valid for so many seconds, if that is given.
macro_rules! driver {
    ($type:ident, $system:expr $(, $validity:expr)?) => {
        impl Driver for $type {
            fn system(&self) -> &'static str {
                $system
            }

            $(fn validity(&self) -> Duration {
                Duration::from_secs($validity.into())
            })?

            fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
                async move { Ok(self.answer(query).await?) }.boxed()
            }

            fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
                async move { Ok(self.carry_out(content).await?) }.boxed()
            }
        }
    };
}

/// The driver of Keystone.
#[derive(Default)]
pub struct Keystone(Sessions);

impl From<keystone::Access> for Access {
    fn from(access: keystone::Access) -> Self {
        Self {
            clouds: access.clouds,
            cloud: access.cloud,
            ca: access.ca,
            addresses: BTreeMap::new(),
            nova: None,
            neutron: None,
        }
    }
}

impl Keystone {
    async fn answer(&self, query: &str) -> Result<Value, Error> {
        let query: keystone::Query = request(query)?;
        let session = self.0.with(query.access.into())?;
        let answer = identity::answer(session.keystone(), &query.scope, query.user.as_deref());
        response(answer.await?)
    }

    async fn carry_out(&self, call: &str) -> Result<(), Error> {
        let call: keystone::Call = request(call)?;
        let session = self.0.with(call.access.into())?;
        identity::carry_out(session.keystone(), &call.change).await
    }
}

driver!(Keystone, keystone::SYSTEM);

/// The driver of Nova.
#[derive(Default)]
pub struct Nova(Sessions);

impl Nova {
    fn session(&self, access: nova::Access) -> Result<Arc<Session>, Error> {
        self.0.with(Access {
            clouds: access.clouds,
            cloud: nova::CLOUD.to_owned(),
            ca: access.ca,
            addresses: access.addresses,
            nova: None,
            neutron: None,
        })
    }

    async fn answer(&self, query: &str) -> Result<Value, Error> {
        let query: nova::Query = request(query)?;
        let session = self.session(query.access)?;
        match query.question {
            nova::Question::Services => response(compute::services(&session).await?),
            nova::Question::Aggregates => response(compute::aggregates(&session).await?),
            nova::Question::Hypervisor { host } => {
                response(hypervisors::hypervisor(&session, &host).await?)
            }
            nova::Question::Hypervisors => response(hypervisors::ids(&session).await?),
            nova::Question::Servers => response(hypervisors::servers(&session).await?),
            nova::Question::Members { aggregate } => {
                response(placement::members(&session, &aggregate).await?)
            }
            nova::Question::Occupants { host } => {
                response(compute::occupants(&session, &host).await?)
            }
            nova::Question::Leftovers { hosts } => {
                response(placement::leftovers(&session, &hosts).await?)
            }
            nova::Question::Traits { traits } => {
                response(placement::with_traits(&session, &traits).await?)
            }
            nova::Question::Chassis { hosts } => response(chassis::of(&session, &hosts).await?),
        }
    }

    async fn carry_out(&self, call: &str) -> Result<(), Error> {
        let call: nova::Call = request(call)?;
        let session = self.session(call.access)?;
        compute::carry_out(&session, &call.change).await
    }
}

driver!(Nova, nova::SYSTEM, nova::VALID);

/// The driver of Neutron.
#[derive(Default)]
pub struct Neutron(Sessions);

impl Neutron {
    fn session(&self, access: neutron::Access) -> Result<Arc<Session>, Error> {
        self.0.with(Access {
            neutron: Some(access.url),
            ..access.keystone.into()
        })
    }

    async fn answer(&self, query: &str) -> Result<Value, Error> {
        let query: neutron::Query = request(query)?;
        let session = self.session(query.access)?;
        let server = session.neutron().ok_or(Error::NotUnderstood)?;
        response(network::answer(server, &query.question).await?)
    }

    async fn carry_out(&self, call: &str) -> Result<(), Error> {
        let call: neutron::Call = request(call)?;
        let session = self.session(call.access)?;
        let server = session.neutron().ok_or(Error::NotUnderstood)?;
        network::carry_out(server, &call.change).await
    }
}

driver!(Neutron, neutron::SYSTEM);

/// The driver of Nova's flavors.
#[derive(Default)]
pub struct Flavors(Sessions);

impl Flavors {
    fn session(&self, access: nova_flavors::Access) -> Result<Arc<Session>, Error> {
        self.0.with(Access {
            nova: Some(access.url),
            ..access.keystone.into()
        })
    }

    async fn answer(&self, query: &str) -> Result<Value, Error> {
        let query: nova_flavors::Query = request(query)?;
        let session = self.session(query.access)?;
        response(flavors::extra_specs(&session, &query.flavor).await?)
    }

    async fn carry_out(&self, call: &str) -> Result<(), Error> {
        let call: nova_flavors::Call = request(call)?;
        let session = self.session(call.access)?;
        flavors::set_extra_specs(&session, &call.flavor, &call.specs).await
    }
}

driver!(Flavors, nova_flavors::SYSTEM);

driver!(RabbitMq, alarms::SYSTEM, alarms::VALID);
