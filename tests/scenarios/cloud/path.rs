//! The steps from a claim, or from a ControlPlane, to what users wait for.

use jiff::Timestamp;
use lab::attribution::Moment::{Created, End, Last};
use lab::attribution::{Attribution, Names, Objects, Path, Step, merged};
use lab::{Cluster, Result};

/// The names of the ControlPlane and the share `production`, where one cluster has everything.
pub const PRODUCTION: Names = &[
    ("openstack/", ""),
    ("agents-production", "agents"),
    ("production", "share"),
];

/// The names of the claim `tenant-z/first` in the management cluster, ...
pub const MANAGEMENT: Names = &[("tenant-z/first", "claim"), ("infrastructure/", "pool/")];
/// ... in the cluster of its control plane, ...
pub const CONTROL_PLANE: Names = &[
    ("openstack-first/", ""),
    ("openstack-first", "openstack-first"),
];
/// ... in that of its hypervisors, which is also a storage cluster, ...
pub const HYPERVISORS: Names = &[
    ("openstack-first/", "pulled/"),
    ("agents-first", "agents"),
    ("rook-ceph/first-", "ceph/"),
    ("first", "share"),
];
/// ... and in the other storage cluster.
pub const STORAGE: Names = &[("rook-ceph/first-", "ceph/")];

/// Keystone, the catalogue, then Glance and Placement side by side.
pub const IMAGES: Path = Path {
    begin: CONTROL_PLANES,
    parts: &[TO_IMAGES],
    limit: 3.0,
};

/// All services and the agents on hypervisors, then the first server.
pub const SERVER: Path = Path {
    begin: CONTROL_PLANES,
    parts: &[TO_IMAGES, TO_COMPUTE, TO_AGENTS, TO_SERVER],
    limit: 5.0,
};

/// The pools, all services and the agents, then the tests of a claim with `verify`.
pub const CLAIM: Path = Path {
    begin: ("openstackclusters", "claim"),
    parts: &[TO_CONTROL_PLANE, TO_IMAGES, TO_COMPUTE, TO_AGENTS, TO_READY],
    limit: 5.0,
};

const CONTROL_PLANES: Objects = ("controlplanes", "");
const SHARE: Objects = ("hypervisorshares", "share");
const TEMPEST_USER: Objects = ("users.openstack.k-orc.cloud", "tempest");
/// The scenario's Job that boots servers.
const BOOT: Objects = ("jobs", "boot");
/// The Secret for nova-compute, as a claim transfers it to another cluster.
const TRANSFER: Objects = ("pushsecrets", "nova-cell1-compute");

const TO_CONTROL_PLANE: &[Step] = &[
    Step::by_others(
        "requests to the pools",
        "Crossplane",
        Created(("objects", "claim")),
    ),
    Step::by_others(
        "the pools' answers",
        "Crossplane, Gardener and Rook",
        Last(
            &[
                ("controlplaneclusters", "pool/"),
                ("hypervisorclusters", "pool/"),
                ("storageclusters", "pool/"),
            ],
            Some(("namespaces", "openstack")),
        ),
    ),
    Step::by_others(
        "the namespace",
        "Crossplane",
        Created(("namespaces", "openstack")),
    ),
    Step::by_others("the ControlPlane", "Crossplane", Created(CONTROL_PLANES)),
    Step::by_others(
        "users in Ceph",
        "Crossplane",
        Created(("cephclients", "ceph/")),
    ),
    Step::by_others(
        "Glance's key in Ceph",
        "Rook and External Secrets",
        Created(("secrets", "ceph-glance")),
    ),
    Step::by_others("the HypervisorShare", "Crossplane", Created(SHARE)),
];

