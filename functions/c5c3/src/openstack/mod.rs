//! OpenStackCluster: namespace and ControlPlane in the control plane cluster, pools and users in Ceph, the path of their
//! keys, a share of each hypervisor pool, the path of what its agents need.

mod agents;
mod bootstrap;
mod cells;
mod ceph;
mod ceph_resources;
mod control_plane;
mod deletion;
mod existing;
mod exposure;
mod kept_nova;
mod keys;
mod moves;
mod new_hosts;
mod part;
mod pool_quota;
mod pools_observed;
mod quota;
mod reach;
mod requests;
mod resource;
mod retained;
mod shares;
mod site;
mod size;
mod status;
mod tenant;
mod unsupported;
mod verify;
mod wanted;

use std::fmt::Display;

use c5c3_api::{OpenStackClusterSpec, OpenStackClusterStatus};
use function_protocol::{Fatal, Request, Response};

use crate::composed::Composed;
use crate::composite::Composite;
use crate::input::{self, OpenStackPresets};
use crate::names::Names;
use existing::Existing;
use part::Part;
use site::Site;
use size::Running;
use wanted::Storages;

/// The composite resource behind an OpenStackCluster.
type OpenStackCluster = Composite<OpenStackClusterSpec, OpenStackClusterStatus>;

/// One claim, and all that its recipe looks at.
struct Recipe<'a> {
    cluster: &'a OpenStackCluster,
    presets: &'a OpenStackPresets,
    names: Names<'a>,
    /// Whether Nova stays on although the claim disables it, because a share still has nodes.
    keeps_nova: bool,
    existing: Existing,
    /// What the control plane runs with.
    running: Running,
    /// The part of each hypervisor pool, in the order of the spec.
    parts: Vec<Part>,
    site: Site,
}

/// Composes an OpenStackCluster.
///
/// # Errors
/// The claim or the Composition has to be changed; the message says what.
pub fn compose(request: &Request, response: &mut Response) -> Result<(), Fatal> {
    let mut cluster: OpenStackCluster = request.composite()?;
    let presets: OpenStackPresets = input::read(request)?;
    let preset = presets.size(cluster.spec.size)?;
    let parts = Part::all(&cluster.spec, &preset.share);
    // Parts are those of the claim as written: a pool guarantees no nodes to a disabled Nova.
    let keeps_nova = kept_nova::keep(&mut cluster, request);
    let names = Names::of(cluster.metadata.claim_name())?;
    let existing = Existing::of(request);
    let running = Running::of(&preset.infrastructure, &existing, request)?;
    let exceeded = part::exceeded(&cluster.spec, &preset.share);
    let site = Site::resolve(&cluster, &presets, &parts, request, response)?;
    let storages = Storages::of(&cluster, &preset.storage, &site, request)?;
    let recipe = Recipe {
        cluster: &cluster,
        presets: &presets,
        names,
        keeps_nova,
        existing,
        running,
        parts,
        site,
    };

    let owner = recipe.site.owner.clone();
    let mut composed = Composed::new(request, response, cluster.metadata.scope(), owner);
    recipe.check_encryption()?;
    recipe.check_cells(&composed)?;
    let ceph = recipe.ceph(&storages, &mut composed)?;
    let keys = recipe.keys(&storages, &mut composed)?;
    let mut shares = recipe.shares(&mut composed)?;
    let compute = recipe.compute(&composed)?;
    let waiting = recipe.agents(request, &compute.cells, &mut composed)?;
    shares.waiting.extend(waiting);
    recipe.quota(request, compute.cells.len(), &mut composed)?;
    let control_plane = recipe.control_plane(&storages, &shares, &compute, &mut composed)?;
    let tenant = recipe.tenant(&mut composed)?;
    recipe.deletion(&storages, tenant.is_some(), &mut composed)?;
    let released = cluster.metadata.released();
    let retention = composed.retain(&released, resource::NAMESPACE, keys::is_of)?;
    let requests = recipe.requests(&storages, retention.holds, request);
    let namespace = recipe.namespace(requests, &mut composed)?;
    let accepted = composed.accept();
    let all_ready = composed.all_ready();
    let findings = status::Findings {
        ceph,
        keys,
        shares,
        exceeded,
        compute,
        namespace,
        control_plane,
        tenant,
        retention,
        accepted,
        all_ready,
    };
    recipe.status(&findings, response)
}

impl Recipe<'_> {
    /// Where something of this control plane is in the secret store: `<site>/<control plane cluster>/<namespace>/...`, never a
    /// path that another control plane has.
    fn path(&self, what: impl Display) -> String {
        let cluster = self.site.control_plane.name.name();
        format!(
            "{}/{cluster}/{}/{what}",
            self.presets.site,
            self.names.namespace()
        )
    }
}
