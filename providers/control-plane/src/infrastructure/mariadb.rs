//! MariaDB, by mariadb-operator.

use std::collections::BTreeMap;

use provider_composer::{Composition, Generated, GeneratedValue, Retention};

use super::{MARIADB, placement, requirements};
use crate::manifest::mariadb::{
    Enabled, Galera, MariaDb, MariaDbSpec, MaxScale, PasswordRef, Storage,
};
use crate::recipe::Recipe;

/// Secret with root's password.
const ROOT: &str = "openstack-db-root";

/// The fewest members that have a majority when one is lost.
const GALERA: u32 = 3;

impl Recipe<'_> {
    /// Wants the MariaDB, and a password of root that is made once: it outlives the MariaDB, since its volumes do.
    pub(crate) fn mariadb(&self, composition: &mut Composition) {
        let wanted = &self.spec().infrastructure.mariadb;
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
        };
        composition.generate(self.namespace(), ROOT, root);
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
            galera: (wanted.replicas >= GALERA).then_some(Galera { enabled: true }),
            max_scale: wanted
                .max_scale
                .as_ref()
                .filter(|max_scale| max_scale.enabled)
                .map(|max_scale| MaxScale {
                    enabled: true,
                    replicas: max_scale.replicas,
                }),
            tls: Enabled {
                enabled: global.tls.enabled,
            },
            metrics: Enabled {
                enabled: global.monitoring.enabled,
            },
            resources: requirements(&wanted.resources),
            image_pull_secrets: self.pull_secrets(),
            node_selector: global.topology.node_selector.clone(),
            tolerations: placement::tolerations(&global.topology),
            priority_class_name: global.topology.priority_class_name.clone(),
            topology_spread_constraints: placement::spread(&global.topology, &labels),
        };
        composition.apply(self.namespace(), MARIADB, &MariaDb { spec });
    }
}
