//! The neutron-operator's composer: networks, by ML2 and OVN.

mod agent;
mod config;
mod ovn;

use c5c3_api::neutron::NeutronSpec;
use c5c3_api::parts::ServiceStatus;
use provider_composer::{
    Composer, DesiredState, Failure, ObservedState, Progress, Reason, Subject, Use,
};
use provider_openstack::{
    Component, Database, Files, KeystoneAccess, Messaging, Migration, Migrations, NEUTRON,
    NEUTRON_OVN_MAINTENANCE_WORKER, NEUTRON_PERIODIC_WORKERS, NEUTRON_RPC_SERVER, Phase, Pods,
    Policy, Prerequisite, Program, Service, ServiceContext, Task, Workload, all, is_data_shared,
    progress, uses,
};

use agent::MetadataApi;
use config::Facts;
use ovn::Ovn;

/// Its configuration file.
const CONFIG: &str = "neutron.conf";
/// The file with more of uwsgi's options.
const UWSGI: &str = "uwsgi.ini";
/// The processes of an API's pod find each other in OVN's hash ring by the time when uwsgi started: uwsgi says it (before 2026.2), or
/// the first process writes it to a file, which must not outlast uwsgi (`neutron/common/wsgi_utils.py`).
const START_TIME: &str = "[uwsgi]\nstart-time = %t\nhook-asap = exec:rm -f /tmp/neutron_start_time* /tmp/neutron_first_worker*\n";
/// The rule by which a floating IP may have a chosen address. Neutron checks that the network's subnet has it, and not whether the
/// allocation pools do (`_verify_ip` in `neutron/db/l3_db.py`): managers of projects could take the gateway's, or an address from the
/// pools of another control plane.
const CHOOSE_FLOATING_IP: &str = "create_floatingip:floating_ip_address";
/// Annotation of a Neutron: each new value of it has OVN's northbound database repaired once.
const REPAIR: &str = "neutron.openstack.c5c3.io/repair-ovn";
/// The Job that repairs it.
const REPAIR_TASK: &str = "ovn-repair";

/// Composes Neutrons.
pub struct Neutron;

impl Composer for Neutron {
    type Spec = NeutronSpec;
    type Status = ServiceStatus;
    const OPERATOR: &'static str = "neutron-operator";

    fn uses(&self) -> Vec<Use> {
        uses().into_iter().chain(Messaging::uses()).collect()
    }

    fn compose(
        &self,
        subject: &Subject<NeutronSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ServiceStatus, Failure> {
        let Subject { spec, status, .. } = subject;
        let service = NEUTRON.service(&config::OWNED, subject, observed, &spec.common, status)?;
        let components = components(&service, spec)?;
        let context = ServiceContext::of(&service, components, desired)?;
        let database = Database::resolve(&service, "", &spec.database, desired);
        let bus = Messaging::resolve(&service, "", &spec.messaging, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, desired);
        let ovn = Ovn::resolve(&service, &spec.ovn);
        let parts = all((&database, &bus, &access, &ovn, &context.policy));
        let program = parts.map(|(database, bus, access, ovn, policy)| {
            let facts = Facts {
                service: &service,
                spec,
                database,
                bus,
                access,
                ovn,
            };
            program(&facts, policy, desired)
        });
        let repaired = repair((subject, &service), &context, (&program, &ovn), desired);
        let workload =
            all((&program, &database, &bus, &access, &ovn)).map(|parts| workload(spec, parts));
        let status = context.run(progress(&database), workload, desired)?;
        let worker = context.availability(NEUTRON_OVN_MAINTENANCE_WORKER.name);
        let connected = ovn::connected(&service, &spec.ovn, &ovn, &worker);
        let agents = agents(&service, &context, &ovn, desired);
        desired.conditions.set("MessagingReady", &progress(&bus));
        desired.conditions.set("OVNConnected", &connected);
        desired.conditions.note("AgentsConfigured", &agents);
        if let Some(repaired) = repaired {
            desired.conditions.note("OVNRepaired", &repaired);
        }
        Ok(status)
    }
}

fn components<'a>(
    service: &'a Service<'a>,
    spec: &'a NeutronSpec,
) -> Result<Vec<Component<'a>>, Failure> {
    let rpc_server = spec.rpc_server.as_ref();
    let rpc_server = rpc_server.map(|wanted| service.component(NEUTRON_RPC_SERVER, "", wanted));
    let maintenance_worker = &spec.ovn_maintenance_worker;
    let mut components = vec![
        service.api(&spec.api)?,
        service.component(NEUTRON_PERIODIC_WORKERS, "", &spec.periodic_workers)?,
        service.component(NEUTRON_OVN_MAINTENANCE_WORKER, "", maintenance_worker)?,
    ];
    components.extend(rpc_server.transpose()?);
    Ok(components)
}

