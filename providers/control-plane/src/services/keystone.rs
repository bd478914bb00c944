//! Keystone of a control plane.

use c5c3_api::control_plane::{KeystoneService, ServiceFernet};
use c5c3_api::keystone::{Bootstrap, Fernet, KeystoneSpec};
use c5c3_api::parts::{Schedule, SecretKeyRef};
use provider_composer::{Custom, DesiredState, Key};
use provider_openstack::KEYSTONE;
use provider_openstack::table::Tags;

use crate::credentials::{ADMIN, Password};
use crate::graph::Node;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Keystone.
    pub(super) fn keystone(&self, tags: &Tags, desired: &mut DesiredState) {
        let step = Node::Keystone.step();
        let Ok(password) = Password::of_admin(self.observed, self.namespace()) else {
            desired.keep(Key::of::<Custom<KeystoneSpec>>(self.namespace(), step.name));
            return;
        };
        let KeystoneService {
            service,
            fernet: keys,
            federation,
        } = &self.services.keystone;
        let spec = KeystoneSpec {
            api: service.api.clone(),
            database: self.database(&KEYSTONE),
            cache: self.cache(),
            fernet: keys.as_ref().map(fernet).unwrap_or_default(),
            federation: federation.clone(),
            bootstrap: Bootstrap {
                admin_user: ADMIN.to_owned(),
                admin_password_secret_ref: SecretKeyRef {
                    name: password.wanted(),
                    key: "password".to_owned(),
                },
                region: self.region().to_owned(),
            },
            common: self.common(step, &KEYSTONE, tags, &service.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }
}

fn fernet(said: &ServiceFernet) -> Fernet {
    let usual = Fernet::default();
    let interval = said.rotation_interval.map(Schedule::from);
    Fernet {
        rotation_schedule: said
            .rotation_schedule
            .clone()
            .or(interval)
            .unwrap_or(usual.rotation_schedule),
        max_active_keys: said.max_active_keys.unwrap_or(usual.max_active_keys),
    }
}
