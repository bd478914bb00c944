//! Scenarios: their names, suites, time budgets, and the tools and images that they need.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::crossplane::Release;
use crate::image::Image;
use crate::tools::{Module, Tool};
use crate::{browser, python, seconds};

/// An end-to-end test, by the macro [`scenario!`](crate::scenario).
#[derive(Debug)]
pub struct Scenario {
    /// The path of its function, beginning with the crate.
    pub path: &'static str,
    /// When it runs.
    pub suite: Suite,
    /// Seconds that it takes on two cores at most. One that takes longer is shown, one that takes twice as long is stopped.
    pub budget: u64,
    /// Whether it measures, and runs with no other beside it.
    pub alone: bool,
    /// Whether a failed `assert!` means that something forbidden happened, so that no second run excuses it.
    pub strict: bool,
    /// What must be built before it starts.
    pub needs: &'static [&'static [Need]],
    /// The function.
    pub run: fn() -> Result<()>,
}

/// When a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// In every run: API servers and Crossplane, no pods.
    Gate,
    /// With `--cloud`: pods, older versions of Crossplane, the options of every release.
    Cloud,
    /// With `--all` only, or by name.
    Long,
    /// By its whole name only, as other scenarios do.
    Fixture,
}

impl Suite {
    /// What `--list` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Cloud => "cloud",
            Self::Long => "long",
            Self::Fixture => "fixture",
        }
    }
}

/// Something that is built once and kept in the cache folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A program.
    Tool(Tool),
    /// A Python environment of `tests/tools`.
    Python(&'static str),
    /// The acceptance tests' image.
    Judges,
    /// The object store's image.
    S3,
    /// MariaDB's image.
    MariaDb,
    /// RabbitMQ's image for its cluster operator.
    RabbitMq,
    /// Memcached's image.
    Memcached,
    /// Ceph's image.
    Ceph,
    /// A web browser.
    Chromium,
    /// What virtual machines run.
    Guest,
    /// The image of mariadb-operator.
    MariadbOperatorImage,
    /// The image of OVN and Open vSwitch.
    Ovn,
    /// The image of libvirt and QEMU.
    Libvirt,
    /// The smallest image.
    Tiny,
    /// The image of an OpenStack service and release.
    Service(&'static str, &'static str),
}

/// API servers.
pub const CLUSTER: &[Need] = &[
    Need::Tool(Tool::Etcd),
    Need::Tool(Tool::KubeApiserver),
    Need::Tool(Tool::KubeControllerManager),
];

/// What [`Garden::Oldest`](crate::Garden) needs.
pub const OLDEST_GARDENER: &[Need] = &[Need::Tool(Tool::GardenerOldest)];

/// What [`Garden::Newest`](crate::Garden) needs.
pub const NEWEST_GARDENER: &[Need] = &[Need::Tool(Tool::GardenerNewest)];

/// What validates Shoots without Gardener's API server.
pub const SHOOTS: &[Need] = &[Need::Tool(Tool::ShootOldest), Need::Tool(Tool::ShootNewest)];

/// A [`Lab`](crate::Lab) with Crossplane 1.20, without Gardener.
pub const LAB_1_20: &[Need] = &lab(Release::V1_20);

/// A [`Lab`](crate::Lab) with Crossplane 2.4, without Gardener.
pub const LAB_2_4: &[Need] = &lab(Release::V2_4);

const fn lab(release: Release) -> [Need; 5] {
    [
        Need::Tool(Tool::Etcd),
        Need::Tool(Tool::KubeApiserver),
        Need::Tool(Tool::KubeControllerManager),
        core(release),
        Need::Tool(release.provider()),
    ]
}

/// A [`Node`](crate::Node).
pub const NODE: &[Need] = &[
    Need::Tool(Tool::Etcd),
    Need::Tool(Tool::KubeApiserver),
    Need::Tool(Tool::KubeControllerManager),
    Need::Tool(Tool::Crane),
    Need::Tool(Tool::Kubelet),
    Need::Tool(Tool::KubeScheduler),
    Need::Tool(Tool::KubeProxy),
    Need::Tool(Tool::CoreDns),
    Need::Tiny,
];

/// The external operators in the cluster of a control plane, and the servers that they run.
pub const EXTERNAL_OPERATORS: &[Need] = &[
    Need::Tool(Tool::Helm),
    Need::Tool(Tool::MariadbOperator),
    Need::Tool(Tool::KOrc),
    Need::MariaDb,
    Need::Memcached,
    Need::Tool(Tool::RabbitmqOperator),
    Need::Tool(Tool::RabbitmqTopologyOperator),
    Need::RabbitMq,
];

