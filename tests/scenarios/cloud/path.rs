//! What a control plane waits for on its way to Ready: others, or this project's operators.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use lab::{Cloud, Context, Request, Result, ensure};

/// How programs of ours are called by the API server.
const OUR_OPERATORS: &str = "system:serviceaccount:c5c3-system:";

/// Objects of a kind, as kubectl names it, whose names begin with the same.
type Objects = (&'static str, &'static str);

/// A sequence of steps, and how many seconds of them may be the operators' own.
pub struct Path {
    /// What is created first.
    begin: Objects,
    steps: &'static [Step],
    limit: f64,
}

/// Something that we go on with, as soon as the last of what it waits for is there.
struct Step {
    what: &'static str,
    /// The last word of others about these counts, ...
    waits_for: &'static [Objects],
    /// ... until one of these is made.
    made: Objects,
    /// Who has to answer us meanwhile, if somebody does: that time isn't ours alone.
    asked: Option<&'static str>,
}

/// Keystone, the catalogue, then Glance and Placement side by side.
pub const IMAGES: Path = Path {
    begin: ("controlplanes", "production"),
    steps: &FIRST,
    limit: 3.0,
};

/// Neutron and Nova, from their creation to the last of their components.
pub const COMPUTE: Path = Path {
    begin: ("neutrons", "neutron"),
    steps: &SECOND,
    limit: 5.0,
};

const SECOND: [Step; 6] = [
    Step {
        what: "Neutron's tables",
        waits_for: &[
            ("databases", "neutron"),
            ("users.k8s.mariadb.com", "neutron"),
            ("grants", "neutron"),
            ("secrets", "neutron-keystone-credentials"),
        ],
        made: ("jobs", "neutron-db-sync"),
        asked: None,
    },
    Step {
        what: "Neutron's pods",
        waits_for: &[("jobs", "neutron-db-sync")],
        made: ("deployments", "neutron"),
        asked: None,
    },
    Step {
        what: "the tables of Nova's API",
        waits_for: &[
            ("novas", "nova"),
            ("databases", "nova"),
            ("users.k8s.mariadb.com", "nova"),
            ("grants", "nova"),
            ("permissions", "nova"),
        ],
        made: ("jobs", "nova-api-sync"),
        asked: None,
    },
    Step {
        what: "Nova's cells",
        waits_for: &[("jobs", "nova-api-sync")],
        made: ("jobs", "nova-cell-map"),
        asked: None,
    },
    Step {
        what: "Nova's conductor",
        waits_for: &[("jobs", "nova-cell-map"), ("jobs", "nova-cell-sync")],
        made: ("deployments", "nova-conductor"),
        asked: None,
    },
    Step {
        what: "Nova's scheduler and APIs",
        waits_for: &[("deployments", "nova-conductor")],
        made: ("deployments", "nova-scheduler"),
        asked: None,
    },
];

const FIRST: [Step; 13] = [
    Step {
        what: "MariaDB",
        waits_for: &[("controlplanes", "production")],
        made: ("mariadbs", "openstack-db"),
        asked: None,
    },
    Step {
        what: "Keystone",
        waits_for: &[
            ("mariadbs", "openstack-db"),
            ("statefulsets", "openstack-memcached"),
        ],
        made: ("keystones", "keystone"),
        asked: None,
    },
    Step {
        what: "Keystone's tables",
        waits_for: &[
            ("databases", "keystone"),
            ("users.k8s.mariadb.com", "keystone"),
            ("grants", "keystone"),
        ],
        made: ("jobs", "keystone-db-sync"),
        asked: None,
    },
    Step {
        what: "Keystone's first entries and pods",
        waits_for: &[("jobs", "keystone-db-sync")],
        made: ("jobs", "keystone-bootstrap"),
        asked: None,
    },
    Step {
        what: "the catalogue",
        waits_for: &[("jobs", "keystone-bootstrap"), ("deployments", "keystone")],
        made: ("domains", "default"),
        asked: None,
    },
    Step {
        what: "K-ORC's own credential",
        waits_for: &[("users.openstack.k-orc.cloud", "admin"), ("roles", "admin")],
        made: ("applicationcredentials", "k-orc"),
        asked: None,
    },
    Step {
        what: "users of the services",
        waits_for: &[
            ("applicationcredentials", "k-orc"),
            ("secrets", "k-orc-clouds"),
        ],
        made: ("users.openstack.k-orc.cloud", "placement"),
        asked: Some("Keystone"),
    },
    Step {
        what: "their credentials",
        waits_for: &[
            ("users.openstack.k-orc.cloud", "glance"),
            ("users.openstack.k-orc.cloud", "placement"),
        ],
        made: ("applicationcredentials", "placement-1"),
        asked: Some("Keystone"),
    },
    Step {
        what: "Glance and Placement",
        waits_for: &[
            ("applicationcredentials", "glance-1"),
            ("applicationcredentials", "placement-1"),
        ],
        made: ("placements", "placement"),
        asked: None,
    },
    Step {
        what: "Glance's tables",
        waits_for: &[
            ("databases", "glance"),
            ("users.k8s.mariadb.com", "glance"),
            ("grants", "glance"),
        ],
        made: ("jobs", "glance-db-sync"),
        asked: None,
    },
    Step {
        what: "Placement's tables",
        waits_for: &[
            ("databases", "placement"),
            ("users.k8s.mariadb.com", "placement"),
            ("grants", "placement"),
        ],
        made: ("jobs", "placement-db-sync"),
        asked: None,
    },
    Step {
        what: "Glance's pods",
        waits_for: &[("jobs", "glance-db-sync")],
        made: ("deployments", "glance"),
        asked: None,
    },
    Step {
        what: "Placement's pods",
        waits_for: &[("jobs", "placement-db-sync")],
        made: ("deployments", "placement"),
        asked: None,
    },
];

