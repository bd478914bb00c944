//! Asks and calls OVN's databases: how their members are, which nodes have registered, and the removal of a node.
//!
//! What is understood stands in [`provider_ovn::ovsdb`]. A connection lasts for one query: there is one a minute.

mod connection;
mod error;
mod tables;

use std::time::Duration;

use futures::future::join_all;
use provider_ovn::ovsdb::{Access, Answer, Query, Removal, SYSTEM, VALID};
use provider_runtime::{DriverError, TypedDriver};

use crate::connection::Connection;
use crate::error::Error;

/// The driver of OVSDB.
pub struct Ovsdb;

impl TypedDriver for Ovsdb {
    const SYSTEM: &'static str = SYSTEM;
    const VALIDITY: Duration = Duration::from_secs(VALID as u64);
    type Query = Query;
    type Answer = Answer;
    type Call = Removal;

    async fn answer(&self, query: Query) -> Result<Answer, DriverError> {
        let database = &query.access.database;
        let (mut connection, mut answer) = connect(&query.access).await?;
        match query.chassis {
            true => tables::chassis(&mut connection, database, &mut answer).await?,
            false => answer.behind = tables::behind(&mut connection, database).await?,
        }
        Ok(answer)
    }

    async fn carry_out(&self, call: Removal) -> Result<(), DriverError> {
        let Removal { access, system_id } = call;
        let (mut connection, _) = connect(&access).await?;
        Ok(tables::remove(&mut connection, &access.database, &system_id).await?)
    }
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
