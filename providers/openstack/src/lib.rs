//! What all OpenStack services share, as pure functions of an [`ObservedState`](provider_composer::ObservedState): oslo.config files,
//! databases, APIs, migrations, certificates, policies.
//!
//! A service's composer starts with a [`Service`]. A [`Prerequisite`] is ready, or has a progress. While a
//! prerequisite isn't ready, running components stay unchanged.

mod access;
mod agents;
mod autoscaling;
mod backups;
mod bucket;
mod cache;
mod ceph;
mod certificate_authority;
mod component;
mod config;
mod context;
mod database;
mod definition;
mod dependency;
mod deployment;
mod digest;
mod exposure;
mod external;
mod extra;
mod files;
pub mod graph;
mod host;
mod image;
mod jobs;
mod mask;
mod messaging;
mod metrics;
mod migration;
mod network;
mod objects;
mod options;
mod oslo_config;
mod outdated;
mod phase;
mod pod;
mod policy;
mod prerequisite;
mod purge;
mod registry;
mod release;
mod reverse_proxy;
mod rollout;
mod rotations;
mod schedule;
mod served;
mod service;
mod succession;
mod tags;
mod tls;
mod unshared;
mod users;
mod uwsgi;
mod volume;

pub use access::KeystoneAccess;
pub use agents::{AgentSecret, NOVA_CONF, compute_configuration};
pub use backups::{BACKED_UP, Backups};
pub use bucket::Bucket;
pub use cache::{CacheServer, cache, configure as configure_cache};
pub use ceph::{Pool, check_pools};
pub use certificate_authority::CertificateAuthority;
pub use component::{Component, Scale};
pub use config::{Config, Section};
pub use context::{ServiceContext, Workload};
pub use database::{AUTHORITY as DATABASE_AUTHORITY, Database};
pub use definition::*;
pub use dependency::dependencies;
pub use deployment::Pods;
pub use digest::{digest, uuid};
pub use external::after;
pub use extra::{Extra, Owned};
pub use files::{Files, Mounted, shown, shown_in_map};
pub use host::{in_cluster, shortest};
pub use jobs::{Jobs, ObservedCronJob, Schedule, Task};
pub use mask::masked;
pub use messaging::Messaging;
pub use metrics::PORT as METRICS;
pub use migration::{Migration, Migrations};
pub use network::pods_of;
pub use objects::{
    amounts, budget, config_map, container_port, labelled, opaque, pod_template, selector,
    service_port, tcp_probe,
};
pub use options::{Known, Options, Unknown};
pub use outdated::outdated_options;
pub use phase::Phase;
pub use pod::tolerations;
pub use pod::{
    Mount, PodSettings, Program, Source, confined, default_profile, domains, empty_dir,
    field_variable, pod_of, requirements, secret_volume, spread, spread_revision, unescalated,
    variable, with_ephemeral_storage,
};
pub use policy::Policy;
pub use prerequisite::{All, Prerequisite, all, holds, progress, said, sum};
pub use purge::{Purge, Tables, note_purged};
pub use registry::*;
pub use release::{NoRelease, PublishedImage, Release, table};
pub use reverse_proxy::{ReverseProxy, UPSTREAM_PORT};
pub use rollout::keep_deployment;
pub use rotations::{Rotations, number, numbered};
pub use schedule::Cron;
pub use service::{Service, uses, uses_of_jobs};
pub use succession::{Succession, secret_of};
pub use tls::{
    CERTIFICATE, CERTIFICATES_RENEWED, apply_certificate, authority, issuance, issued, overdue,
    unissued,
};
pub use unshared::is_data_shared;
pub use users::{exclusive, replaced, user_credentials};
pub use uwsgi::{REQUEST_TIMEOUT, Workers};
pub use volume::{Claimed, claim, kept_volume, lasting_volume};
