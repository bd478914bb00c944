//! What is created in an empty Keystone: the first user, roles, projects, region, and Keystone's own entries of the
//! catalogue.

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};
use provider_composer::{DesiredState, Progress};
use provider_openstack::{Jobs, KEYSTONE, Prerequisite, Program, Service, Task, digest};

use crate::CONFIG;

/// The task that does it.
const BOOTSTRAP: &str = "bootstrap";

/// Makes what an empty Keystone lacks, and gives the first user the password of its Secret, whenever that changes. Nothing
/// that is there is made again (<https://docs.openstack.org/keystone/latest/admin/bootstrap.html>).
pub fn bootstrap(
    service: &Service<'_>,
    spec: &KeystoneSpec,
    jobs: &Jobs<'_>,
    program: Prerequisite<&Program>,
    desired: &mut DesiredState,
) -> Progress {
    let reference = &spec.bootstrap.admin_password_secret_ref;
    let values = service.secret(&reference.name, "the first user's password");
    let password = values.and_then(|values| {
        let password = values.line(&reference.key)?;
        Ok(digest([values.uid(), password]))
    });
    let (password, program) = match (password, program) {
        (Ok(password), Ok(program)) => (password, program),
        (Err(progress), _) | (_, Err(progress)) => {
            jobs.keep(&[BOOTSTRAP], desired);
            return progress;
        }
    };
    let (user, region) = (&spec.bootstrap.admin_user, &spec.bootstrap.region);
    let url = format!("{}/v3", service.endpoint());
    let public = format!("{}/v3", service.public_endpoint());
    let manage = format!("keystone-manage --config-file {}", KEYSTONE.file(CONFIG));
    let script =
        format!("{manage} bootstrap && exec {manage} project_setup --project-name service");
    let mut program = program
        .clone()
        .command(["sh", "-ec", &script].map(str::to_owned))
        .variable("OS_BOOTSTRAP_USERNAME", user)
        .variable("OS_BOOTSTRAP_REGION_ID", region)
        .variable("OS_BOOTSTRAP_ADMIN_URL", &url)
        .variable("OS_BOOTSTRAP_INTERNAL_URL", &url)
        .variable("OS_BOOTSTRAP_PUBLIC_URL", &public);
    program.env.push(EnvVar {
        name: "OS_BOOTSTRAP_PASSWORD".to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: reference.name.clone(),
                key: reference.key.clone(),
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
    });
    let task = Task {
        name: BOOTSTRAP,
        purpose: format!("{user} {region} {url} {public} {password}"),
        migrates: None,
        program,
        often: "the database can't be reached, or has users that the resource names in another way"
            .to_owned(),
    };
    jobs.once(&task, desired)
}
