//! A whole lab: four clusters, Crossplane between them, and the function under test.

use std::sync::Arc;

use anyhow::Result;

use crate::cluster::{CONTROL_PLANE, Cluster, Etcd};
use crate::crossplane::{Crossplane, Release};
use crate::function::{Function, FunctionProgram};
use crate::garden::Garden;
use crate::machine::Machine;
use crate::provider::Provider;
use crate::tools::Tool;

/// Everything a scenario acts on.
pub struct Lab {
    /// The machine it all runs on.
    pub machine: Arc<Machine>,
    /// The generation of Crossplane.
    pub release: Release,
    /// Where claims are made and Crossplane composes.
    pub management: Cluster,
    /// Where OpenStack's control planes run.
    pub control_plane: Cluster,
    /// A hypervisor pool.
    pub hypervisor: Cluster,
    /// A storage pool.
    pub storage: Cluster,
    /// Where Shoots are.
    pub garden: Cluster,
    /// Crossplane's core.
    pub crossplane: Crossplane,
    /// provider-kubernetes.
    pub provider: Provider,
    /// The function under test.
    pub function: Function,
}

impl Lab {
    /// Starts all of it and waits until it is ready.
    pub async fn start(
        machine: Arc<Machine>,
        release: Release,
        garden: Garden,
        program: FunctionProgram,
    ) -> Result<Self> {
        // A build would hold up those who wait meanwhile.
        for tool in [
            Tool::Etcd,
            Tool::KubeApiserver,
            Tool::KubeControllerManager,
            release.tool(),
            release.provider(),
        ] {
            tool.path()?;
        }
        let etcd = Etcd::start(&machine)?;
        let (management, control_plane, hypervisor, storage) = tokio::try_join!(
            Cluster::start(&machine, &etcd, "management"),
            Cluster::start(&machine, &etcd, CONTROL_PLANE),
            Cluster::start(&machine, &etcd, "hypervisor"),
            Cluster::start(&machine, &etcd, "storage"),
        )?;
        let (crossplane, provider, (), (), (), (), ()) = tokio::try_join!(
            Crossplane::start(&machine, &management, release),
            Provider::start(&machine, &management, release),
            control_plane.install_external_secrets(),
            hypervisor.install_external_secrets(),
            storage.install_external_secrets(),
            storage.install_rook(),
            garden.serve(&machine, &etcd, &management),
        )?;
        // A site's garden is a cluster of its own. Here the management cluster's API server also serves Shoots: it spares
        // the memory and the start of one more.
        let garden = management.clone();
        let function = Function::serve(&machine, &crossplane, program).await?;
        Ok(Self {
            machine,
            release,
            management,
            control_plane,
            hypervisor,
            storage,
            garden,
            crossplane,
            provider,
            function,
        })
    }
}
