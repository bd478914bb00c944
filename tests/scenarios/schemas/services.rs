//! What Keystone, Glance and Placement become, and who talks by RabbitMQ, asked of an API server that knows every kind of it.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::glance::GlanceSpec;
use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::placement::PlacementSpec;
use lab::{Cluster, Etcd, Machine, Result, ensure};
use provider_composer::{Custom, Operator};
use provider_glance::Glance;
use provider_keystone::Keystone;
use provider_openstack_fixtures::{Cluster as InMemory, MessagingOnly, NAMESPACE};
use provider_placement::Placement;
use serde_json::{Value, json};

/// Every kind that they become.
const KINDS: [&str; 20] = [
    "BackendTLSPolicy",
    "Certificate",
    "ConfigMap",
    "CronJob",
    "Database",
    "Deployment",
    "Grant",
    "HTTPRoute",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "NetworkPolicy",
    "Permission",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "Secret",
    "Service",
    "ServiceMonitor",
    "User",
    "Vhost",
];

/// Fine when every object would be applied as it is, and none with a misspelt field.
pub async fn are_taken(machine: &Machine) -> Result<()> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
    tokio::try_join!(
        cluster.install_control_plane_kinds(),
        cluster.install_cert_manager(),
        cluster.install_gateway(),
        cluster.install_service_monitor(),
    )?;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    cluster.apply(&namespace.to_string()).await?;

    // MariaDB and RabbitMQ both have a User.
    let mut samples: BTreeMap<[String; 2], Value> = BTreeMap::new();
    for object in composed() {
        cluster.would_apply(&object).await?;
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        samples.insert([text("kind"), text("apiVersion")], object);
    }
    let kinds: BTreeSet<&str> = samples.keys().map(|[kind, _]| kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(KINDS), "kinds that are composed");
    for ([kind, version], mut object) in samples {
        object["sepc"] = json!({});
        let refused = cluster.would_apply(&object).await;
        ensure!(
            refused.is_err_and(|refusal| format!("{refusal:#}").contains("sepc")),
            "a {kind} of {version} with a misspelt field is taken"
        );
    }
    Ok(())
}

/// All that comes of one of each, reached in either way from outside, as they come and once they run.
fn composed() -> Vec<Value> {
    let issued = json!({ "issuerRef": { "name": "internal", "kind": "ClusterIssuer" } });
    let gateway = json!({ "hostname": "api.example.com", "gateway": { "name": "public", "namespace": "gateways" } });
    let ingress = json!({
        "hostname": "api.example.com",
        "ingress": { "className": "nginx", "annotations": { "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS" } },
    });
    let mut cluster = InMemory::with_infrastructure();
    let certificate = [
        ("tls.crt", "certificate"),
        ("tls.key", "key"),
        ("ca.crt", "authority"),
    ];
    cluster.secret("keystone-tls", &certificate);
    cluster.put::<Custom<KeystoneSpec>>(
        "keystone",
        json!({ "spec": {
            "release": "2025.2",
            "tls": issued,
            "expose": gateway,
            "monitoring": { "enabled": true },
            "autoscaling": { "maxReplicas": 9 },
            "resources": { "requests": { "cpu": "100m", "memory": "256Mi" }, "limits": { "memory": "1Gi" } },
            "database": { "clusterRef": { "name": "openstack-db" } },
            "policyOverrides": { "rules": { "identity:list_users": "role:admin" } },
            "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } },
        } }),
    );
    cluster.put::<Custom<GlanceSpec>>(
        "glance",
        json!({ "spec": {
            "release": "2025.2",
            "expose": ingress,
            "storage": { "backend": "file", "file": { "size": "10Gi" } },
        } }),
    );
    cluster.put::<Custom<PlacementSpec>>(
        "placement",
        json!({ "spec": { "release": "2025.2", "tls": { "enabled": false } } }),
    );
    let credentials = [("username", "neutron"), ("password", "password")];
    cluster.secret("neutron-rabbitmq-credentials", &credentials);
    cluster.put::<Custom<NeutronSpec>>(
        "neutron",
        json!({ "spec": { "release": "2025.2", "ovn": {} } }),
    );
    let operators: [(Box<dyn Operator>, &str); 4] = [
        (Box::new(Keystone), "keystone"),
        (Box::new(Glance), "glance"),
        (Box::new(Placement), "placement"),
        (Box::new(MessagingOnly), "neutron"),
    ];
    let mut objects = Vec::new();
    for (operator, name) in &operators {
        for _ in 0..6 {
            let answer = cluster.compose(operator.as_ref(), name);
            objects.extend(
                answer
                    .into_iter()
                    .flat_map(|answer| answer.desired.objects.into_values()),
            );
            cluster.simulate();
        }
    }
    objects
}
