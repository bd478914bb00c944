//! Clients outside the cluster reach an API by its public name, through a real controller of Gateways and Ingresses at an address of its own.
//! Our operator is real, too; pods are simulated, and a server of the scenario stands for the API.

mod api;
mod client;

use std::net::Ipv4Addr;

use lab::{
    Authority, Cluster, Etcd, Identity, Kind, Operator, Pods, Result, Server, bail, condition,
    ensure, eventually, is, kind, minutes, seconds,
};
use serde_json::json;

use client::{Client, UPLOAD};

use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 90 s, clients_outside_reach_an_api_by_gateway_and_by_ingress, [CLUSTER, &[
        Need::Tool(Tool::Helm),
        Need::Tool(Tool::Traefik),
    ]]),
];

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const GATEWAYS: Kind = kind("gateway.networking.k8s.io/v1", "Gateway");
const ROUTE: Kind = kind("gateway.networking.k8s.io/v1", "HTTPRoute");

const OPERATOR: &str = "keystone";
const OBJECT: &str = "openstack/keystone";
const GATEWAY: &str = include_str!("gateway.yaml");

/// The public name, one label below the site's domain.
const NAME: &str = "keystone-first.cloud.example.com";
/// The names within the cluster, and the port there.
const SERVICE: [&str; 2] = [
    "keystone.openstack.svc.cluster.local",
    "keystone.openstack.svc",
];
const PORT: u16 = 5000;

/// Where the API is, as `keystone.yaml` says.
const POD: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 1);
/// Where clients outside find the site.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);

fn clients_outside_reach_an_api_by_gateway_and_by_ingress() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        lab::take_address(POD)?;
        lab::take_address(OUTSIDE)?;
        cluster.install_our_kinds().await?;
        let _traefik = Operator::traefik(&machine, &cluster, OUTSIDE).await?;
        let _pods = Pods::simulate(&machine, &cluster).await?;
        let _operator = Operator::installed(&machine, &cluster, OPERATOR, &["replicas=0"]).await?;

        let public = Authority::new()?;
        let authority = machine.authority();
        let internal = authority.server(&SERVICE)?;
        cluster.apply(include_str!("keystone.yaml")).await?;
        cluster
            .put_certificate("openstack/keystone-tls", &internal, Some(authority))
            .await?;
        cluster.apply(GATEWAY).await?;
        let wildcard = public.server(&["*.cloud.example.com"])?;
        cluster
            .put_certificate("gateways/cloud-example-com", &wildcard, Some(&public))
            .await?;
        let served = serve(&internal).await?;

        let client = Client::new(public.certificate(), OUTSIDE)?;
        exposed(&cluster, "True").await?;
        reached(&client).await?;
        let stranger = Client::new(authority.certificate(), OUTSIDE)?;
        ensure!(
            stranger.connect(NAME).await.is_err(),
            "the public certificate is the internal authority's"
        );
        drop(served);
        another_api_is_not_reached(&public, &client).await?;
        let _served = serve(&internal).await?;
        gateway_that_refuses_the_route_is_said(&cluster).await?;
        gateway_that_is_deleted_is_named(&cluster).await?;
        reached(&client).await?;
        by_ingress(&cluster, &public, &client).await?;
        cluster.allowed_all(&Operator::user(OPERATOR))
    })
}

/// Starts the API with a certificate. A former one leaves its port a moment after it was dropped.
async fn serve(identity: &Identity) -> Result<Server> {
    eventually("the API's port is free", seconds(30), async || {
        Server::start(PORT, Some(identity), api::answer).await
    })
    .await
}

/// The operator says whether the API is exposed, and that it is Ready either way.
async fn exposed(cluster: &Cluster, status: &str) -> Result<()> {
    exposed_because(cluster, status, "").await
}