const TO_IMAGES: &[Step] = &[
    Step::by_operators(
        "MariaDB",
        &[CONTROL_PLANES],
        Created(("mariadbs", "openstack-db")),
    ),
    Step::by_operators(
        "Keystone",
        &[
            ("mariadbs", "openstack-db"),
            ("statefulsets", "openstack-memcached"),
        ],
        Created(("keystones", "keystone")),
    ),
    Step::by_operators(
        "Keystone's tables",
        &[
            ("databases", "keystone"),
            ("users.k8s.mariadb.com", "keystone"),
            ("grants", "keystone"),
        ],
        Created(("jobs", "keystone-db-sync")),
    ),
    Step::by_operators(
        "Keystone's first entries and pods",
        &[("jobs", "keystone-db-sync")],
        Created(("jobs", "keystone-bootstrap")),
    ),
    Step::by_operators(
        "the catalogue",
        &[("jobs", "keystone-bootstrap"), ("deployments", "keystone")],
        Created(("domains", "default")),
    ),
    Step::by_operators(
        "K-ORC's own credential",
        &[("users.openstack.k-orc.cloud", "admin"), ("roles", "admin")],
        Created(("applicationcredentials", "k-orc")),
    ),
    Step::by_operators(
        "users of the services",
        &[
            ("applicationcredentials", "k-orc"),
            ("secrets", "k-orc-clouds"),
        ],
        Created(("users.openstack.k-orc.cloud", "placement")),
    )
    .asking("Keystone"),
    Step::by_operators(
        "their credentials",
        &[
            ("users.openstack.k-orc.cloud", "glance"),
            ("users.openstack.k-orc.cloud", "placement"),
        ],
        Created(("applicationcredentials", "placement-1")),
    )
    .asking("Keystone"),
    Step::by_operators(
        "Glance and Placement",
        &[
            ("applicationcredentials", "glance-1"),
            ("applicationcredentials", "placement-1"),
        ],
        Created(("placements", "placement")),
    ),
    Step::by_operators(
        "Glance's tables",
        &[
            ("databases", "glance"),
            ("users.k8s.mariadb.com", "glance"),
            ("grants", "glance"),
            ("secrets", "ceph-glance"),
        ],
        Created(("jobs", "glance-db-sync")),
    ),
    Step::by_operators(
        "Placement's tables",
        &[
            ("databases", "placement"),
            ("users.k8s.mariadb.com", "placement"),
            ("grants", "placement"),
        ],
        Created(("jobs", "placement-db-sync")),
    ),
    Step::by_operators(
        "Glance's pods",
        &[("jobs", "glance-db-sync")],
        Created(("deployments", "glance")),
    ),
    Step::by_operators(
        "Placement's pods",
        &[("jobs", "placement-db-sync")],
        Created(("deployments", "placement")),
    ),
];

const TO_COMPUTE: &[Step] = &[
    Step::by_operators(
        "OVN's databases",
        &[CONTROL_PLANES, ("secrets", "ovn-")],
        Created(("statefulsets", "ovn-nb")),
    ),
    Step::by_operators(
        "Cinder",
        &[
            ("applicationcredentials", ""),
            ("rabbitmqclusters", "openstack-rabbitmq"),
        ],
        Created(("cinders", "cinder")),
    ),
    Step::by_operators(
        "Cinder's tables",
        &[
            ("databases", "cinder"),
            ("users.k8s.mariadb.com", "cinder"),
            ("grants", "cinder"),
            ("permissions", "cinder"),
        ],
        Created(("jobs", "cinder-db-sync")),
    ),
    Step::by_operators(
        "Cinder's pods",
        &[("jobs", "cinder-db-sync")],
        Created(("deployments", "cinder")),
    ),
    Step::by_operators(
        "Neutron",
        &[
            ("applicationcredentials", ""),
            ("rabbitmqclusters", "openstack-rabbitmq"),
            ("statefulsets", "ovn-"),
            ("deployments", "ovn-northd"),
        ],
        Created(("neutrons", "neutron")),
    ),
    Step::by_operators(
        "Neutron's tables",
        &[
            ("databases", "neutron"),
            ("users.k8s.mariadb.com", "neutron"),
            ("grants", "neutron"),
            ("permissions", "neutron"),
            ("secrets", "neutron-keystone-credentials"),
        ],
        Created(("jobs", "neutron-db-sync")),
    ),
    Step::by_operators(
        "Neutron's pods",
        &[("jobs", "neutron-db-sync")],
        Created(("deployments", "neutron")),
    ),
    Step::by_operators(
        "Nova",
        &[
            ("applicationcredentials", ""),
            ("rabbitmqclusters", "openstack-rabbitmq"),
            ("deployments", "glance"),
            ("deployments", "placement"),
        ],
        Created(("novas", "nova")),
    ),
    Step::by_operators(
        "the tables of Nova's API",
        &[
            ("databases", "nova"),
            ("users.k8s.mariadb.com", "nova"),
            ("grants", "nova"),
            ("permissions", "nova"),
        ],
        Created(("jobs", "nova-api-sync")),
    ),
    Step::by_operators(
        "Nova's cells",
        &[("jobs", "nova-api-sync")],
        Created(("jobs", "nova-cell-map")),
    ),
    Step::by_operators(
        "Nova's conductor",
        &[("jobs", "nova-cell-map"), ("jobs", "nova-cell-sync")],
        Created(("deployments", "nova-conductor")),
    ),
    Step::by_operators(
        "Nova's scheduler and APIs",
        &[("deployments", "nova-conductor")],
        Created(("deployments", "nova-scheduler")),
    ),
];

