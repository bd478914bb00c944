//! Databases and message buses of one member get two more and keep what is in them, and a database returns from a power loss.

use lab::{
    Cloud, Image, Kind, Operator, Result, condition, ensure, eventually, find_condition, is, kind,
    minutes,
};
use serde_json::{Value, json};

use super::backup::{
    MARIADB, WHOLE, asked_of, back_up, images, projects, ready, restore, with_operators,
};
use super::{CONTROL_PLANE, DATABASE_USER, MESSAGING_USER, does};
use crate::locks;

const CLAIM: Kind = kind("v1", "PersistentVolumeClaim");
const RABBITMQ: Kind = kind("rabbitmq.com/v1beta1", "RabbitmqCluster");
const SECRET: Kind = kind("v1", "Secret");

const MANIFEST: &str = include_str!("growth.yaml");
const DATABASE: &str = "openstack/openstack-db";
const MEMBERS: [&str; 3] = [
    "openstack/openstack-db-0",
    "openstack/openstack-db-1",
    "openstack/openstack-db-2",
];

/// The addresses of two of them.
const ADDRESSES: &str = "openstack-db-0.openstack-db-internal.openstack.svc openstack-db-1.openstack-db-internal.openstack.svc";

/// The one that services have.
const PRIMARY: &str = "openstack-db-primary.openstack.svc";

/// One for the first member, then one for each of three, for their configuration, and for the backups.
const VOLUMES: [(&str, &str); 8] = [
    ("former", "1Gi"),
    ("data-0", "1Gi"),
    ("data-1", "1Gi"),
    ("data-2", "1Gi"),
    ("galera-0", "100Mi"),
    ("galera-1", "100Mi"),
    ("galera-2", "100Mi"),
    ("backups", "2Gi"),
];

pub fn a_database_grows_to_three_members_and_survives_a_power_loss() -> Result<()> {
    let images = images()?;
    let cinder = Image::of_service("cinder", "2025.2")?;
    lab::on_a_bare_machine(async move |machine| {
        let (cloud, _operators) = with_operators(&machine, &images).await?;
        cloud.node.offer(&cinder).await?;
        for (name, size) in VOLUMES {
            cloud.volume(name, size, DATABASE_USER).await?;
        }
        cloud.cluster.apply(MANIFEST).await?;
        ready(&cloud).await?;

        asked_of(
            &cloud,
            MEMBERS[0],
            "CREATE TABLE keystone.kept (id INT PRIMARY KEY)",
        )
        .await?;
        keep(&cloud, 1).await?;
        let before = projects(&cloud).await?;
        grow(&cloud).await?;
        let after = projects(&cloud).await?;
        ensure!(after == before, "{before} became {after}");
        all_serve(&cloud, "1").await?;
        does(&cloud, "grown", "token").await?;
        // A lock that one member knows is another's, too.
        locks::hold(&cloud, &cinder, ADDRESSES).await?;
        locks::hold_during(&cloud, &cinder, PRIMARY, lose_the_primary(&cloud)).await?;
        all_serve(&cloud, "1").await?;

        lose_power(&cloud).await?;
        // All that was committed, also what the third member had not seen.
        all_serve(&cloud, "1,2,3").await?;
        ready(&cloud).await?;
        does(&cloud, "returned", "token").await?;
        cloud.roles_suffice()
    })
}

/// Commits a row.
async fn keep(cloud: &Cloud, row: u32) -> Result<()> {
    let insert = format!("INSERT INTO keystone.kept VALUES ({row})");
    asked_of(cloud, MEMBERS[0], &insert).await.map(drop)
}

/// Waits until MariaDB is Ready and each member is in one cluster of three, with these rows.
async fn all_serve(cloud: &Cloud, rows: &str) -> Result<()> {
    let query = "SELECT variable_value, (SELECT GROUP_CONCAT(id ORDER BY id) FROM keystone.kept)
        FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_size'";
    eventually("all members have all rows", minutes(12), async || {
        is(&cloud.cluster.get(MARIADB, DATABASE).await?, "Ready")?;
        for member in MEMBERS {
            let found = asked_of(cloud, member, query).await?;
            ensure!(found == format!("3\t{rows}"), "{member} has {found}");
        }
        Ok(())
    })
    .await
}