/// The operator says so with this message, before which there may be another one.
async fn exposed_because(cluster: &Cluster, status: &str, why: &str) -> Result<()> {
    let what = format!("Exposed is {status} {why}");
    eventually(&what, minutes(1), async || {
        let keystone = cluster.get(KEYSTONE, OBJECT).await?;
        is(&keystone, "Ready")?;
        let conditions = keystone.data["status"]["conditions"].to_string();
        ensure!(
            condition(&keystone, "Exposed") == Some(status) && conditions.contains(why),
            "{conditions}"
        );
        Ok(())
    })
    .await
}

/// Requests arrive with the name that the client asked for, uploads whole, and WebSockets in both directions.
async fn reached(client: &Client) -> Result<()> {
    eventually("the API answers outside", minutes(1), async || {
        let said = client.get(NAME, "/v3").await?;
        ensure!(said["host"] == NAME && said["path"] == "/v3", "{said}");
        Ok(())
    })
    .await?;
    let said = client.upload(NAME, "/v2/images/1/file").await?;
    ensure!(said["length"] == UPLOAD, "of {UPLOAD} bytes arrived {said}");
    let echo = client.echo(NAME, "/websockify", "RFB 003.008\n").await?;
    ensure!(echo == "RFB 003.008\n", "back came {echo:?}");
    Ok(())
}

/// Whoever answers in the API's place without its certificate gets no request.
async fn another_api_is_not_reached(public: &Authority, client: &Client) -> Result<()> {
    let _served = serve(&public.server(&SERVICE)?).await?;
    let Err(refusal) = client.get(NAME, "/v3").await else {
        bail!("the Gateway doesn't verify the API's certificate")
    };
    let refusal = format!("{refusal:#}");
    ensure!(refusal.contains("HTTP/1.1 50"), "{refusal}");
    Ok(())
}

/// A Gateway whose listener is for other names.
async fn gateway_that_refuses_the_route_is_said(cluster: &Cluster) -> Result<()> {
    let other = GATEWAY.replace("*.cloud.example.com", "*.other.example.com");
    cluster.apply(&other).await?;
    exposed_because(
        cluster,
        "False",
        "take HTTPRoute keystone: NoMatchingListenerHostname",
    )
    .await?;
    cluster.apply(GATEWAY).await?;
    exposed(cluster, "True").await
}

/// A Gateway that is deleted: Traefik leaves the status of its routes as it is.
async fn gateway_that_is_deleted_is_named(cluster: &Cluster) -> Result<()> {
    cluster.delete(GATEWAYS, "gateways/public").await?;
    exposed_because(
        cluster,
        "False",
        "waits for Gateway gateways/public, which doesn't exist",
    )
    .await?;
    let keystone = cluster.get(KEYSTONE, OBJECT).await?;
    let status = &keystone.data["status"];
    ensure!(status["publicEndpoint"].is_null(), "{status}");
    cluster.apply(GATEWAY).await?;
    exposed(cluster, "True").await?;
    let keystone = cluster.get(KEYSTONE, OBJECT).await?;
    let status = &keystone.data["status"];
    ensure!(!status["publicEndpoint"].is_null(), "{status}");
    Ok(())
}

/// The same by an Ingress, for which the claim's issuer signs a certificate of this name.
async fn by_ingress(cluster: &Cluster, public: &Authority, client: &Client) -> Result<()> {
    let change = json!({ "spec": { "expose": {
        "gateway": null,
        "ingress": {
            "className": "nginx",
            "tlsSecretName": "keystone-public-tls",
            "annotations": { "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS" },
        },
    } } });
    cluster.edit(KEYSTONE, OBJECT, change).await?;
    eventually("the route is gone", minutes(1), async || {
        cluster.gone(ROUTE, OBJECT).await
    })
    .await?;
    exposed(cluster, "False").await?;
    let identity = public.server(&[NAME])?;
    cluster
        .put_certificate("openstack/keystone-public-tls", &identity, Some(public))
        .await?;
    exposed(cluster, "True").await?;
    reached(client).await
}
