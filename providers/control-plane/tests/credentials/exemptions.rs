//! Users of services where a site has rules for passwords and logins.

use serde_json::{Value, json};

use crate::stage::{Stage, application_credential};

/// Where passwords have to be changed at the first login, K-ORC can't create an application credential as another user.
#[test]
fn service_user_gets_an_application_credential_once_it_is_exempt_from_rules() {
    let mut stage = Stage::new(&rules());
    for _ in 0..32 {
        stage.look();
        let exempt = stage.keystone.borrow().exempt.clone();
        for name in ["glance", "nova"] {
            let is_exempt = exempt.iter().any(|id| id.starts_with(&format!("{name}-")));
            let key = application_credential(&format!("{name}-1"));
            assert!(is_exempt || stage.cluster.get(&key).is_none(), "{name}");
        }
        stage.korc();
    }
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert!(stage.names("ApplicationCredential").contains(&"glance-1"));
}

/// As after an upgrade of the operator, or when a person has changed options.
#[test]
fn service_user_that_rules_concern_again_is_exempted_without_being_unready() {
    let mut stage = Stage::new(&rules());
    stage.settle();
    let exempt = std::mem::take(&mut stage.keystone.borrow_mut().exempt);
    assert_eq!(exempt.len(), 2, "{exempt:?}");
    stage.look();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert_eq!(stage.keystone.borrow().exempt, exempt);
}

#[test]
fn service_user_is_left_as_it_is_where_the_site_has_no_rules() {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert!(stage.keystone.borrow().exempt.is_empty());
}

/// A control plane with a rule for passwords. It has no services but those of the stage.
fn rules() -> Value {
    json!({ "services": {
        "keystone": { "extraConfig": { "security_compliance": { "lockout_failure_attempts": "6" } } },
        "placement": { "enabled": false },
        "neutron": { "enabled": false },
        "cinder": { "enabled": false },
    } })
}