/// Makes three members of one, as docs/operations.md says.
async fn grow(cloud: &Cloud) -> Result<()> {
    let cluster = &cloud.cluster;
    let change = json!({ "spec": { "infrastructure": { "mariadb": { "replicas": 3 } } } });
    cluster.edit(CONTROL_PLANE, WHOLE, change).await?;
    eventually("the size isn't accepted", minutes(1), async || {
        let found = cluster.get(CONTROL_PLANE, WHOLE).await?;
        let accepted = condition(&found, "SizeAccepted");
        ensure!(accepted == Some("False"), "SizeAccepted is {accepted:?}");
        Ok(())
    })
    .await?;
    asked_of(cloud, MEMBERS[0], "SET GLOBAL read_only = 1").await?;
    let time = back_up(cloud).await?;

    let former = cluster.get(MARIADB, DATABASE).await?.metadata.uid;
    // It stays as long as the pod does.
    cluster
        .delete(CLAIM, "openstack/storage-openstack-db-0")
        .await?;
    cluster.delete(MARIADB, DATABASE).await?;
    eventually("three members are Ready", minutes(10), async || {
        let new = cluster.get(MARIADB, DATABASE).await?;
        ensure!(new.metadata.uid != former, "it is the former one");
        ensure!(new.data["spec"]["replicas"] == 3, "{}", new.data["spec"]);
        is(&new, "Ready")
    })
    .await?;
    restore(cloud, &time).await?;
    ready(cloud).await
}

/// Waits until the ControlPlane says that its infrastructure isn't ready, and names something.
async fn says(cloud: &Cloud, name: &str) -> Result<()> {
    eventually("the ControlPlane says why", minutes(4), async || {
        let found = cloud.cluster.get(CONTROL_PLANE, WHOLE).await?;
        let infrastructure = find_condition(&found, "InfrastructureReady");
        let message = infrastructure.and_then(|one| one["message"].as_str());
        ensure!(
            condition(&found, "InfrastructureReady") == Some("False")
                && message.is_some_and(|message| message.contains(name)),
            "InfrastructureReady: {infrastructure:?}"
        );
        Ok(())
    })
    .await
}

/// Kills the member that services are connected to.
async fn lose_the_primary(cloud: &Cloud) -> Result<()> {
    let mariadb = cloud.cluster.get(MARIADB, DATABASE).await?;
    let primary = mariadb.data["status"]["currentPrimary"].as_str();
    let primary = lab::Context::context(primary, "there is no primary")?;
    let primary = format!("openstack/{primary}");
    let member = cloud.node.container_of(&primary, "mariadb").await?;
    member.signal("SIGKILL")
}

/// Kills all members at once, the third of which hasn't what the others committed last. Without the file in which Galera keeps the members
/// that it had, they can't find together by themselves: mariadb-operator has to start one.
async fn lose_power(cloud: &Cloud) -> Result<()> {
    keep(cloud, 2).await?;
    let mut members = Vec::new();
    for member in MEMBERS {
        members.push(cloud.node.container_of(member, "mariadb").await?);
    }
    members[2].signal("SIGSTOP")?;
    let size = "SELECT variable_value FROM information_schema.global_status
        WHERE variable_name = 'wsrep_cluster_size'";
    eventually("two members go on", minutes(1), async || {
        let found = asked_of(cloud, MEMBERS[0], size).await?;
        ensure!(found == "2", "the cluster has {found} members");
        Ok(())
    })
    .await?;
    keep(cloud, 3).await?;
    for member in &members {
        member.run(&["rm", "--force", "/var/lib/mysql/gvwstate.dat"])?;
    }
    for member in &members {
        member.signal("SIGKILL")?;
    }
    // It says so of the member that it chooses, too, which soon serves.
    says(cloud, "mariadb-operator starts ").await
}

