//! The operators of others that control planes are made with: they run in the lab and do what ours build on.

use lab::{
    Cluster, Etcd, Keystone, Kind, Operator, Result, bail, condition, ensure, eventually, is, kind,
    minutes,
};
use serde_json::json;

use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Long, 90 s, mariadb_gets_its_pods, [CLUSTER, &[Need::Tool(Tool::MariadbOperator)]]),
    scenario!(Long, 90 s, rabbitmq_gets_its_pods_and_comes_back_after_its_operator_was_killed, [CLUSTER, &[Need::Tool(Tool::RabbitmqOperator)]]),
    scenario!(Long, 120 s, k_orc_finds_and_makes_what_is_in_a_keystone, [CLUSTER, &[Need::Tool(Tool::KOrc), Need::Python("keystone")]]),
    scenario!(Long, 60 s, a_service_account_has_its_role_and_no_more, [CLUSTER]),
    scenario!(Long, 60 s, kinds_without_their_operators_are_served, [CLUSTER]),
];

const SECRET: Kind = kind("v1", "Secret");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");
const RABBITMQ: Kind = kind("rabbitmq.com/v1beta1", "RabbitmqCluster");
const DOMAIN: Kind = kind("openstack.k-orc.cloud/v1alpha1", "Domain");
const SERVICE: Kind = kind("openstack.k-orc.cloud/v1alpha1", "Service");
const CERTIFICATE: Kind = kind("cert-manager.io/v1", "Certificate");
const VALKEY: Kind = kind("cache.cs.sap.com/v1alpha1", "Valkey");
const VHOST: Kind = kind("rabbitmq.com/v1beta1", "Vhost");

fn mariadb_gets_its_pods() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let _operator = Operator::mariadb(&machine, &cluster).await?;
        cluster.apply(MARIADB_MANIFEST).await?;
        rolls_out(&cluster, "default/openstack-db").await?;
        cluster.get(SECRET, "default/openstack-db-root").await?;
        eventually("the database is Ready", minutes(1), async || {
            is(
                &cluster.get(MARIADB, "default/openstack-db").await?,
                "Ready",
            )
        })
        .await
    })
}

fn rabbitmq_gets_its_pods_and_comes_back_after_its_operator_was_killed() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let operator = Operator::rabbitmq_with_short_lease(&machine, &cluster).await?;
        cluster.apply(RABBITMQ_MANIFEST).await?;
        eventually("the default user is made", minutes(1), async || {
            let secret = cluster
                .get(SECRET, "default/openstack-mq-default-user")
                .await?;
            for key in ["username", "password", "host", "port", "connection_string"] {
                ensure!(secret.data["data"][key].is_string(), "it has no {key}");
            }
            Ok(())
        })
        .await?;
        operator.kill()?;
        let Err(_ended) = operator.check() else {
            bail!("it was killed and still runs")
        };
        operator.start().await?;
        rolls_out(&cluster, "default/openstack-mq-server").await?;
        eventually("every broker is ready", minutes(1), async || {
            is(
                &cluster.get(RABBITMQ, "default/openstack-mq").await?,
                "AllReplicasReady",
            )
        })
        .await
    })
}

fn k_orc_finds_and_makes_what_is_in_a_keystone() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let (keystone, _operator) = tokio::try_join!(
            Keystone::start(&machine, "not-a-secret"),
            Operator::k_orc(&machine, &cluster),
        )?;
        let credentials = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "admin-clouds", "namespace": "default"},
            "stringData": {"clouds.yaml": keystone.clouds()},
        });
        cluster.apply(&credentials.to_string()).await?;
        cluster.apply(KEYSTONE_MANIFESTS).await?;
        eventually("domain and service are there", minutes(1), async || {
            let domain = cluster.get(DOMAIN, "default/default-domain").await?;
            is(&domain, "Available")?;
            ensure!(
                domain.data["status"]["id"] == "default",
                "Keystone's own domain isn't {}",
                domain.data["status"]["id"]
            );
            let service = cluster.get(SERVICE, "default/glance").await?;
            is(&service, "Available")?;
            ensure!(condition(&service, "Progressing") == Some("False"));
            Ok(())
        })
        .await?;
        cluster.delete(SERVICE, "default/glance").await?;
        eventually("the service is gone", minutes(1), async || {
            cluster.gone(SERVICE, "default/glance").await
        })
        .await
    })
}