/// The needs of a scenario with servers.
pub const COMPUTE: &[Need] = &[
    Need::Tool(Tool::CertManager),
    Need::Service("keystone", "2025.2"),
    Need::Service("glance", "2025.2"),
    Need::Service("placement", "2025.2"),
    Need::Service("neutron", "2025.2"),
    Need::Service("nova", "2025.2"),
    Need::Service("cinder", "2025.2"),
    Need::Ceph,
    Need::Ovn,
    Need::Libvirt,
    Need::Guest,
];

/// What a [`CloudSite`](crate::claims::CloudSite) needs beside these, a [`Lab`](crate::Lab) and a [`Node`](crate::Node).
pub const CLOUD_SITE: &[Need] = &[
    Need::Tool(Tool::ExternalSecrets),
    Need::Tool(Tool::KubeRouter),
    Need::Tool(Tool::Traefik),
];

/// What [`Operator::flux`](crate::Operator::flux) needs.
pub const FLUX: &[Need] = &[
    Need::Tool(Tool::Helm),
    Need::Tool(Tool::SourceController),
    Need::Tool(Tool::KustomizeController),
    Need::Tool(Tool::HelmController),
];

impl Scenario {
    /// Its name: the module and the function, for instance `claims::claims_on_1_20`.
    pub fn name(&self) -> &'static str {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
    }

    /// How long it may take.
    pub fn budget(&self) -> Duration {
        seconds(self.budget)
    }

    /// Whether a name on the command line means it: its own, that of a module around it, or that of its function.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        if self.suite == Suite::Fixture {
            return self.name() == name;
        }
        let rest = self.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            || self.name().rsplit("::").next() == Some(name)
    }
}

impl Need {
    /// Builds it if it isn't in the cache yet.
    pub fn prepare(self) -> Result<()> {
        let prepared = match self {
            Self::Tool(tool) => tool.path().map(drop),
            Self::Python(name) => python::environment(name).map(drop),
            Self::Judges => Image::judges().map(drop),
            Self::S3 => Image::s3().map(drop),
            Self::MariaDb => Image::mariadb().map(drop),
            Self::MariadbOperatorImage => Image::mariadb_operator().map(drop),
            Self::RabbitMq => Image::rabbitmq().map(drop),
            Self::Memcached => Image::memcached().map(drop),
            Self::Ceph => Image::ceph().map(drop),
            Self::Chromium => browser::install(),
            Self::Guest => Image::guest().map(drop),
            Self::Ovn => Image::ovn().map(drop),
            Self::Libvirt => Image::libvirt().map(drop),
            Self::Tiny => Image::tiny().map(drop),
            Self::Service(service, release) => Image::of_service(service, release).map(drop),
        };
        prepared.with_context(|| format!("cannot prepare {self:?}"))
    }

    /// The folder that pins what it is built from, if it is built by Go, which takes the processor; the rest mostly waits for downloads.
    pub(crate) fn folder(self) -> Option<&'static str> {
        match self {
            Self::Tool(tool) => Some(tool.folder()),
            _ => None,
        }
    }
}

/// Downloads the modules whose files scenarios read.
///
/// # Errors
/// When `go` is missing or can't download one.
pub(crate) fn download_modules() -> Result<()> {
    for module in Module::ALL {
        module
            .folder()
            .with_context(|| format!("cannot download {module:?}"))?;
    }
    Ok(())
}

/// Crossplane's core of one release.
pub const fn core(release: Release) -> Need {
    Need::Tool(release.tool())
}

/// Declares a scenario: its suite, whether it runs `alone` or is `strict`, its budget in seconds, its function, and what it needs.
#[macro_export]
macro_rules! scenario {
    ($suite:ident, $($rest:tt)+) => {
        $crate::scenario!(@ $suite, false, false, $($rest)+)
    };
    ($suite:ident alone, $($rest:tt)+) => {
        $crate::scenario!(@ $suite, true, false, $($rest)+)
    };
    ($suite:ident strict, $($rest:tt)+) => {
        $crate::scenario!(@ $suite, false, true, $($rest)+)
    };
    (@ $suite:ident, $alone:literal, $strict:literal, $budget:literal s, $($path:ident)::+, [$($needs:expr),* $(,)?]) => {
        $crate::suite::Scenario {
            path: concat!(module_path!(), $("::", stringify!($path)),+),
            suite: $crate::suite::Suite::$suite,
            budget: $budget,
            alone: $alone,
            strict: $strict,
            needs: &[$($needs),*],
            run: $($path)::+,
        }
    };
}
