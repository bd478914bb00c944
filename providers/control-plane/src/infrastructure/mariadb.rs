//! MariaDB, by mariadb-operator.

use std::collections::BTreeMap;

use c5c3_api::parts::Quantity;
use c5c3_kinds::mariadb::Tls;
use c5c3_kinds::mariadb::server::{
    Exporter, Galera, Helper, Job, MariaDb, MariaDbSpec, MaxScale, Metrics, PasswordRef, Pods,
    Probe, Recovery, Storage,
};
use k8s_openapi::api::core::v1::{PodSecurityContext, ResourceRequirements};
use provider_composer::{DesiredState, Generated, GeneratedValue, Key, Retention};
use provider_openstack::{default_profile, unescalated};

use super::sizes::Server;
use super::{MARIADB, Sizes, bounds, placement, requirements};
use crate::recipe::Recipe;

/// Secret with root's password.
const ROOT: &str = "openstack-db-root";

/// A restart makes a MariaDB that is overloaded slower still. The operator's own limits are 5 seconds, three times.
const LIVENESS: Probe = Probe {
    timeout_seconds: 30,
    period_seconds: 30,
    failure_threshold: 4,
};
/// Two hours: a member that is stopped while it recovers its data, or copies them from another one, begins again. The operator's own limit is
/// 50 seconds.
const STARTUP: Probe = Probe {
    timeout_seconds: 10,
    period_seconds: 10,
    failure_threshold: 720,
};

/// User and group of MariaDB's image.
const USER: i64 = 999;

impl Recipe<'_> {
    /// Wants the MariaDB, and a password of root that is made once: it outlives the MariaDB, since its volumes do.
    pub(crate) fn mariadb(&self, sizes: &Sizes, desired: &mut DesiredState) {
        let global = &self.spec().global;
        let labels = BTreeMap::from([
            ("app.kubernetes.io/instance".to_owned(), MARIADB.to_owned()),
            ("app.kubernetes.io/name".to_owned(), "mariadb".to_owned()),
        ]);
        let password = GeneratedValue::Password(32);
        let root = Generated {
            values: BTreeMap::from([("password".to_owned(), password)]),
            labels: BTreeMap::new(),
            retention: Retention::Forever,
            is_immutable: false,
        };
        desired.generate(self.namespace(), ROOT, root);
        let Ok(kept) = &sizes.mariadb else {
            desired.keep(Key::of::<MariaDb>(self.namespace(), MARIADB));
            return;
        };
        let Server {
            mariadb: wanted,
            pull_secrets,
        } = &kept.value;
        let resources =
            requirements(&wanted.resources).unwrap_or_else(|| bounds("250m", "4", "512Mi", "2Gi"));
        let spec = MariaDbSpec {
            replicas: wanted.replicas,
            root_password_secret_key_ref: PasswordRef {
                name: ROOT.to_owned(),
                key: "password".to_owned(),
                generate: false,
            },
            storage: Storage {
                size: wanted.storage_size.to_string(),
                storage_class_name: wanted.storage_class.clone(),
            },
            galera: wanted.is_galera().then(|| galera(&resources)),
            max_scale: wanted.max_scale().map(|max_scale| MaxScale {
                enabled: true,
                replicas: max_scale.replicas,
            }),
            tls: Tls {
                enabled: global.tls.enabled,
                required: global.tls.enabled && wanted.max_scale().is_some(),
            },
            metrics: Metrics {
                enabled: global.monitoring.enabled,
                exporter: Exporter {
                    container: helper(),
                    pod_security_context: unprivileged(),
                },
            },
            my_cnf: my_cnf(&resources),
            liveness_probe: LIVENESS,
            startup_probe: STARTUP,
            pods: Pods {
                image_pull_secrets: pull_secrets.clone(),
                ..self.database_pods(resources)
            },
            topology_spread_constraints: placement::spread(&global.topology, &labels),
        };
        desired.apply(self.namespace(), MARIADB, &MariaDb::of(spec));
    }

    /// Pods that run MariaDB's image.
    pub(super) fn database_pods(&self, resources: ResourceRequirements) -> Pods {
        let topology = &self.spec().global.topology;
        Pods {
            resources,
            security_context: unescalated(),
            pod_security_context: unprivileged(),
            image_pull_secrets: self.pull_secrets(),
            node_selector: topology.node_selector.clone(),
            tolerations: placement::tolerations(topology),
            priority_class_name: topology.priority_class_name.clone(),
        }
    }
}