fn a_service_account_has_its_role_and_no_more() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        cluster.apply(SERVICE_ACCOUNT).await?;
        let account = cluster.acting_as("default/reader").await?;

        let refusal = account.refuses(SECRET_MANIFEST).await?;
        assert!(
            refusal.contains("system:serviceaccount:default:reader") && refusal.contains("403"),
            "{refusal}"
        );
        ensure!(account.list(SECRET, "").await.is_err(), "it reads secrets");
        cluster.apply(SECRET_MANIFEST).await?;
        cluster.apply(ROLE).await?;
        eventually("the role lets it read", minutes(1), async || {
            account.get(SECRET, "default/greeting").await.map(drop)
        })
        .await?;
        account.refuses(SECRET_MANIFEST).await?;

        let requests = cluster.audit()?;
        let writes: Vec<_> = requests
            .iter()
            .filter(|request| request.writes() && request.resource == "secrets")
            .map(|request| {
                (
                    request.user.as_str(),
                    request.verb.as_str(),
                    request.name.as_str(),
                    request.code,
                )
            })
            .collect();
        let (account, secret) = ("system:serviceaccount:default:reader", "default/greeting");
        assert_eq!(
            writes,
            [
                (account, "patch", secret, 403),
                ("admin", "patch", secret, 201),
                (account, "patch", secret, 403),
            ]
        );
        assert!(
            requests.iter().any(|request| request.user == account
                && request.verb == "list"
                && request.code == 403),
            "{requests:?}"
        );
        Ok(())
    })
}

fn kinds_without_their_operators_are_served() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        tokio::try_join!(
            cluster.install_cert_manager(),
            cluster.install_service_monitor(),
            cluster.install_rabbitmq(),
            cluster.install_valkey(),
        )?;
        cluster.apply(OTHERS).await?;
        cluster
            .set_status(
                VALKEY,
                "default/cache",
                json!({"observedGeneration": 1, "state": "Ready"}),
            )
            .await?;
        for (kind, name, misspelt) in [
            (
                CERTIFICATE,
                "default/keystone",
                json!({"secret": "keystone"}),
            ),
            (VALKEY, "default/cache", json!({"replica": 3})),
            (VHOST, "default/nova", json!({"names": "nova"})),
        ] {
            let Err(refusal) = cluster.edit(kind, name, json!({"spec": misspelt})).await else {
                bail!("{} takes {misspelt}", kind.kind)
            };
            assert!(refusal.to_string().contains("unknown field"), "{refusal}");
        }
        Ok(())
    })
}

/// Waits for a StatefulSet, and simulates its controller: every pod is ready.
async fn rolls_out(cluster: &Cluster, name: &str) -> Result<()> {
    eventually("the pods are asked for", minutes(1), async || {
        cluster.get(STATEFUL_SET, name).await.map(drop)
    })
    .await?;
    let status = json!({"observedGeneration": 1, "replicas": 1, "readyReplicas": 1});
    cluster
        .set_status(STATEFUL_SET, name, status)
        .await
        .map(drop)
}

const MARIADB_MANIFEST: &str = "
apiVersion: k8s.mariadb.com/v1alpha1
kind: MariaDB
metadata: {name: openstack-db, namespace: default}
spec:
  replicas: 1
  rootPasswordSecretKeyRef: {name: openstack-db-root, key: password, generate: true}
  storage: {size: 1Gi}
  tls: {enabled: false}
";

const RABBITMQ_MANIFEST: &str = "
apiVersion: rabbitmq.com/v1beta1
kind: RabbitmqCluster
metadata: {name: openstack-mq, namespace: default}
spec: {replicas: 1}
";

const KEYSTONE_MANIFESTS: &str = "
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Domain
metadata: {name: default-domain, namespace: default}
spec:
  cloudCredentialsRef: {secretName: admin-clouds, cloudName: admin}
  managementPolicy: unmanaged
  import: {filter: {name: Default}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Service
metadata: {name: glance, namespace: default}
spec:
  cloudCredentialsRef: {secretName: admin-clouds, cloudName: admin}
  resource: {type: image}
";

const SERVICE_ACCOUNT: &str =
    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}";

const SECRET_MANIFEST: &str =
    "{apiVersion: v1, kind: Secret, metadata: {name: greeting, namespace: default}}";

const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [''], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: default}
";

const OTHERS: &str = "
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: keystone, namespace: default}
spec: {secretName: keystone, dnsNames: [keystone.example.org], issuerRef: {kind: ClusterIssuer, name: site}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: keystone, namespace: default}
spec: {selector: {}, endpoints: [{port: metrics}]}
---
apiVersion: cache.cs.sap.com/v1alpha1
kind: Valkey
metadata: {name: cache, namespace: default}
spec: {replicas: 3, sentinel: {enabled: true}, persistence: {enabled: true, size: 1Gi}}
---
apiVersion: rabbitmq.com/v1beta1
kind: Vhost
metadata: {name: nova, namespace: default}
spec: {name: nova, defaultQueueType: quorum, rabbitmqClusterReference: {name: openstack-mq}}
";
