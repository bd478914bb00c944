//! Real API servers, Crossplane and providers on one bare machine, and what a scenario needs to act on them.
//!
//! A scenario is a function in `tests/scenarios`, declared by [`scenario!`] with its suite, its time budget and its needs:
//!
//! ```no_run
//! use lab::{FunctionProgram, Garden, Kind, Release, Result, eventually, is, kind, minutes};
//!
//! const CLAIM: Kind = kind("c5c3.io/v1alpha1", "OpenStackCluster");
//! const CEPH_CLUSTER: Kind = kind("ceph.rook.io/v1", "CephCluster");
//!
//! # fn main() -> Result<()> {
//! lab::in_lab(Release::V1_20, Garden::Unchecked, FunctionProgram::c5c3()?, async |lab| {
//!     lab.provider.give_kubeconfig("st-pool-a", &lab.storage).await?;
//!     lab.management.apply_files("compositions/v1").await?;
//!     lab.management.apply("{apiVersion: v1, kind: Namespace, metadata: {name: customer-a}}").await?;
//!     lab.storage.set_status(CEPH_CLUSTER, "rook-ceph/st-pool-a", serde_json::json!({"phase": "Ready"})).await?;
//!     eventually("the claim is Ready", minutes(1), async || {
//!         is(&lab.management.get(CLAIM, "customer-a/customer-a-prod").await?, "Ready")
//!     })
//!     .await?;
//!     lab.function.kill()?;
//!     lab.function.start().await?;
//!     Ok(())
//! })
//! # }
//! ```
//!
//! - [`in_lab`] gives a [`Lab`]: the clusters `management`, `control_plane`, `hypervisor`, `storage` and `garden`,
//!   `crossplane`, `provider`, and the `function`. [`on_a_bare_machine`] gives only a [`Machine`], for scenarios that start
//!   less, a single [`Cluster`] for instance.
//! - A [`Cluster`] applies, gets, lists, edits and deletes by [`Kind`] and name, `namespace/name` where there is a
//!   namespace; unknown fields are refused. [`Cluster::client`] serves for everything else.
//! - [`Cluster::acting_as`] is a cluster with the rights of a service account and no others, and [`Cluster::audit`] is
//!   every request that a cluster answered, by whom. By these, an [`attribution::Path`] says which steps waited for our
//!   operators, and which for others.
//! - An [`Operator`] is a real one of others, run on a [`Cluster`], and [`Keystone`] a real one too.
//! - A cluster has no node until it is given one, a [`Node`], on which pods really run, of any [`Image`] that is offered
//!   there. Without, what pods would do is for the scenario to simulate, by [`Cluster::set_status`] for instance. A [`Cloud`] is
//!   such a cluster with all that OpenStack's services need besides themselves, and our operators. A [`Ceph`] runs there, too.
//! - A [`claims::Site`] is a [`Lab`] with our definitions and Compositions, on which claims are made;
//!   [`claims::RunningOperators`] are our operators there, and [`Pods`] what a kubelet would report.
//! - A [`claims::CloudSite`] is such a site whose claims become clouds in pods, and [`playground`] keeps one for people.
//! - A [`GitHost`] serves repositories under the names of their real hosts, for [`Operator::flux`].
//! - A [`Site`] is a cluster in which everything but our operator is simulated, for scenarios of very many control planes, or of
//!   one again and again; a [`Gate`] counts what our operator writes, and shuts in the middle of it.
//! - Nothing sleeps for a fixed time: [`eventually`] tries until an attempt succeeds, and shows what the last one saw when
//!   time is up; [`throughout_until`] is for what must stay until something comes that follows it, [`throughout`] for what must
//!   stay for a time, and [`never_until`] and [`never()`] for what no noise excuses.
//! - A [`CloudState`] is what a cloud has of a pool's hosts, which must never be in two clouds.
//! - An [`OpenStack`] is the real Keystone, Glance and Placement of one release, asked what they read.
//! - Each scenario has a network namespace, a folder and processes of its own, all gone when it ends, however it ends. A
//!   failed scenario shows the ends of all logs, and its logs, events and objects are kept in `target/lab`.
//! - Tools are built on first use, see [`tools`]; `cargo xtask test` builds ahead what its scenarios need. So are images, from
//!   Containerfiles, Debian and PyPI.

pub mod attribution;
mod audit;
mod browser;
mod cache;
mod ceph;
mod charts;
pub mod claims;
mod cloud;
mod cloud_state;
mod cluster;
mod crossplane;
mod definitions;
mod documents;
mod download;
mod eventually;
mod evidence;
mod function;
mod garden;
mod gate;
mod git;
mod golang;
mod image;
mod keystone;
mod keystones;
mod lab;
mod machine;
mod manifests;
mod memory;
mod namespace;
mod node;
mod nova;
mod objects;
mod openstack;
mod operator;
mod output;
mod patience;
mod pki;
pub mod playground;
mod pods;
mod probe;
mod provider;
mod python;
mod runner;
mod say;
mod scale;
mod scenario;
mod secret_store;
mod serve;
mod shoots;
mod simulated_operators;
mod site;
mod space;
pub mod suite;
pub mod tools;
mod waits;
mod watched;

pub use anyhow::{Context, Result, bail, ensure};
pub use audit::Request;
pub use browser::Browser;
pub use c5c3_program::Build;
pub use ceph::Ceph;
pub use cloud::Cloud;
pub use cloud_state::CloudState;
pub use cluster::{Cluster, Etcd};
pub use crossplane::{Crossplane, Release, SYSTEM};
pub use eventually::{
    eventually, minutes, never, never_until, seconds, throughout, throughout_until,
};
pub use evidence::results;
pub use function::{Function, FunctionProgram, our_program};
pub use garden::{Garden, SHOOT};
pub use gate::Gate;
pub use git::{GitHost, Repository};
pub use image::Image;
pub use keystone::Keystone;
pub use kube::core::DynamicObject;
pub use lab::Lab;
pub use machine::{Machine, Program};
pub use manifests::documents;
pub use namespace::take_address;
pub use node::{Container, Fabric, Hypervisor, Node};
pub use nova::{Nova, NovaState};
pub use objects::{Kind, condition, find_condition, is, kind};
pub use openstack::{ConfigurationFile, Fault, OpenStack, Wrong, tables};
pub use operator::Operator;
pub use output::output;
pub use pki::{Authority, Identity};
pub use pods::Pods;
pub use probe::page;
pub use provider::{NAMESPACED_OBJECT, OBJECT, Provider};
pub use runner::main as run_scenarios;
pub use scale::{TIME_SCALE, scaled};
pub use scenario::{in_lab, on_a_bare_machine};
pub use secret_store::SecretStore;
pub use serve::Server;
pub use shoots::{shoot_faults, shoot_faults_without_gates};
pub use simulated_operators::{SimulatedOperators, simulated_kinds, simulated_status};
pub use site::{Replicas, Site};
