//! RabbitMQ's alarms: while a member lacks disk space or memory, RabbitMQ blocks all publishers, and its pods stay ready
//! (<https://www.rabbitmq.com/docs/alarms>).

use std::collections::BTreeSet;

use c5c3_api::Condition;
use jiff::SignedDuration;
use k8s_openapi::ByteString;
use provider_composer::{
    DesiredState, ExternalRequest, Lookup, Progress, Reason, SecretValues, named,
};
use provider_openstack::after;
use serde_json::json;

use super::rabbitmq::CERTIFICATE;
use crate::credentials::rabbitmq::{Access, Alarm, AlarmResource, Answer, Query, SYSTEM, VALID};
use crate::graph::Node;
use crate::node_state::{NodeStates, changed};
use crate::recipe::Recipe;

/// The Secret with RabbitMQ's first user, which its cluster operator creates (rabbitmq/cluster-operator,
/// internal/resource/default_user_secret.go).
const USER: &str = "openstack-rabbitmq-default-user";
/// What creates it, for messages.
const WRITER: &str = "cluster-operator of RabbitMQ";

/// The condition that RabbitMQ has no alarms. It keeps those of the last answer while RabbitMQ can't be asked.
pub(crate) const RABBITMQ_UNBLOCKED: &str = "RabbitMQUnblocked";

/// How long alarms of the last answer are reported while RabbitMQ doesn't answer.
const KEPT: SignedDuration = SignedDuration::from_mins(15);

/// What is between alarms of the last answer and why it isn't known whether they have ended, in the message of the condition.
const SINCE_THEN: &str = ". It isn't known whether this is still so: ";

impl Recipe<'_> {
    /// Makes RabbitMQ unready while it has alarms. Returns what [`RABBITMQ_UNBLOCKED`] reports; none where it isn't known how to ask.
    pub(crate) fn alarms(
        &self,
        states: &mut NodeStates,
        desired: &mut DesiredState,
    ) -> Option<Progress> {
        let state = states.get_mut(&Node::RabbitMq)?;
        // Looked up before it is used, so that it is read together with the RabbitmqCluster.
        let access = self.management_access();
        if !state.progress.is_ready() {
            return self.reported_before();
        }
        let reason = Reason::ResourceAlarm;
        let (alarms, reported) = match self.alarms_in_effect(access) {
            Lookup::Missing => return None,
            Lookup::Found(alarms) if alarms.is_empty() => return Some(Progress::Ready),
            Lookup::Found(alarms) => {
                let alarms = blocked(&alarms);
                let reported = Progress::failing(reason, alarms.clone());
                (Some(alarms), reported)
            }
            Lookup::Unknown(why) => match self.last_alarms() {
                Some(alarms) => {
                    let message = format!("{alarms}{SINCE_THEN}{why}");
                    (Some(alarms), Progress::waiting(reason, message))
                }
                None => {
                    let message = format!(
                        "it isn't known whether RabbitMQ has alarms and blocks publishers: {why}"
                    );
                    (None, Progress::unknown(message))
                }
            },
        };
        desired.requeue_at(after(VALID, self.observed));
        if let Some(alarms) = alarms {
            state.progress = Progress::failing(reason, alarms);
        }
        Some(reported)
    }

    /// What the last reconcile reported of alarms.
    pub(crate) fn reported_alarms(&self) -> Option<&Condition> {
        let mut conditions = self.subject.status.conditions.iter();
        conditions.find(|condition| condition.type_ == RABBITMQ_UNBLOCKED)
    }

    /// RabbitMQ's alarms; missing where it isn't known how to ask.
    fn alarms_in_effect(&self, access: Lookup<Access>) -> Lookup<BTreeSet<Alarm>> {
        let answer = access.and_then(|access| {
            let query = ExternalRequest::new(SYSTEM, &Query { access });
            self.observed.external(query)
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
        let user = look(USER).map(|user| user.written_by(WRITER.to_owned()));
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

    /// Returns what the last reconcile reported, while RabbitMQ isn't ready and so isn't asked: members restart with a larger limit before
    /// their alarms end.
    fn reported_before(&self) -> Option<Progress> {
        let before = self.reported_alarms()?;
        let message = before.message.clone();
        let progress = match (&*before.status, is_alarm(before)) {
            ("True", _) => Progress::Ready,
            ("False", _) => Progress::failing(Reason::ResourceAlarm, message),
            (_, true) => Progress::waiting(Reason::ResourceAlarm, message),
            (_, false) => Progress::unknown(message),
        };
        Some(progress)
    }

    /// Returns the message of alarms of the last answer: that RabbitMQ doesn't answer says nothing of them. After a while they are no longer
    /// reported, since they may have ended.
    fn last_alarms(&self) -> Option<String> {
        let before = self.reported_alarms().filter(|before| is_alarm(before))?;
        let silent = Some(before).filter(|before| before.status == "Unknown");
        let end = silent.and_then(|before| changed(before)?.checked_add(KEPT).ok());
        if end.is_some_and(|end| end <= self.observed.now()) {
            return None;
        }
        let message = &before.message;
        let alarms = message.split_once(SINCE_THEN);
        Some(alarms.map_or_else(|| message.clone(), |(alarms, _)| alarms.to_owned()))
    }
}

/// Whether the condition reports alarms, of now or of the last answer.
pub(crate) fn is_alarm(condition: &Condition) -> bool {
    condition.reason == Reason::ResourceAlarm.to_string()
}

/// Says what is wrong where there are alarms, and what to do about them. The message has no amounts, which change all the time.
fn blocked(alarms: &BTreeSet<Alarm>) -> String {
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
        let pods: Vec<&str> = of_kind.map(|alarm| alarm.node.pod()).collect();
        (!pods.is_empty()).then(|| {
            format!(
                "{fact} on {}, so raise infrastructure.rabbitmq.{field}",
                named(&pods, ", ")
            )
        })
    });
    let each: Vec<String> = each.collect();
    format!(
        "RabbitMQ blocks all publishers: {}; for a claim, its size in the Composition's input has these fields. Or delete what fills \
         RabbitMQ, for instance queues that nothing consumes",
        each.join("; ")
    )
}
