//! OVNCluster: the databases of a virtual network, and what translates between them.

use c5c3_api::ovn_chassis::OvnChassisSpec;
use c5c3_api::ovn_cluster::{
    ChassisTemplate, NodeDaemon, OvnClusterSpec, OvnClusterStatus, OvnDatabaseStatus, OvnEndpoints,
    OvnMember,
};
use c5c3_api::parts::Image;
use c5c3_kinds::{Manifest, cert_manager};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{
    ConfigMap, Node, PersistentVolumeClaim, Pod, Secret, Service as KubernetesService,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::{
    Composer, Custom, DesiredState, Failure, Lookup, ObservedState, Progress, Reason, Resource,
    Subject, Use,
};
use provider_openstack::after;

use crate::encryption::Encryption;
use crate::member::Members;
use crate::network::{Database, Network};
use crate::ovsdb::{Answer, ClientCertificate};

/// Composes OVNClusters.
pub struct OvnCluster;

impl Composer for OvnCluster {
    type Spec = OvnClusterSpec;
    type Status = OvnClusterStatus;
    const OPERATOR: &'static str = "ovn-operator";

    fn uses(&self) -> Vec<Use> {
        let composed = [
            StatefulSet::KIND,
            Deployment::KIND,
            CronJob::KIND,
            KubernetesService::KIND,
            ConfigMap::KIND,
            Secret::KIND,
            NetworkPolicy::KIND,
            PodDisruptionBudget::KIND,
            Manifest::<cert_manager::Certificate>::KIND,
            Custom::<OvnChassisSpec>::KIND,
        ];
        let read = [Pod::KIND, Node::KIND, StorageClass::KIND].map(Use::reads);
        composed
            .into_iter()
            .map(Use::composes)
            .chain(read)
            .chain([Use::keeps(PersistentVolumeClaim::KIND)])
            .collect()
    }

    fn compose(
        &self,
        subject: &Subject<OvnClusterSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<OvnClusterStatus, Failure> {
        if subject.name().contains('.') {
            let message = "metadata.name has a dot, and a Service of this name would be another host: create the \
                           OVNCluster under a name of letters, digits and dashes";
            return Err(Failure::new(Reason::Invalid, message));
        }
        let network = Network::new(subject.name(), subject.namespace(), &subject.spec);
        let encryption = network.encryption(observed, desired);
        network.unsupported(desired);
        network.report_issuer(desired);
        network.chassis(observed, desired);
        let encryption = match &encryption {
            Ok(encryption) => encryption.as_ref(),
            Err(pending) => return Ok(network.wait(pending, &subject.status, observed, desired)),
        };
        let members = Database::ALL
            .map(|database| network.compose_members(database, encryption, observed, desired));
        let rolled = members.iter().all(|members| members.rolled);
        let (image, northd) = network.daemons(encryption, rolled, observed, desired);
        let configured = network.chassis_secret(encryption, image, observed, desired);
        if configured.is_err() {
            network.keep_secret(desired);
        }
        desired.conditions.note(
            "AgentsConfigured",
            &configured.unwrap_or_else(|waits| waits),
        );
        if let Some(backup) = &subject.spec.backup {
            network.backup(backup, encryption, observed, desired);
        }
        network.report(&members, &northd, desired);
        desired.requeue_at(after(crate::ovsdb::VALID, observed));
        let answers = network.answers(&members, encryption, observed);
        let [_, southbound] = &answers;
        let chassis = southbound.as_ref();
        let chassis = chassis.map(|answer| answer.count(observed.now()));
        network.measure(&members, &answers, chassis, desired);
        Ok(network.status(&members, answers, chassis, &subject.status))
    }
}

impl Network<'_> {
    /// Leaves everything as it is until something pending is there.
    fn wait(
        &self,
        pending: &Progress,
        before: &OvnClusterStatus,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> OvnClusterStatus {
        let members = Database::ALL.map(|database| {
            desired.conditions.set(database.condition(), pending);
            self.keep_members(database, pending, observed, desired)
        });
        self.measure(&members, &[None, None], None, desired);
        self.keep_daemons(desired);
        self.keep_secret(desired);
        self.keep_backup(desired);
        desired.conditions.set("ControllersReady", pending);
        before.clone()
    }

    /// Reports fields that have a value and no effect: hypervisors belong to the platform.
    fn unsupported(&self, desired: &mut DesiredState) {
        let (spec, unset) = (self.spec, NodeDaemon::default());
        let given = [
            ("chassis", spec.chassis != ChassisTemplate::default()),
            ("ovs", spec.ovs != unset),
            ("ovsImage", spec.ovs_image != Image::default()),
            (
                "controller.resources",
                spec.controller.resources != unset.resources,
            ),
        ];
        let given = given.into_iter().filter(|(_, given)| *given);
        let given: Vec<&str> = given.map(|(field, _)| field).collect();
        if !given.is_empty() {
            let message = format!(
                "HypervisorPool and HypervisorShare say how nodes run agents, and {} has no effect: remove it",
                given.join(", ")
            );
            let progress = Progress::waiting(Reason::Unsupported, message);
            desired.conditions.note("AgentSettingsApplied", &progress);
        }
    }

    fn report(&self, members: &[Members; 2], northd: &Progress, desired: &mut DesiredState) {
        for (database, members) in Database::ALL.into_iter().zip(members) {
            let conditions = &mut desired.conditions;
            conditions.set(database.condition(), &members.progress);
        }
        desired.conditions.set("ControllersReady", northd);
        let incomplete = members.iter().map(|members| &members.complete);
        let mut incomplete = incomplete.filter(|complete| !complete.is_ready());
        let complete = incomplete.next().unwrap_or(&Progress::Ready);
        // Without a member or two the databases serve all the same.
        desired.conditions.note("MembersReady", complete);
    }

    fn status(
        &self,
        members: &[Members; 2],
        answers: [Option<Answer>; 2],
        chassis: Option<(u32, u32)>,
        before: &OvnClusterStatus,
    ) -> OvnClusterStatus {
        let [northbound, southbound] = members;
        let [northbound_answer, southbound_answer] = answers;
        let known = before.endpoints.clone().unwrap_or_default();
        let endpoint = |database, members: &Members, known: Option<String>| {
            let serves = members.progress.is_ready() || known.is_some();
            serves.then(|| self.endpoint(database))
        };
        OvnClusterStatus {
            endpoints: Some(OvnEndpoints {
                northbound: endpoint(Database::Northbound, northbound, known.northbound),
                southbound: endpoint(Database::Southbound, southbound, known.southbound),
            })
            .filter(|endpoints| *endpoints != OvnEndpoints::default()),
            northbound: northbound_answer
                .map(|answer| self.seen(Database::Northbound, &answer))
                .or_else(|| before.northbound.clone()),
            southbound: southbound_answer
                .map(|answer| self.seen(Database::Southbound, &answer))
                .or_else(|| before.southbound.clone()),
            chassis_count: chassis.map(|(all, _)| all).or(before.chassis_count),
            active_controllers: chassis
                .map(|(_, alive)| alive)
                .or(before.active_controllers),
            ..OvnClusterStatus::default()
        }
    }

    /// What the databases say.
    fn answers(
        &self,
        members: &[Members; 2],
        encryption: Option<&Encryption>,
        observed: &ObservedState<'_>,
    ) -> [Option<Answer>; 2] {
        let client = encryption.map(|encryption| &encryption.client);
        let [northbound, southbound] = members;
        [
            self.ask(Database::Northbound, northbound, client, observed),
            self.ask(Database::Southbound, southbound, client, observed),
        ]
    }

    /// What a database says; none while it can't be asked.
    fn ask(
        &self,
        database: Database,
        members: &Members,
        client: Option<&ClientCertificate>,
        observed: &ObservedState<'_>,
    ) -> Option<Answer> {
        let query = self.query(database, members.pods.as_deref()?, client)?;
        match query.observe(observed) {
            Lookup::Found(answer) => Some(answer),
            Lookup::Missing | Lookup::Unknown(_) => None,
        }
    }

    /// How the members of a database are, as it says.
    pub(crate) fn seen(&self, database: Database, answer: &Answer) -> OvnDatabaseStatus {
        let newest = answer.members.values().map(|member| member.index).max();
        let members = self.members(database).map(|name| {
            let member = answer.members.get(&name);
            OvnMember {
                connected: member.is_some_and(|member| member.connected),
                lag: member.and_then(|member| Some(newest? - member.index)),
                name,
            }
        });
        let leader = answer.members.iter().find(|(_, member)| member.leader);
        OvnDatabaseStatus {
            leader: leader.map(|(name, _)| name.clone()),
            members: members.collect(),
        }
    }
}