const TO_AGENTS: &[Step] = &[
    Step::by_operators(
        "leases of hypervisors",
        &[SHARE],
        Created(("namespaces", "agents")),
    ),
    Step::by_operators(
        "nova-compute on hypervisors",
        &[
            ("jobs", "nova-cell-map"),
            ("secrets", "pulled/nova-cell1-compute"),
        ],
        Created(("daemonsets", "agents/nova-compute")),
    ),
];

const TO_SERVER: &[Step] = &[
    Step::by_operators(
        "the hypervisors work",
        &[("pods", "agents/")],
        Last(&[SHARE], Some(BOOT)),
    )
    .asking("Nova"),
    Step::by_others(
        "the tenant's first call",
        "the scenario's checks",
        Created(BOOT),
    ),
    Step::by_others("the first server is ACTIVE", "Neutron, Nova and QEMU", End),
];

const TO_READY: &[Step] = &[
    Step::by_operators(
        "Nova's state in the ControlPlane",
        &[("deployments", "nova")],
        Last(&[CONTROL_PLANES], Some(TRANSFER)),
    ),
    Step::by_others(
        "a PushSecret for nova-compute",
        "Crossplane",
        Created(TRANSFER),
    ),
    Step::by_others(
        "the Secret in the hypervisors' cluster",
        "Crossplane and External Secrets",
        Created(("secrets", "pulled/nova-cell1-compute")),
    ),
    Step::by_operators(
        "the hypervisors work",
        &[("pods", "agents/")],
        Last(&[SHARE], Some(TEMPEST_USER)),
    )
    .asking("Nova"),
    Step::by_operators(
        "the ControlPlane is Ready",
        &[
            ("deployments", ""),
            ("statefulsets", ""),
            ("flavors", ""),
            ("users.openstack.k-orc.cloud", "tenant"),
        ],
        Last(&[CONTROL_PLANES], Some(TEMPEST_USER)),
    )
    .asking("Keystone and Neutron"),
    Step::by_others(
        "the tenant's clouds.yaml",
        "Crossplane and External Secrets",
        Created(("secrets", "claim-clouds")),
    ),
    Step::by_operators("Tempest's user", &[CONTROL_PLANES], Created(TEMPEST_USER)),
    Step::by_operators(
        "its credential",
        &[TEMPEST_USER],
        Created(("applicationcredentials", "tempest-1")),
    )
    .asking("Keystone"),
    Step::by_operators(
        "tests",
        &[("applicationcredentials", "tempest-1")],
        Created(("jobs", "tempest-run")),
    ),
    Step::by_operators(
        "results of the tests",
        &[("jobs", "tempest-run"), ("pods", "tempest-run")],
        Last(&[CONTROL_PLANES], None),
    ),
    Step::by_others(
        "the claim is Ready",
        "Crossplane",
        Last(&[("openstackclusters", "claim")], None),
    ),
];

/// Prints when each step until the end of a path was done and whom it waited for, by the audit logs of these clusters.
pub fn report(clusters: &[(&Cluster, Names)], path: &Path, end: Timestamp) -> Result<Attribution> {
    let mut logs = Vec::new();
    for (cluster, names) in clusters {
        logs.push((cluster.audit()?, *names));
    }
    let attribution = path.attribute(&merged(logs), end);
    println!("{attribution}");
    Ok(attribution)
}
