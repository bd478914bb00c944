//! What a control plane waits for on its way to Ready: others, or us.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use lab::{Context, Request, Result, ensure};

/// What our own share of the way may take, in seconds.
const OURS: f64 = 3.0;

/// How programs of ours are called by the API server.
const OUR_OPERATORS: &str = "system:serviceaccount:c5c3-system:";

/// Objects of a kind whose names begin with the same.
type Objects = (&'static str, &'static str);

/// Something that we go on with, as soon as the last of what it waits for is there.
struct Step {
    what: &'static str,
    /// The last word of others about these counts, ...
    awaited: &'static [Objects],
    /// ... until one of these is made.
    made: Objects,
}

/// The way of Keystone, of the catalogue, and then of Glance and Placement, which go side by side.
const STEPS: [Step; 10] = [
    Step {
        what: "MariaDB",
        awaited: &[("controlplanes", "production")],
        made: ("mariadbs", "openstack-db"),
    },
    Step {
        what: "Keystone",
        awaited: &[
            ("mariadbs", "openstack-db"),
            ("statefulsets", "openstack-memcached"),
        ],
        made: ("keystones", "keystone"),
    },
    Step {
        what: "Keystone's tables",
        awaited: &[
            ("databases", "keystone"),
            ("users", "keystone"),
            ("grants", "keystone"),
        ],
        made: ("jobs", "keystone-db-sync"),
    },
    Step {
        what: "Keystone's first entries and pods",
        awaited: &[("jobs", "keystone-db-sync")],
        made: ("jobs", "keystone-bootstrap"),
    },
    Step {
        what: "the catalogue",
        awaited: &[("jobs", "keystone-bootstrap"), ("deployments", "keystone")],
        made: ("domains", "default"),
    },
    Step {
        what: "Glance and Placement",
        awaited: &[
            ("applicationcredentials", "glance-1"),
            ("applicationcredentials", "placement-1"),
        ],
        made: ("placements", "placement"),
    },
    Step {
        what: "Glance's tables",
        awaited: &[
            ("databases", "glance"),
            ("users", "glance"),
            ("grants", "glance"),
        ],
        made: ("jobs", "glance-db-sync"),
    },
    Step {
        what: "Placement's tables",
        awaited: &[
            ("databases", "placement"),
            ("users", "placement"),
            ("grants", "placement"),
        ],
        made: ("jobs", "placement-db-sync"),
    },
    Step {
        what: "Glance's pods",
        awaited: &[("jobs", "glance-db-sync")],
        made: ("deployments", "glance"),
    },
    Step {
        what: "Placement's pods",
        awaited: &[("jobs", "placement-db-sync")],
        made: ("deployments", "placement"),
    },
];

/// Tells the way, and how much of it we took.
pub fn tell(requests: &[Request]) -> Result<()> {
    let writes: Vec<&Request> = requests.iter().filter(|request| request.writes()).collect();
    let begun = made(&writes, ("controlplanes", "production"))?;
    let mut table = String::from("          at    others      ours\n");
    let (mut before, mut ours) = (begun, SignedDuration::ZERO);
    for step in &STEPS {
        let made = made(&writes, step.made)?;
        let said = step
            .awaited
            .iter()
            .filter_map(|objects| said(&writes, *objects, made));
        let said = said
            .max()
            .with_context(|| format!("nobody has said anything of what {} waits for", step.what))?;
        let reaction = made.duration_since(said);
        writeln!(
            table,
            "{:>10.1} s {:>7.1} s {:>7.2} s  {}",
            made.duration_since(begun).as_secs_f64(),
            said.duration_since(before).as_secs_f64().max(0.0),
            reaction.as_secs_f64(),
            step.what
        )?;
        ours += reaction;
        before = made;
    }
    println!("{table}");
    let ours = ours.as_secs_f64();
    ensure!(
        ours < OURS,
        "{ours:.2} s of the way are ours, and {OURS} s are allowed:\n{table}"
    );
    Ok(())
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

/// Whether a request is about one of them, in the control plane's namespace. Users of Keystone aren't users of a database.
fn is_of(request: &Request, (resource, name): Objects) -> bool {
    let plural = request.resource.split('/').next();
    let own = request.name.strip_prefix("openstack/");
    plural == Some(resource)
        && own.is_some_and(|own| own.starts_with(name))
        && (resource != "users" || request.group == "k8s.mariadb.com")
}
