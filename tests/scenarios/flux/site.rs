//! The site's repository, changed as its README says, and what isn't in Git.

use std::path::Path;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use lab::claims::{Generation, Runs, Simulated, Site};
use lab::{
    Cluster, GitHost, Kind, Lab, Operator, Pods, Program, Repository, Result, ensure, eventually,
    find_condition, is, minutes,
};
use serde_json::json;

use super::{FUNCTION, GIT, KUSTOMIZATION, PROVIDER};
use crate::gitops::definition;

/// A file of the repository, a text in it, and what takes its place: another host, one region with a pool of each kind, a claim of one
/// tenant, one of the platform team.
const CHANGES: [(&str, &str, &str); 9] = [
    (
        "infrastructure/sources/c5c3-gitops.yaml",
        "ssh://git@",
        "https://",
    ),
    ("tenants/customer-a/sync.yaml", "ssh://git@", "https://"),
    (
        "clusters/management/kustomization.yaml",
        "  - us-east-1.yaml\n",
        "",
    ),
    (
        "infrastructure/eu-de-1/kustomization.yaml",
        "  - hypervisor-pools/hv-pool-b.yaml\n",
        "",
    ),
    (
        "infrastructure/eu-de-1/kustomization.yaml",
        "  - storage-pools/st-pool-b.yaml\n",
        "",
    ),
    ("tenants/kustomization.yaml", "  - customer-b\n", ""),
    (
        "tenants/customer-a/openstack-clusters/kustomization.yaml",
        "  - prod.yaml\n",
        "",
    ),
    (
        "tenants/internal/openstack-clusters/kustomization.yaml",
        "  - ../claims\n",
        "",
    ),
    // The provider runs outside of the cluster.
    (
        "apps/crossplane/v2/provider-configs/management.yaml",
        "    source: InjectedIdentity\n",
        "    source: Secret\n    secretRef: {namespace: crossplane-system, name: management-kubeconfig, key: kubeconfig}\n",
    ),
];

/// The lab runs the function and the provider: Crossplane needn't look for the packages.
const PAUSED: (&str, &str) = (
    "resources:\n",
    "patches:
  - target: {kind: (Function|Provider)}
    patch: |
      - op: add
        path: /metadata/annotations
        value: {crossplane.io/paused: \"true\"}
resources:
",
);

/// The site's repository, `<host>/<path>`.
const REPOSITORY: &str = "github.com/c5c3/c5c3-gitops.git";

/// What Flux applies from Git, and the lab that it is in.
pub struct FluxSite<'a> {
    /// What else is there: Crossplane, and the operators that are simulated.
    pub site: Site<'a>,
    /// The site's repository.
    pub repository: Repository,
    _host: GitHost,
    _controllers: Vec<Operator>,
    _pods: Pods,
}

impl<'a> FluxSite<'a> {
    /// Starts Flux's controllers, and creates what isn't in Git.
    pub async fn open(lab: &'a Lab) -> Result<Self> {
        let (machine, management) = (&lab.machine, &lab.management);
        let host = GitHost::start(machine, &["github.com", "charts.crossplane.io"]).await?;
        host.publish_crossplane("charts.crossplane.io/stable", "2.4.0")?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let project = host.repository("github.com/C5C3/C5C3.git", &root)?;
        project.commit("Release", &["compositions", "package", "xrds"])?;
        project.tag(concat!("v", env!("CARGO_PKG_VERSION")))?;

        let tree = machine.folder().join("site");
        let copy = Program::new("cp").arg("--recursive");
        let copy = copy.arg(root.join("examples/gitops")).arg(&tree);
        machine.run("copy", &copy).await?;
        let repository = host.repository(REPOSITORY, &tree)?;
        for (file, from, to) in CHANGES {
            repository.replace(file, from, to)?;
        }
        let (from, to) = PAUSED;
        repository.replace("apps/crossplane/packages/kustomization.yaml", from, to)?;
        repository.commit("Describe the site", &["."])?;

        without_git(lab).await?;
        Ok(Self {
            site: Site {
                lab,
                generation: Generation::Namespaced,
                runs: Runs::Crossplane(Simulated::default()),
            },
            repository,
            _host: host,
            _controllers: Operator::flux(machine, management).await?,
            _pods: Pods::simulate(machine, management).await?,
        })
    }

    /// The management cluster.
    pub fn management(&self) -> &Cluster {
        &self.site.lab.management
    }

