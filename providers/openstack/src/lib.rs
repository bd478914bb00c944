//! What all OpenStack services share, as pure functions over a [`ObservedState`](provider_composer::ObservedState): configuration as
//! oslo.config reads it, database, API, migrations, certificates, policies.
//!
//! A service's composer is a recipe over a [`Service`]. What has to be there first is [`Awaited`]: it is there, or it is
//! known how far it has come. Nothing that runs goes because something is awaited: it stays as it is.

mod access;
mod autoscaling;
mod awaited;
mod cache;
mod component;
mod config;
mod context;
mod database;
mod definition;
mod dependency;
mod deployment;
mod digest;
mod exposure;
mod extra;
mod files;
mod host;
mod image;
mod jobs;
pub mod manifest;
mod mask;
mod messaging;
mod metrics;
mod migration;
mod network;
mod options;
mod pod;
mod policy;
mod release;
mod reverse_proxy;
mod schedule;
mod secret;
mod service;
mod tls;
mod uwsgi;

pub use access::KeystoneAccess;
pub use awaited::{All, Awaited, all, holds, progress};
pub use cache::{cache, configure as configure_cache};
pub use component::{Component, Scale};
pub use config::{Config, Section};
pub use context::{ServiceContext, Workload};
pub use database::{AUTHORITY as DATABASE_AUTHORITY, Database};
pub use definition::{
    CINDER, ComponentDefinition, ComponentKind, GLANCE, KEYSTONE, NEUTRON,
    NEUTRON_OVN_MAINTENANCE_WORKER, NEUTRON_PERIODIC_WORKERS, NEUTRON_RPC_SERVER, NOVA,
    NOVA_CONDUCTOR, NOVA_METADATA, NOVA_NOVNCPROXY, NOVA_SCHEDULER, PLACEMENT, SERVICES,
    ServiceDefinition, keystone_credentials,
};
pub use deployment::{CERTIFICATE, Pods};
pub use digest::digest;
pub use extra::{Extra, Owned};
pub use files::{Files, Mounted, shown};
pub use jobs::{Jobs, Schedule, Task};
pub use mask::masked;
pub use messaging::Messaging;
pub use migration::{Migration, Migrations, Phase};
pub use options::{Known, Options, Unknown};
pub use pod::{
    CONNECTED, Mount, PodSettings, Program, Source, confined, pod_of, requirements, selector,
    spread,
};
pub use policy::Policy;
pub use release::{NoRelease, Release, table};
pub use reverse_proxy::{BEHIND, ReverseProxy};
pub use schedule::Cron;
pub use secret::Values;
pub use service::{Service, uses};
pub use tls::authority;
pub use uwsgi::Workers;
