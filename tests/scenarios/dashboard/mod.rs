//! The dashboard before a real API server: what viewers see with their own rights, and how it looks in a browser.

mod objects;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use c5c3_api::{
    ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, StorageClusterSpec,
};
use lab::suite::{CLUSTER, Need, Scenario};
use lab::{
    Browser, Build, Cluster, Context, Etcd, Machine, Program, Result, ensure, eventually, minutes,
    our_program, scenario,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use objects::{account, claim, definition, fill, token};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 45 s, viewer_sees_what_his_token_may_list, [CLUSTER]),
    scenario!(Long alone, 240 s, pages_of_ten_thousand_nodes_are_readable_in_a_browser, [CLUSTER, &[Need::Chromium]]),
];

/// A cluster, and a dashboard of it.
struct Site {
    machine: Arc<Machine>,
    cluster: Cluster,
    port: u16,
}

fn viewer_sees_what_his_token_may_list() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let site = Site::open(machine, &["--per-viewer"]).await?;
        let cluster = &site.cluster;
        for tenant in ["tenant-a", "tenant-b"] {
            claim(cluster, tenant, "prod", json!({"phase": "Ready"}), "").await?;
            account(cluster, tenant, "RoleBinding", tenant).await?;
        }
        account(cluster, "platform", "ClusterRoleBinding", "").await?;
        cluster
            .apply("{apiVersion: v1, kind: Namespace, metadata: {name: infrastructure}}")
            .await?;

        let seen = async |account: &str, url: &str| -> Result<(u16, Vec<bool>)> {
            let (code, page) = site.page(url, &token(cluster, account).await?).await?;
            let texts = [
                "tenant-a/</span>prod",
                "tenant-b/</span>prod",
                "You may not list",
            ];
            Ok((code, texts.map(|text| page.contains(text)).to_vec()))
        };
        for (account, url, expected) in [
            ("platform/viewer", "/", [true, true, false]),
            ("platform/viewer", "/pools", [false, false, false]),
            ("tenant-a/viewer", "/", [false, false, true]),
            (
                "tenant-a/viewer",
                "/?namespace=tenant-a",
                [true, false, false],
            ),
            (
                "tenant-a/viewer",
                "/?namespace=tenant-b",
                [false, false, true],
            ),
            (
                "tenant-b/viewer",
                "/?namespace=tenant-b",
                [false, true, false],
            ),
            ("tenant-a/viewer", "/pools/hv-pool-a", [false, false, true]),
        ] {
            // An API server learns of new rights a moment after they are granted.
            let what = format!("{account} sees of {url} what it may list");
            eventually(&what, minutes(1), async || {
                let seen = seen(account, url).await?;
                ensure!(seen == (200, expected.to_vec()), "{seen:?}");
                Ok(())
            })
            .await?;
        }
        for header in [
            "",
            "Authorization: Bearer forged\r\n",
            "X-Remote-User: admin\r\n",
        ] {
            let (code, page) = site.page("/", header).await?;
            ensure!(
                code == 401 && !page.contains("prod"),
                "{header:?} gets {code}: {page}"
            );
        }

        // Nothing was asked but lists, with a viewer's rights.
        let requests = cluster.audit()?;
        let of_dashboard = requests
            .iter()
            .filter(|request| request.user.ends_with(":viewer"));
        let of_dashboard: Vec<_> = of_dashboard.collect();
        ensure!(!of_dashboard.is_empty(), "the audit log has no viewer");
        for request in of_dashboard {
            ensure!(
                request.verb == "list" && request.resource != "secrets",
                "{request:?}"
            );
        }
        Ok(())
    })
}

