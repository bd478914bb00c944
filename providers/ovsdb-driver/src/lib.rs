//! Asks and calls OVN's databases: how their members are, which nodes have registered, and the removal of a node.
//!
//! What is understood stands in [`provider_ovn::ovsdb`]. A connection lasts for one query: there is one a minute.

mod connection;
mod error;
mod tables;

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use provider_ovn::ovsdb::{Access, Answer, Query, Removal, SYSTEM, VALID};
use provider_runtime::{Driver, DriverError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connection::Connection;
use crate::error::Error;

/// The driver of OVSDB.
pub struct Ovsdb;

impl Driver for Ovsdb {
    fn system(&self) -> &'static str {
        SYSTEM
    }

    fn validity(&self) -> Duration {
        Duration::from_secs(VALID.into())
    }

    fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        async move {
            let answer = observe(&parsed(query)?).await?;
            Ok(serde_json::to_value(answer).map_err(|_| Error::NotUnderstood)?)
        }
        .boxed()
    }

    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async move {
            let Removal { access, system_id } = parsed(content)?;
            let (mut connection, _) = connect(&access).await?;
            Ok(tables::remove(&mut connection, &access.database, &system_id).await?)
        }
        .boxed()
    }
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|_| Error::NotUnderstood)
}

async fn observe(query: &Query) -> Result<Answer, Error> {
    let database = &query.access.database;
    let (mut connection, mut answer) = connect(&query.access).await?;
    match query.chassis {
        true => tables::chassis(&mut connection, database, &mut answer).await?,
        false => answer.behind = tables::behind(&mut connection, database).await?,
    }
    Ok(answer)
}

/// A connection with a member that has a majority, the leader if it answers, and what all members say of themselves.
async fn connect(access: &Access) -> Result<(Connection, Answer), Error> {
    let tls = access.tls.as_ref().map(connection::tls).transpose()?;
    let asked = access.members.iter().map(|(pod, (host, port))| {
        let tls = tls.clone();
        async move {
            let mut connection = Connection::open(host, *port, tls).await?;
            let member = tables::member(&mut connection, &access.database).await?;
            Ok::<_, Error>((pod, member, connection))
        }
    });
    let (mut answer, mut best, mut failed) = (Answer::default(), None, None);
    for outcome in join_all(asked).await {
        match outcome {
            Ok((pod, member, connection)) => {
                if member.leader || (member.connected && best.is_none()) {
                    best = Some(connection);
                }
                answer.members.insert(pod.clone(), member);
            }
            Err(error) => failed = Some(error),
        }
    }
    let nobody = || Error::NoMajority {
        database: access.database.clone(),
    };
    let connection = best.ok_or_else(|| failed.unwrap_or_else(nobody))?;
    Ok((connection, answer))
}
