//! The drivers of OpenStack's services: Keystone, Neutron and Nova's flavors, where K-ORC has no kind or field for something, and Nova with
//! Placement, for leased nodes. RabbitMQ is asked for its alarms, which its operator doesn't report.
//!
//! The requests are in [`provider_control_plane::credentials`] and in [`provider_hypervisor_pool::nova`]. Services are
//! found, and authenticated at, by a clouds.yaml. A token is used as long as it is valid.

mod addresses;
mod chassis;
mod clouds;
mod compute;
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

use provider_control_plane::credentials::{flavors as nova_flavors, keystone, neutron};
use provider_hypervisor_pool::nova;
use provider_runtime::{DriverError, TypedDriver};
use serde_json::{Value, json};

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

impl TypedDriver for Keystone {
    const SYSTEM: &'static str = keystone::SYSTEM;
    type Query = keystone::Query;
    type Answer = keystone::Answer;
    type Call = keystone::Call;

    async fn answer(&self, query: keystone::Query) -> Result<keystone::Answer, DriverError> {
        let session = self.0.with(query.access.clone().into())?;
        Ok(identity::answer(session.keystone(), &query).await?)
    }

    async fn carry_out(&self, call: keystone::Call) -> Result<(), DriverError> {
        let session = self.0.with(call.access.into())?;
        Ok(identity::carry_out(session.keystone(), &call.change).await?)
    }
}

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
}

impl TypedDriver for Nova {
    const SYSTEM: &'static str = nova::SYSTEM;
    const VALIDITY: Duration = Duration::from_secs(nova::VALID as u64);
    type Query = nova::Query;
    type Answer = Value;
    type Call = nova::Call;

    async fn answer(&self, query: nova::Query) -> Result<Value, DriverError> {
        let session = self.session(query.access)?;
        Ok(match query.question {
            nova::Question::Services => json!(compute::services(&session).await?),
            nova::Question::Aggregates => json!(compute::aggregates(&session).await?),
            nova::Question::Hypervisor { host } => {
                json!(hypervisors::hypervisor(&session, &host).await?)
            }
            nova::Question::Hypervisors => json!(hypervisors::ids(&session).await?),
            nova::Question::Servers => json!(hypervisors::servers(&session).await?),
            nova::Question::Members { aggregate } => {
                json!(placement::members(&session, &aggregate).await?)
            }
            nova::Question::Occupants { host } => {
                json!(compute::occupants(&session, &host).await?)
            }
            nova::Question::Leftovers { hosts } => {
                json!(placement::leftovers(&session, &hosts).await?)
            }
            nova::Question::Traits { traits } => {
                json!(placement::with_traits(&session, &traits).await?)
            }
            nova::Question::Chassis { hosts } => json!(chassis::of(&session, &hosts).await?),
        })
    }

    async fn carry_out(&self, call: nova::Call) -> Result<(), DriverError> {
        let session = self.session(call.access)?;
        Ok(compute::carry_out(&session, &call.change).await?)
    }
}

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
}

impl TypedDriver for Neutron {
    const SYSTEM: &'static str = neutron::SYSTEM;
    type Query = neutron::Query;
    type Answer = neutron::Answer;
    type Call = neutron::Call;

    async fn answer(&self, query: neutron::Query) -> Result<neutron::Answer, DriverError> {
        let session = self.session(query.access)?;
        let server = session.neutron().ok_or(Error::NotUnderstood)?;
        Ok(network::answer(server, &query.question).await?)
    }

    async fn carry_out(&self, call: neutron::Call) -> Result<(), DriverError> {
        let session = self.session(call.access)?;
        let server = session.neutron().ok_or(Error::NotUnderstood)?;
        Ok(network::carry_out(server, &call.change).await?)
    }
}

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
}

impl TypedDriver for Flavors {
    const SYSTEM: &'static str = nova_flavors::SYSTEM;
    type Query = nova_flavors::Query;
    type Answer = BTreeMap<String, String>;
    type Call = nova_flavors::Call;

    async fn answer(&self, query: nova_flavors::Query) -> Result<Self::Answer, DriverError> {
        let session = self.session(query.access)?;
        Ok(flavors::extra_specs(&session, &query.flavor).await?)
    }

    async fn carry_out(&self, call: nova_flavors::Call) -> Result<(), DriverError> {
        let session = self.session(call.access)?;
        Ok(flavors::set_extra_specs(&session, &call.flavor, &call.specs).await?)
    }
}