fn pages_of_ten_thousand_nodes_are_readable_in_a_browser() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let site = Site::open(machine, &[]).await?;
        fill(&site.cluster).await?;
        let started = Instant::now();
        let (code, page) = site.page("/pools/hv-pool-a", "").await?;
        let took = started.elapsed();
        println!(
            "a page of a pool of 10,000 nodes took {} ms",
            took.as_millis()
        );
        ensure!(
            code == 200 && took < Duration::from_secs(1),
            "{code} after {took:?}: {page}"
        );

        let browser = Browser::of(&site.machine);
        let pictures = lab::results().unwrap_or_else(|| site.machine.folder().to_owned());
        fs::create_dir_all(&pictures)?;
        for (name, path, texts) in [
            (
                "overview",
                "/",
                &["<h1>Claims</h1>", "isn't Ready", "✘</span> Degraded"][..],
            ),
            (
                "pools",
                "/pools",
                &["<h1>Hypervisor pools</h1>", ">10,000</td>"],
            ),
            (
                "claim",
                "/pools/infrastructure/hv-pool-a",
                &[
                    "<h1>Hypervisor pool infrastructure/hv-pool-a</h1>",
                    "Guaranteed",
                ],
            ),
            (
                "pool",
                "/pools/hv-pool-a",
                &[">hv-00099</th>", "100, and more after them", "Next page"],
            ),
            (
                "nodes",
                "/pools/hv-pool-a?control-plane=customer-b-staging&nodes=draining&table=nodes",
                &["Draining</td>"],
            ),
            ("storage", "/storage", &["420 TiB of 500 TiB (84 %)<meter"]),
        ] {
            let url = format!("http://127.0.0.1:{}{path}", site.port);
            let document = browser.document(&url).await?;
            for text in texts {
                ensure!(document.contains(text), "{url} lacks {text:?}: {document}");
            }
            ensure!(!document.contains("<script"), "{document}");
            for (size, window, dark) in
                [("desktop", (1280, 900), false), ("phone", (390, 844), true)]
            {
                let file = pictures.join(format!("{name}-{size}.png"));
                browser.picture(&url, window, dark, &file).await?;
            }
        }
        println!("pictures are in {}", pictures.display());
        site.parts().await
    })
}

impl Site {
    /// A cluster with all kinds of ours, and a dashboard with further arguments.
    async fn open(machine: Arc<Machine>, arguments: &[&str]) -> Result<Self> {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "site").await?;
        for definition in [
            definition::<OpenStackClusterSpec>(),
            definition::<ControlPlaneClusterSpec>(),
            definition::<HypervisorClusterSpec>(),
            definition::<StorageClusterSpec>(),
        ] {
            cluster.apply(&definition.to_string()).await?;
        }
        for plural in [
            "controlplanes.c5c3.io",
            "hypervisorpools.hypervisor.c5c3.io",
            "hypervisorshares.hypervisor.c5c3.io",
        ] {
            cluster
                .apply_files(format!(
                    "package/charts/c5c3-crds/definitions/{plural}.yaml"
                ))
                .await?;
        }
        cluster.apply_files("examples/dashboard/rbac.yaml").await?;
        let port = machine.port();
        let program = Program::new(our_program(Build::Debug)?)
            .arg("dashboard")
            .args(arguments)
            .flag("kubeconfig", cluster.kubeconfig_file())
            .flag("address", format!("127.0.0.1:{port}"));
        machine.start("dashboard", &program)?;
        let site = Self {
            machine,
            cluster,
            port,
        };
        eventually("the dashboard answers", minutes(1), async || {
            site.machine.check("dashboard")?;
            site.page("/style.css", "").await
        })
        .await?;
        Ok(site)
    }

    /// A page with its HTTP status, for a request with a further header.
    async fn page(&self, url: &str, header: &str) -> Result<(u16, String)> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let request =
            format!("GET {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n");
        connection.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((code.context("the answer has no status")?, answer))
    }

    /// Follows the links to all parts of the list of nodes.
    async fn parts(&self) -> Result<()> {
        let mut url = "/pools/hv-pool-a?table=nodes".to_owned();
        let mut nodes = 0;
        loop {
            let (code, page) = self.page(&url, "").await?;
            ensure!(code == 200, "{url}: {page}");
            nodes += page.matches("<th scope=\"row\">hv-").count();
            let next = page
                .split("<a href=\"")
                .filter_map(|link| link.split_once('"'));
            let next = next
                .filter(|(_, rest)| rest.starts_with(" rel=\"next\""))
                .map(|(link, _)| link)
                .next();
            match next {
                Some(next) => url = next.replace("&amp;", "&"),
                None => break,
            }
        }
        ensure!(nodes == 10_000, "the parts have {nodes} nodes");
        Ok(())
    }
}
