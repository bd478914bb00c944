//! Mistakes in a Cinder, each with what to correct.

use super::*;

#[rstest::rstest]
#[case::owned(
    |spec: &mut Value| spec["backends"][0]["options"] = json!({ "rbd_pool": "other" }),
    "backends[st-pool-a].options sets [backend_defaults] rbd_pool, and the operator owns it: use rbd.pool, and leave it out of \
     backends[st-pool-a].options"
)]
#[case::unknown(
    |spec: &mut Value| spec["backends"][0]["options"] = json!({ "rbd_max_clone_dept": "5" }),
    "backends[st-pool-a].options sets [backend_defaults] rbd_max_clone_dept, and cinder 2025.2 has no such option: \
     did you mean rbd_max_clone_depth?"
)]
#[case::value(
    |spec: &mut Value| spec["backends"][0]["options"] = json!({ "rbd_max_clone_depth": "deep" }),
    "backends[st-pool-a].options sets [backend_defaults] rbd_max_clone_depth to an invalid value; valid: a whole number"
)]
#[case::name_of_a_section(
    |spec: &mut Value| spec["backends"][0]["name"] = json!("database"),
    "backends has database, which is the name of a section or of the file of Cinder's configuration: give the backend another name"
)]
#[case::name_of_the_file(
    |spec: &mut Value| spec["backends"][0]["name"] = json!("cinder"),
    "backends has cinder, which is the name of a section or of the file of Cinder's configuration: give the backend another name"
)]
#[case::section(
    |spec: &mut Value| spec["extraConfig"] = json!({ "st-pool-a": { "rbd_pool": "other" } }),
    "extraConfig sets [st-pool-a] rbd_pool, and the operator owns it: use backends, and leave it out of extraConfig"
)]
#[case::member(
    |spec: &mut Value| spec["extraConfig"] = json!({ "DEFAULT": { "host": "other" } }),
    "extraConfig sets [DEFAULT] host, and the operator owns it: use nothing: each member is known by its pod, and leave it out \
     of extraConfig"
)]
#[case::shutdown(
    |spec: &mut Value| spec["extraConfig"] = json!({ "DEFAULT": { "graceful_shutdown_timeout": "60" } }),
    "extraConfig sets [DEFAULT] graceful_shutdown_timeout, and the operator owns it: use nothing: it follows from the pods' \
     termination grace period, and leave it out of extraConfig"
)]
#[case::long_name(
    |spec: &mut Value| spec["backends"][0]["name"] = json!("a-storage-cluster-with-a-really-long-na"),
    "the names of this resource and of its backend a-storage-cluster-with-a-really-long-na have 45 characters together, and at \
     most 44 fit into the names of pods: give the backend a shorter name"
)]
fn mistake_is_refused(#[case] mistake: fn(&mut Value), #[case] message: &str) {
    let mut cluster = given();
    cluster.change::<Custom<CinderSpec>>("cinder", |cinder| mistake(&mut cinder["spec"]));
    assert_eq!(refused(&mut cluster), message);
}
