//! Reconciles, without any I/O.

use std::hint::black_box;

use anyhow::Result;
use clap::ValueEnum;
use provider_composer::{Composed, Composer, Custom};
use provider_control_plane_fixtures::Stage;
use provider_glance::Glance;
use provider_keystone::Keystone;
use provider_neutron::Neutron;
use provider_nova::Nova;
use provider_openstack_fixtures::{Cluster, documents};
use provider_placement::Placement;
use serde_json::json;

use crate::case::{Again, Case};
use crate::{ovn, pool, share};

/// The resource that is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// With every part.
    ControlPlane,
    /// In the control plane's own MariaDB and Memcached.
    Keystone,
    /// With its images in Ceph.
    Glance,
    /// With a database of its own.
    Placement,
    /// With the databases and message buses of three cells in MariaDB and RabbitMQ.
    Nova,
    /// In MariaDB and RabbitMQ, with an OVNCluster.
    Neutron,
    /// With three members of each database.
    Ovn,
    /// With 10,000 nodes and 200 shares.
    HypervisorPool,
    /// With 50 nodes.
    HypervisorShare,
}

impl Kind {
    /// The states that are counted. A HypervisorPool and its shares are new once, and each change of a node reconciles running ones.
    pub fn cases(self) -> &'static [Case] {
        match self {
            Kind::HypervisorPool | Kind::HypervisorShare => &[Case::Running],
            _ => &[Case::New, Case::Running],
        }
    }

    /// Reconciles it the given number of times.
    ///
    /// # Errors
    /// It can't be composed.
    pub fn repeat(self, case: Case, times: usize) -> Result<()> {
        let again = self.again(case);
        for _ in 0..times {
            black_box(again()?);
        }
        Ok(())
    }

    /// Returns the result of one reconcile.
    ///
    /// # Errors
    /// It can't be composed.
    pub fn answer(self, case: Case) -> Result<Composed> {
        Ok(self.again(case)()?)
    }

    fn again(self, case: Case) -> Again {
        match self {
            Kind::ControlPlane => control_plane(case),
            Kind::Keystone => service(Keystone, documents::KEYSTONE, case),
            Kind::Glance => service(Glance, &documents::glance(documents::RBD), case),
            Kind::Placement => service(Placement, documents::PLACEMENT, case),
            Kind::Nova => service(Nova, documents::NOVA, case),
            Kind::Neutron => service(Neutron, documents::NEUTRON, case),
            Kind::Ovn => ovn::again(case),
            Kind::HypervisorPool => pool::again(case),
            Kind::HypervisorShare => share::again(),
        }
    }
}

fn control_plane(case: Case) -> Again {
    let spec = json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } });
    let stage = match case {
        Case::New => Stage::new(spec),
        Case::Running => Stage::running(spec),
    };
    Box::new(move || Ok(black_box(&stage).reconcile()))
}

fn service<C: Composer + Send + Sync + 'static>(composer: C, document: &str, case: Case) -> Again {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    cluster.ovn();
    let name = cluster.put_document::<Custom<C::Spec>>(document);
    if case == Case::Running {
        cluster.settle(&composer, &name);
    }
    Box::new(move || black_box(&cluster).answer(&composer, &name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    fn what_runs_is_ready_and_what_was_just_made_is_not(
        #[values(
            Kind::Keystone,
            Kind::Glance,
            Kind::Placement,
            Kind::Nova,
            Kind::Neutron,
            Kind::Ovn
        )]
        kind: Kind,
    ) {
        for (case, ready) in [(Case::New, "False"), (Case::Running, "True")] {
            let answer = kind.answer(case).unwrap();
            let conditions = answer.status["conditions"].as_array().unwrap();
            let found = conditions.iter().find(|one| one["type"] == "Ready");
            assert_eq!(found.unwrap()["status"], ready, "{kind:?} {case:?}");
        }
    }
}