pub fn queues_get_members_on_new_nodes() -> Result<()> {
    let images = [Image::rabbitmq()?];
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        cloud.cluster.install_control_plane_kinds().await?;
        let _rabbitmq = Operator::rabbitmq(&machine, &cloud.cluster).await?;
        cloud.install(&machine, "c5c3").await?;
        for name in ["messages-0", "messages-1", "messages-2"] {
            cloud.volume(name, "1Gi", MESSAGING_USER).await?;
        }
        // A service that uses it is enough to create it.
        let manifest = MANIFEST.replace("cinder: {enabled: false}", "cinder: {}");
        cloud.cluster.apply(&manifest).await?;
        runs(&cloud, 1).await?;
        let queue = json!({ "durable": true, "arguments": { "x-queue-type": "quorum" } });
        manage(&cloud, "put", "queues/%2F/letters", &queue, "").await?;
        let letter = json!({
            "routing_key": "letters", "payload": "a letter", "payload_encoding": "string",
            "properties": { "delivery_mode": 2 },
        });
        let publish = "exchanges/%2F/amq.default/publish";
        manage(&cloud, "post", publish, &letter, "\"routed\":true").await?;

        let change = json!({ "spec": { "infrastructure": { "rabbitmq": { "replicas": 3 } } } });
        cloud.cluster.edit(CONTROL_PLANE, WHOLE, change).await?;
        runs(&cloud, 3).await?;
        let members = "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"letters\">>)), \
                       length(maps:get(nodes, amqqueue:get_type_state(Q))).";
        eventually("the queue has three members", minutes(8), async || {
            let found = evaluated(&cloud, members).await?;
            ensure!(found == "3", "the queue has {found} members");
            Ok(())
        })
        .await?;
        let take = json!({ "count": 1, "ackmode": "ack_requeue_false", "encoding": "auto" });
        // Members are replaced one by one meanwhile.
        eventually("the letter is still there", minutes(3), async || {
            manage(&cloud, "post", "queues/%2F/letters/get", &take, "a letter").await
        })
        .await?;
        cloud.roles_suffice()
    })
}

/// Waits until RabbitMQ has so many members, all of which are ready.
async fn runs(cloud: &Cloud, members: u32) -> Result<()> {
    let all = "length(rabbit_nodes:list_running()).";
    eventually("RabbitMQ has its members", minutes(8), async || {
        let found = cloud
            .cluster
            .get(RABBITMQ, "openstack/openstack-rabbitmq")
            .await?;
        ensure!(found.data["spec"]["replicas"] == members);
        is(&found, "AllReplicasReady")?;
        let found = evaluated(cloud, all).await?;
        ensure!(found == members.to_string(), "{found} members run");
        Ok(())
    })
    .await
}

/// What RabbitMQ's first member makes of an expression.
async fn evaluated(cloud: &Cloud, expression: &str) -> Result<String> {
    let member = "openstack/openstack-rabbitmq-server-0";
    let member = cloud.node.container_of(member, "rabbitmq").await?;
    member.run(&["rabbitmqctl", "--quiet", "eval", expression])
}

/// Asks the management's API as its default user, and looks for something in what it answers.
async fn manage(
    cloud: &Cloud,
    method: &str,
    path: &str,
    body: &Value,
    expected: &str,
) -> Result<()> {
    let secret = "openstack/openstack-rabbitmq-default-user";
    let secret = cloud.cluster.get(SECRET, secret).await?;
    let field = |key: &str| format!("base64:decode(<<{}>>)", secret.data["data"][key]);
    let (user, password) = (field("username"), field("password"));
    // Texts of Erlang are written like those of JSON. Options of TLS would be made from the image's authorities, of which it has none.
    let (body, expected) = (json!(body.to_string()), json!(expected));
    let expression = format!(
        "inets:start(), Login = base64:encode_to_string(<<({user})/binary, \":\", ({password})/binary>>), \
         {{ok, {{{{_, Code, _}}, _, Answer}}}} = httpc:request({method}, {{\"http://localhost:15672/api/{path}\", \
         [{{\"Authorization\", \"Basic \" ++ Login}}], \"application/json\", {body}}}, [{{ssl, []}}], []), \
         Code < 300 andalso string:find(Answer, {expected}) =/= nomatch orelse {{Code, Answer}}."
    );
    let found = evaluated(cloud, &expression).await?;
    ensure!(found == "true", "{method} {path}: {found}");
    Ok(())
}