/// MariaDB's configuration, for many small transactions of many clients. Half of the memory holds data. A transaction reads and then
/// writes a row that another one has changed meanwhile, as it does with MySQL: OpenStack's services don't repeat transactions that MariaDB
/// 11.6.2 and newer refuse by default (error 1020, <https://bugs.launchpad.net/nova/+bug/2116186>). Older releases without the variable ignore it.
fn my_cnf(resources: &ResourceRequirements) -> String {
    let memory = [&resources.limits, &resources.requests];
    let memory = memory.into_iter().flatten().find_map(|amounts| {
        let amount: Quantity = amounts.get("memory")?.0.parse().ok()?;
        Some(amount.bytes())
    });
    let buffer = (memory.unwrap_or(256 << 20) / 2) >> 20;
    format!(
        "[mariadb]\n\
         bind-address = *\n\
         binlog_format = row\n\
         default_storage_engine = InnoDB\n\
         innodb_autoinc_lock_mode = 2\n\
         innodb_buffer_pool_size = {buffer}M\n\
         loose_innodb_snapshot_isolation = OFF\n\
         max_allowed_packet = 64M\n\
         max_connections = 4096\n"
    )
}

/// Replication between members. A Job that reads what a member has committed recovers its InnoDB first, with the same buffers, and no
/// member is started unless the Jobs of all succeed. A member that joins copies all data first: at the end of its time the operator would
/// restart the members that serve already, and begin again. The first member has the same time, and the operator reads nothing new of the
/// MariaDB meanwhile (`restartPods` of mariadb-operator 0.38, whose default is 5 minutes).
fn galera(resources: &ResourceRequirements) -> Galera {
    let job = Job {
        resources: resources.clone(),
    };
    Galera {
        enabled: true,
        agent: helper(),
        init_job: job.clone(),
        recovery: Recovery {
            enabled: true,
            job,
            pod_sync_timeout: "30m".to_owned(),
            cluster_bootstrap_timeout: "2h".to_owned(),
        },
    }
}

/// A container beside MariaDB's own.
fn helper() -> Helper {
    Helper {
        resources: bounds("20m", "500m", "32Mi", "128Mi"),
        security_context: unescalated(),
    }
}

/// A pod that doesn't run as root.
fn unprivileged() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        seccomp_profile: Some(default_profile()),
        ..PodSecurityContext::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a power loss, all pods start at once: what recovers the databases mustn't be the first that has no memory.
    #[test]
    fn galera_is_recovered_with_the_resources_of_a_member() {
        let member = bounds("250m", "4", "512Mi", "8Gi");
        let galera = galera(&member);
        assert!(galera.recovery.enabled);
        assert_eq!(galera.recovery.job.resources, member);
        let manifest = serde_json::to_value(&galera).unwrap();
        let job = &manifest["initJob"]["resources"];
        assert_eq!(job["limits"]["memory"], "8Gi", "{manifest}");
    }

    #[test]
    fn galera_has_hours_for_members_that_copy_all_data() {
        let galera = galera(&bounds("250m", "4", "512Mi", "8Gi"));
        let manifest = serde_json::to_value(&galera).unwrap();
        let recovery = &manifest["recovery"];
        assert_eq!(recovery["podSyncTimeout"], "30m", "{manifest}");
        assert_eq!(recovery["clusterBootstrapTimeout"], "2h", "{manifest}");
    }

    #[test]
    fn mariadb_has_minutes_for_an_answer_and_hours_for_its_start() {
        let within = |probe: &Probe| probe.period_seconds * probe.failure_threshold;
        assert_eq!([within(&LIVENESS), within(&STARTUP)], [120, 7200]);
        let manifest = serde_json::to_value(&LIVENESS).unwrap();
        let expected =
            serde_json::json!({"timeoutSeconds": 30, "periodSeconds": 30, "failureThreshold": 4});
        assert_eq!(manifest, expected);
    }

    #[test]
    fn mariadb_takes_writes_of_rows_that_changed_after_they_were_read() {
        let config = my_cnf(&bounds("250m", "4", "512Mi", "8Gi"));
        let line = "\nloose_innodb_snapshot_isolation = OFF\n";
        assert!(config.contains(line), "{config}");
    }

    #[rstest::rstest]
    #[case("8Gi", 4096)]
    #[case("7.5Gi", 3840)]
    #[case("8589934592", 4096)]
    #[case("8388608Ki", 4096)]
    #[case("4096M", 1953)]
    #[case("1e9", 476)]
    #[case("2147483648000m", 1024)]
    fn mariadb_buffers_data_in_half_of_its_memory(#[case] memory: &str, #[case] mebibytes: u32) {
        let config = my_cnf(&bounds("250m", "4", "512Mi", memory));
        let line = format!("\ninnodb_buffer_pool_size = {mebibytes}M\n");
        assert!(config.contains(&line), "{config}");
    }
}
