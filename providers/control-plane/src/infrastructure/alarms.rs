//! RabbitMQ's alarms: while a member lacks disk space or memory, RabbitMQ blocks all publishers, and its pods stay ready
//! (<https://www.rabbitmq.com/docs/alarms>).

use std::collections::BTreeSet;

use jiff::SignedDuration;
use k8s_openapi::ByteString;
use provider_composer::{DesiredState, Lookup, Progress, Reason, SecretValues, named};
use provider_openstack::after;
use serde_json::json;

use super::rabbitmq::CERTIFICATE;
use crate::credentials::keystone::external_request;
use crate::credentials::rabbitmq::{Access, Alarm, AlarmResource, Answer, Query, SYSTEM, VALID};
use crate::graph::{INFRASTRUCTURE_READY, Node};
use crate::recipe::Recipe;
use crate::survey::{Survey, changed};

/// The Secret with RabbitMQ's first user, which its cluster operator creates (rabbitmq/cluster-operator,
/// internal/resource/default_user_secret.go).
const USER: &str = "openstack-rabbitmq-default-user";

/// The condition that says why alarms aren't known.
pub(crate) const RABBITMQ_OBSERVED: &str = "RabbitMQObserved";

/// How long what was reported of alarms stays while they aren't known.
const KEPT: SignedDuration = SignedDuration::from_mins(15);

impl Recipe<'_> {
    /// Makes RabbitMQ unready while it has alarms. Returns why they aren't known, if they aren't: what was reported of them before then stays
    /// for a while.
    pub(crate) fn alarms(
        &self,
        survey: &mut Survey,
        desired: &mut DesiredState,
    ) -> Option<Progress> {
        let sight = survey.get_mut(&Node::RabbitMq)?;
        // Looked up before it is used, so that it is read together with the RabbitmqCluster.
        let access = self.management_access();
        if !sight.progress.is_ready() {
            return None;
        }
        let (progress, unknown) = match self.alarms_in_effect(access) {
            Lookup::Found(alarms) if !alarms.is_empty() => (blocked(&alarms), None),
            Lookup::Found(_) | Lookup::Missing => return None,
            Lookup::Unknown(why) => {
                let message = format!(
                    "it isn't known whether RabbitMQ has alarms and blocks publishers: {why}"
                );
                (self.alarms_before(), Some(Progress::unknown(message)))
            }
        };
        desired.requeue_at(after(VALID, self.observed));
        sight.progress = progress;
        unknown
    }

    /// RabbitMQ's alarms; missing where it isn't known how to ask.
    fn alarms_in_effect(&self, access: Lookup<Access>) -> Lookup<BTreeSet<Alarm>> {
        let answer = access.and_then(|access| match external_request(SYSTEM, &Query { access }) {
            Ok(query) => self.observed.external(query),
            Err(failure) => Lookup::Unknown(failure.to_string()),
        });
        let answer: Lookup<Answer> =
            answer.parsed(|_| "RabbitMQ's answer can't be understood".to_owned());
        answer.and_then(|answer| match answer {
            Answer::Alarms(alarms) => Lookup::Found(alarms),
            Answer::Unknown(why) => Lookup::Unknown(why),
        })
    }

    /// How RabbitMQ's management API is reached; missing where the Secret of its first user or of its certificate is.
    fn management_access(&self) -> Lookup<Access> {
        let look = |name| self.observed.body::<SecretValues>(self.namespace(), name);
        let user = look(USER);
        let certificate = match self.spec().global.tls.enabled {
            true => look(CERTIFICATE).map(Some),
            false => Lookup::Found(None),
        };
        user.and_then(|user| {
            certificate.and_then(|certificate| {
                let access = self.management(&user, certificate.as_ref());
                Lookup::from(access.map_err(|progress| progress.message().to_owned()))
            })
        })
    }

    /// The management API, encrypted where RabbitMQ has a certificate.
    fn management(
        &self,
        user: &SecretValues,
        certificate: Option<&SecretValues>,
    ) -> Result<Access, Progress> {
        let (scheme, port) = match certificate {
            Some(_) => ("https", 15671),
            None => ("http", 15672),
        };
        let login = format!("{}:{}", user.text("username")?, user.text("password")?);
        // Bytes are in Base64 where they are serialized.
        let login = json!(ByteString(login.into_bytes()));
        let ca = certificate.map(SecretValues::authority).transpose()?;
        Ok(Access {
            url: format!("{scheme}://{}:{port}", self.rabbitmq_host()),
            login: login.as_str().unwrap_or_default().to_owned(),
            ca: ca.flatten().map(str::to_owned),
        })
    }

    /// Returns what was reported of alarms before: that RabbitMQ doesn't answer says nothing of its alarms. After a while they are no longer
    /// reported, since they may have ended.
    fn alarms_before(&self) -> Progress {
        let reason = Reason::ResourceAlarm;
        let conditions = &self.subject.status.conditions;
        let find = |type_| conditions.iter().find(|it| it.type_ == type_);
        let end = find(RABBITMQ_OBSERVED).and_then(|it| changed(it)?.checked_add(KEPT).ok());
        let is_outdated = end.is_some_and(|end| end <= self.observed.now());
        let before = find(INFRASTRUCTURE_READY);
        let before = before.filter(|it| !is_outdated && it.reason == reason.to_string());
        before.map_or(Progress::Ready, |before| {
            Progress::failing(reason, before.message.clone())
        })
    }
}

/// Reports alarms, and what to do about them. The message has no amounts, which change all the time.
fn blocked(alarms: &BTreeSet<Alarm>) -> Progress {
    let kinds = [
        (
            AlarmResource::Disk,
            "free disk space is below the limit",
            "storageSize",
        ),
        (
            AlarmResource::Memory,
            "memory in use is above the limit",
            "resources.limits.memory",
        ),
    ];
    let each = kinds.into_iter().filter_map(|(resource, fact, field)| {
        let of_kind = alarms.iter().filter(|alarm| alarm.resource == resource);
        let pods: Vec<&str> = of_kind.map(Alarm::pod).collect();
        (!pods.is_empty()).then(|| {
            format!(
                "{fact} on {}, so raise infrastructure.rabbitmq.{field}",
                named(&pods, ", ")
            )
        })
    });
    let each: Vec<String> = each.collect();
    let message = format!(
        "RabbitMQ blocks all publishers: {}; for a claim, its size in the Composition's input has these fields. Or delete what fills \
         RabbitMQ, for instance queues that nothing consumes",
        each.join("; ")
    );
    Progress::failing(Reason::ResourceAlarm, message)
}
