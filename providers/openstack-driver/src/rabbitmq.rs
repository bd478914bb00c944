//! The driver of RabbitMQ's management API, as far as its alarms are read
//! (<https://www.rabbitmq.com/docs/http-api-reference#get-apihealthchecksalarms>).

use std::time::Duration;

use hyper::Method;
use provider_control_plane::credentials::rabbitmq::{
    Access, Alarm, AlarmResource, Answer, Member, Query, SYSTEM, VALID,
};
use provider_runtime::{DriverError, TypedDriver};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::addresses::Addresses;
use crate::error::Error;
use crate::exchange::{Connections, Endpoint, Exchange};

/// The most alarms that an answer may have: more than all members of any RabbitMQ have.
const MOST: usize = 64;

/// What is asked, for messages.
const WHAT: &str = "the request for its alarms";

/// The driver of RabbitMQ's management API. Each request has a connection of its own.
pub struct RabbitMq;

impl TypedDriver for RabbitMq {
    const SYSTEM: &'static str = SYSTEM;
    const VALIDITY: Duration = Duration::from_secs(VALID as u64);
    type Query = Query;
    type Answer = Answer;
    type Call = IgnoredAny;

    async fn answer(&self, query: Query) -> Result<Answer, DriverError> {
        let alarms = alarms(query.access).await;
        Ok(alarms.unwrap_or_else(|error| Answer::Unknown(error.to_string())))
    }
}

/// The answer to a health check. It fails with status 503 while there are alarms
/// (deps/rabbitmq_management/src/rabbit_mgmt_wm_health_check_alarms.erl).
#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Check {
    Ok,
    Failed { alarms: Vec<Found> },
}

#[derive(Deserialize)]
struct Found {
    resource: String,
    node: String,
}

impl Found {
    /// The alarm, if it is of the whole cluster. A member reports its own file descriptors besides, for which no publisher is blocked.
    fn alarm(self) -> Option<Result<Alarm, &'static str>> {
        let resource = AlarmResource::deserialize(Value::from(self.resource)).ok()?;
        let member = Member::try_from(self.node);
        Some(member.map(|node| Alarm { resource, node }))
    }
}

async fn alarms(access: Access) -> Result<Answer, Error> {
    let endpoint = Endpoint::new("RabbitMQ", &access.url, None).ok_or(Error::NotUnderstood)?;
    let endpoint = endpoint.with_login(&access.login);
    let is_plain = endpoint.is_plain();
    let connections = Connections::new(access.ca.as_deref(), is_plain, Addresses::new());
    let connections = connections.map_err(|error| of_certificate(error, endpoint.server()))?;
    let rabbitmq = Exchange::new(connections, endpoint);
    let path = "/api/health/checks/alarms";
    let reply = rabbitmq.send(Method::GET, path, None, None, WHAT).await?;
    let check = Check::deserialize(&reply.body).map_err(|_| match reply.status {
        200..300 => rabbitmq.strange(WHAT),
        status => Error::Failed {
            server: rabbitmq.server(),
            status,
            what: WHAT,
        },
    })?;
    let found = match check {
        Check::Ok => Vec::new(),
        Check::Failed { alarms } if alarms.len() > MOST => return Err(rabbitmq.strange(WHAT)),
        Check::Failed { alarms } => alarms,
    };
    let alarms: Result<_, &str> = found.into_iter().filter_map(Found::alarm).collect();
    alarms
        .map(Answer::Alarms)
        .map_err(|_| rabbitmq.strange(WHAT))
}

/// Says of the Secret with RabbitMQ's certificate what is otherwise said of one with a clouds.yaml.
fn of_certificate(error: Error, server: String) -> Error {
    match error {
        Error::NoCertificate => Error::NoAuthority { server },
        Error::NoRoots => Error::NoRootsBeside { server },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_certificates_name_no_clouds_yaml() {
        for error in [Error::NoCertificate, Error::NoRoots] {
            let message = of_certificate(error, "RabbitMQ at host".to_owned()).to_string();
            assert!(
                message.contains("RabbitMQ at host") && message.contains("ca.crt"),
                "{message}"
            );
            assert!(!message.contains("clouds.yaml"), "{message}");
        }
    }
}