/// A program of Neutron, with the files that all of them read.
fn program(facts: &Facts<'_>, policy: &Policy, desired: &mut DesiredState) -> Program {
    let mut files = Files::default();
    let mut config = facts.neutron_conf(&mut files);
    let mut policy = policy.clone();
    policy.restrict(CHOOSE_FLOATING_IP, "rule:admin_only");
    policy.configure(facts.service, &mut config, &mut files);
    files.config(CONFIG, &config);
    files.text(UWSGI, START_TIME);
    let files = files.compose(facts.service, desired);
    Program::default().mount("config", NEUTRON.folder, files.source())
}

type Parts<'a> = (
    &'a Program,
    &'a Database,
    &'a Messaging,
    &'a KeystoneAccess,
    &'a Ovn,
);

fn workload(spec: &NeutronSpec, (program, database, bus, access, ovn): Parts<'_>) -> Workload {
    let file = NEUTRON.file(CONFIG);
    let migration = |name, phase, words: &[&str]| Migration {
        name,
        phase,
        after: &[],
        database: database.place(),
        program: program.clone().reading("neutron-db-manage", &file, words),
    };
    let daemon = |name: &str| {
        program
            .clone()
            .reading(&format!("neutron-{name}"), &file, &[])
    };
    let api = program
        .clone()
        .variable("OS_NEUTRON_CONFIG_DIR", NEUTRON.folder)
        .variable("OS_NEUTRON_CONFIG_FILES", CONFIG);
    let periodic = NEUTRON_PERIODIC_WORKERS.name;
    let maintenance = NEUTRON_OVN_MAINTENANCE_WORKER.name;
    let rpc = NEUTRON_RPC_SERVER.name;
    let mut pods = vec![
        Pods {
            options: vec!["--ini".to_owned(), NEUTRON.file(UWSGI)],
            ..Pods::of("api", api)
        },
        Pods::of(periodic, daemon(periodic)),
        Pods::of(maintenance, daemon(maintenance).connects(ovn.ports())),
    ];
    pods.extend(
        spec.rpc_server
            .iter()
            .map(|_| bus.watched(rpc, daemon(rpc))),
    );
    Workload {
        migrations: Migrations(vec![
            migration("db-sync", Phase::Sync, &["upgrade", "heads"]),
            migration("db-expand", Phase::Expand, &["upgrade", "--expand"]),
            migration("db-contract", Phase::Contract, &["upgrade", "--contract"]),
        ]),
        pods,
        application_credential: Some(access.id().to_owned()),
        agents: None,
        outdated: None,
    }
}

/// Has OVN's northbound database brought to what Neutron's database says, once for each value of the annotation, unless another Neutron
/// uses it.
fn repair(
    (subject, service): (&Subject<NeutronSpec>, &Service<'_>),
    context: &ServiceContext<'_>,
    (program, ovn): (&Prerequisite<Program>, &Prerequisite<Ovn>),
    desired: &mut DesiredState,
) -> Option<Progress> {
    let asked = subject.metadata.annotations.get(REPAIR)?;
    let (program, ovn) = match all((program, ovn)) {
        Ok(parts) if subject.status.release.is_some() => parts,
        pending => {
            let pending = progress(&pending);
            match is_data_shared(&pending) {
                // A repair that hasn't begun would be by the other Neutron's database.
                true => context.jobs.keep_begun(&[REPAIR_TASK], desired),
                false => context.jobs.keep(&[REPAIR_TASK], desired),
            }
            return Some(match pending {
                Progress::Ready => {
                    Progress::waiting(Reason::Starting, "waits for Neutron's database")
                }
                pending => pending,
            });
        }
    };
    let words = ["--ovn-neutron_sync_mode", "repair"];
    let task = Task {
        name: REPAIR_TASK,
        purpose: asked.clone(),
        migrates: None,
        program: program
            .clone()
            .reading("neutron-ovn-db-sync-util", &NEUTRON.file(CONFIG), &words),
        often: "OVN's northbound database can't be reached: see the condition OVNConnected"
            .to_owned(),
    };
    if let Some(begun) = context.jobs.begun(&task, desired) {
        return Some(begun);
    }
    Some(match ovn::unshared(service, &subject.spec.ovn, ovn) {
        Ok(()) => context.jobs.start(&task, desired),
        Err(pending) => {
            // Where another Neutron uses it, a Job that doesn't run is deleted: its pod could start.
            if pending.is_unknown() {
                context.jobs.keep(&[REPAIR_TASK], desired);
            }
            pending
        }
    })
}

/// Hands hypervisors what neutron-ovn-agent needs. In an upgrade they get it after all of Neutron runs the new image.
fn agents(
    service: &Service<'_>,
    context: &ServiceContext<'_>,
    ovn: &Prerequisite<Ovn>,
    desired: &mut DesiredState,
) -> Progress {
    let metadata = MetadataApi::resolve(service);
    let ready = match all((ovn, &metadata)) {
        Ok(_) if service.upgrades() && !context.is_rolled() => Err(Progress::waiting(
            Reason::WaitingFor("Component"),
            format!("waits until all of Neutron runs {}", service.image),
        )),
        ready => ready,
    };
    match ready {
        Ok((ovn, metadata)) => {
            agent::publish(service, ovn, metadata, desired);
            Progress::Ready
        }
        Err(pending) => {
            agent::keep(service, desired);
            pending
        }
    }
}