    /// Creates the source and the Kustomization that the Flux Operator makes of the FluxInstance.
    pub async fn sync(&self) -> Result<()> {
        let metadata = json!({"name": "flux-system", "namespace": "flux-system"});
        let source = json!({
            "apiVersion": GIT.api_version,
            "kind": GIT.kind,
            "metadata": metadata,
            "spec": {
                "interval": "1m",
                "url": format!("https://{REPOSITORY}"),
                "ref": {"name": "refs/heads/main"},
                "secretRef": {"name": "flux-system"},
            },
        });
        let kustomization = json!({
            "apiVersion": KUSTOMIZATION.api_version,
            "kind": KUSTOMIZATION.kind,
            "metadata": metadata,
            "spec": {
                "interval": "10m",
                "path": "clusters/management",
                "prune": true,
                "sourceRef": {"kind": GIT.kind, "name": "flux-system"},
            },
        });
        for object in [source, kustomization] {
            self.management().apply(&object.to_string()).await?;
        }
        Ok(())
    }

    /// Says of the packages what Crossplane says when they run.
    pub async fn packages_are_healthy(&self) -> Result<()> {
        let healthy = json!({"conditions": [{
            "type": "Healthy", "status": "True", "reason": "HealthyPackageRevision",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        for kind in [FUNCTION, PROVIDER] {
            for package in self.management().list(kind, "").await? {
                if is(&package, "Healthy").is_err() {
                    let management = self.management();
                    management.report(kind, &package, healthy.clone()).await?;
                }
            }
        }
        Ok(())
    }

    /// Asks Flux to reconcile an object at once. Returns the value of `lastHandledReconcileAt` once Flux has tried.
    pub async fn request(&self, kind: Kind, place: &str) -> Result<String> {
        let token = Timestamp::now().to_string();
        let note = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        self.management().edit(kind, place, note).await?;
        Ok(token)
    }

    /// Has Flux reconcile an object at once, waits until it has, and returns the object.
    pub async fn again(&self, kind: Kind, place: &str) -> Result<DynamicObject> {
        let token = self.request(kind, place).await?;
        eventually(&format!("{place} is reconciled"), minutes(3), async || {
            let object = self.management().get(kind, place).await?;
            let status = &object.data["status"];
            ensure!(
                status["lastHandledReconcileAt"] == token && is_reconciled(&object),
                "{status}"
            );
            Ok(object)
        })
        .await
    }
}

/// Whether Flux has reconciled an object, well or badly. It also handles a request where a dependency isn't Ready, which no object is while it is
/// reconciled; then it tries again by itself.
fn is_reconciled(object: &DynamicObject) -> bool {
    find_condition(object, "Ready").is_some_and(|ready| {
        ready["status"] != "Unknown" && ready["reason"] != "DependencyNotReady"
    })
}

/// Creates the Secrets that the README lists, the kubeconfigs of the clusters, and kinds of others.
async fn without_git(lab: &Lab) -> Result<()> {
    let management = &lab.management;
    let instance = definition("fluxcd.controlplane.io", "v1", "FluxInstance");
    management.apply(&instance).await?;
    // Those who simulate operators look for pools here, too.
    lab.storage.install_our_kinds().await?;
    for (namespace, name) in [
        ("flux-system", "flux-system"),
        ("tenant-customer-a", "repository"),
    ] {
        let home =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "stringData": {"username": "flux", "password": "given"},
        });
        // Created as a person does. What was applied without a field has no manager: Flux would remove the one that the API server then
        // adds, by a write at its second reconcile.
        management.write(&serde_json::from_value(home)?).await?;
        management.apply(&secret.to_string()).await?;
    }
    for (name, cluster) in [("gardener", &lab.garden), ("management", management)] {
        lab.provider.give_kubeconfig(name, cluster).await?;
    }
    for (name, cluster) in [
        ("eu-de-1-control-plane", &lab.control_plane),
        ("hv-pool-a", &lab.hypervisor),
        ("st-pool-a", &lab.storage),
    ] {
        lab.provider.give_kubeconfig(name, cluster).await?;
        cluster.install_secret_stores().await?;
        let of_flux = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": format!("{name}-kubeconfig"), "namespace": "flux-system"},
            "data": {"value": ByteString(cluster.kubeconfig().as_bytes().to_vec())},
        });
        management.apply(&of_flux.to_string()).await?;
    }
    Ok(())
}
