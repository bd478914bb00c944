//! Users that several services have, or that other operators write.

use super::*;

#[rstest]
fn rotation_begins_beside_users_that_other_operators_write(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    cluster.put::<Manifest<mariadb::User>>("openstack-db-mariadb-sys", system_user());
    cluster.put::<Manifest<rabbitmq::Permission>>("exporter", permission_by_reference("exporter"));
    let next = json!({ "nextCredentialRef": { "name": "neutron-2" } });
    rotate(&mut cluster, type_, next);
    cluster.settle(&NEUTRON, "neutron");
    let mut users = users(&cluster, type_);
    users.retain(|user| user != "openstack-db-mariadb-sys");
    assert_eq!(users, SECOND);
}

/// Asks for the next users while another service has `neutron` by this object, and expects the condition of the service.
#[rstest]
#[case::by_name(DATABASE, json!({ "spec": { "mariaDbRef": { "name": "openstack-db" }, "name": "neutron" } }), "User other", "neutron")]
#[case::by_name(BUS, json!({ "spec": { "vhost": "/", "user": "neutron" } }), "Permission other", "neutron")]
#[case::by_reference(BUS, permission_by_reference("neutron"), "Permission other", "neutron")]
fn user_that_another_service_has_too_is_not_rotated(
    #[case] type_: &str,
    #[case] other: Value,
    #[case] named: &str,
    #[case] user: &str,
) {
    let mut cluster = running();
    match type_ {
        DATABASE => cluster.put::<Manifest<mariadb::User>>("other", other),
        _ => {
            cluster.change::<Manifest<rabbitmq::User>>("neutron", |user| {
                user["status"]["username"] = json!("neutron")
            });
            cluster.put::<Manifest<rabbitmq::Permission>>("other", other);
        }
    }
    let next = json!({ "nextCredentialRef": { "name": "neutron-2" } });
    rotate(&mut cluster, type_, next);
    cluster.settle(&NEUTRON, "neutron");
    let objects = users(&cluster, type_);
    assert!(objects.contains(&"neutron".to_owned()), "{objects:?}");
    let next = "neutron-credentials-2".to_owned();
    assert!(!objects.contains(&next), "{objects:?}");
    let message = format!(
        "{named} is of the user {user} too, which a rotation of neutron deletes: give it another user, and the rotation goes on; \
         until then the present user stays in use"
    );
    assert_eq!(
        cluster.condition(&NEUTRON, "neutron", exclusive(type_)),
        ("False".to_owned(), "UserShared".to_owned(), message)
    );
    assert_eq!(cluster.condition(&NEUTRON, "neutron", "Ready").0, "True");

    match type_ {
        DATABASE => cluster.delete::<Manifest<mariadb::User>>("other"),
        _ => cluster.delete::<Manifest<rabbitmq::Permission>>("other"),
    }
    cluster.settle(&NEUTRON, "neutron");
    assert!(users(&cluster, type_).contains(&next));
}

#[rstest]
fn rotation_does_not_begin_where_it_is_unknown_who_has_a_user(
    #[values(DATABASE, BUS)] type_: &str,
) {
    let mut cluster = running();
    let other = json!({ "spec": { "name": 7, "user": 7 } });
    match type_ {
        DATABASE => cluster.put::<Manifest<mariadb::User>>("other", other),
        _ => cluster.put::<Manifest<rabbitmq::Permission>>("other", other),
    }
    let next = json!({ "nextCredentialRef": { "name": "neutron-2" } });
    rotate(&mut cluster, type_, next);
    cluster.settle(&NEUTRON, "neutron");
    let objects = users(&cluster, type_);
    assert!(!objects.contains(&SECOND[0].to_owned()), "{objects:?}");
    let (status, reason, message) = cluster.condition(&NEUTRON, "neutron", exclusive(type_));
    let kind = if type_ == DATABASE {
        "User"
    } else {
        "Permission"
    };
    assert_eq!(
        (status.as_str(), reason.as_str(), message),
        (
            "Unknown",
            "LookupFailed",
            format!("a {kind} can't be understood: invalid type: integer `7`, expected a string")
        )
    );
}

/// Nova may have one Secret for several databases.
#[test]
fn databases_whose_users_have_one_secret_have_the_next_user_in_common() {
    let mut cluster = running();
    cluster.secret("shared", &[("password", "s3cret")]);
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["database"] = json!({ "secretRef": { "name": "shared" } });
    });
    cluster.settle(&NEUTRON, "neutron");
    begin_rotation(&mut cluster, DATABASE);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(logins(&cluster, DATABASE), ["neutron.2", "neutron.2"]);
    assert_eq!(users(&cluster, DATABASE), SECOND);
    assert_eq!(cluster.condition(&NEUTRON, "neutron", "Ready").0, "True");
}