impl Path {
    /// Fine when so many seconds may be the operators' own, on a machine that does nothing else.
    pub fn allows(&self, ours: f64) -> Result<()> {
        ensure!(
            ours < self.limit,
            "{ours:.2} s are the operators' own, and {} s are allowed",
            self.limit
        );
        Ok(())
    }
}

/// Reports how long each step took, and returns how many seconds of it were the operators' own.
pub fn report(cloud: &Cloud, path: &Path) -> Result<f64> {
    let own = format!("{}/", cloud.namespace());
    let mut requests = cloud.cluster.audit()?;
    requests.retain(|request| request.writes() && request.name.starts_with(&own));
    for request in &mut requests {
        request.name.drain(..own.len());
    }
    let writes: Vec<&Request> = requests.iter().collect();
    let begun = made(&writes, path.begin)?;
    let mut table = String::from("          at    others      ours\n");
    let (mut before, mut ours) = (begun, SignedDuration::ZERO);
    for step in path.steps {
        let made = made(&writes, step.made)?;
        let said = step
            .waits_for
            .iter()
            .filter_map(|objects| said(&writes, *objects, made));
        let said = said
            .max()
            .with_context(|| format!("nobody has said anything of what {} waits for", step.what))?;
        let reaction = made.duration_since(said);
        writeln!(
            table,
            "{:>10.1} s {:>7.1} s {:>7.2} s  {}{}",
            made.duration_since(begun).as_secs_f64(),
            said.duration_since(before).as_secs_f64().max(0.0),
            reaction.as_secs_f64(),
            step.what,
            step.asked
                .map(|asked| format!(" (with {asked}'s answers)"))
                .unwrap_or_default(),
        )?;
        if step.asked.is_none() {
            ours += reaction;
        }
        before = made;
    }
    let ours = ours.as_secs_f64();
    println!(
        "{table}{ours:.2} s of {} s are the operators' own",
        path.limit
    );
    Ok(ours)
}

/// When the first of them was made.
fn made(writes: &[&Request], objects: Objects) -> Result<Timestamp> {
    let first = writes
        .iter()
        .find(|write| write.code == 201 && is_of(write, objects));
    let first = first.with_context(|| format!("no {} {} was made", objects.0, objects.1))?;
    Ok(first.time)
}

/// When others have said the last of them until then; whoever made it says something, too.
fn said(writes: &[&Request], objects: Objects, until: Timestamp) -> Option<Timestamp> {
    let others = writes.iter().filter(|write| {
        is_of(write, objects) && !write.user.starts_with(OUR_OPERATORS) && write.code < 300
    });
    others
        .map(|write| write.time)
        .filter(|time| *time < until)
        .max()
}

/// Whether a request is about one of them.
fn is_of(request: &Request, (kind, name): Objects) -> bool {
    let plural = request.resource.split('/').next().unwrap_or_default();
    (plural == kind || format!("{plural}.{}", request.group) == kind)
        && request.name.starts_with(name)
}
