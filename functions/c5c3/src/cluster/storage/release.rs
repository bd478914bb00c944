//! The release of Ceph, which is never lowered: its daemons don't read what those of a later one have written.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use function_protocol::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::CEPH;
use crate::cluster::versions;
use crate::observed::last_observed;

/// The image of Ceph's daemons.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// The image that is composed.
    pub image: String,
    /// Why it isn't the one that is wanted, if it isn't.
    pub note: Option<String>,
}

/// The CephCluster as it was last observed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CephCluster {
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    ceph_version: CephVersion,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CephVersion {
    image: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    ceph: Ceph,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ceph {
    versions: Versions,
}

/// How many daemons run each version, by what `ceph version` prints of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Versions {
    overall: BTreeMap<String, IgnoredAny>,
}

/// The image that is wanted, or the one that the pool has, where a daemon runs a later release.
pub fn accepted(wanted: &str, request: &Request) -> Release {
    let observed: Option<CephCluster> = last_observed(request, CEPH).ok().flatten();
    let observed = observed.unwrap_or_default();
    let running = observed.status.ceph.versions.overall.into_keys();
    let running: Vec<String> = running.collect();
    held(wanted, &observed.spec.ceph_version.image, &running)
}

fn held(wanted: &str, present: &str, running: &[String]) -> Release {
    let is_later = |release: &&str| {
        let wanted = tag(wanted).map(leading_version);
        wanted.is_some_and(|wanted| versions::compare(wanted, release) == Some(Ordering::Less))
    };
    let running = running
        .iter()
        .filter_map(|printed| printed.strip_prefix("ceph version "));
    match running.map(leading_version).find(is_later) {
        Some(release) if !present.is_empty() => Release {
            image: present.to_owned(),
            note: Some(format!(
                "a daemon runs {release}, from which Ceph can't return to {wanted}: set ceph.image of the Composition's input to an image \
                 of {release} or later"
            )),
        },
        _ => Release {
            image: wanted.to_owned(),
            note: None,
        },
    }
}

/// The tag of an image.
fn tag(image: &str) -> Option<&str> {
    let (name, _digest) = image.split_once('@').unwrap_or((image, ""));
    let (_, name) = name.rsplit_once('/').unwrap_or(("", name));
    Some(name.split_once(':')?.1)
}

/// The version that a text begins with, such as 20.2.5 of `v20.2.5-20260801`.
fn leading_version(text: &str) -> &str {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    text[..end.unwrap_or(text.len())].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str = "ceph version 20.2.5 (5a1d0c) tentacle (stable)";

    #[rstest::rstest]
    #[case::later("ceph:v20.2.6")]
    #[case::same("mirror:5000/ceph:20.2.5")]
    #[case::other_build("quay.io/ceph/ceph:v20.2.5-20260801@sha256:12")]
    #[case::line("ceph:v20")]
    #[case::word("ceph:tentacle")]
    #[case::digest("mirror:5000/ceph@sha256:12")]
    fn image_that_is_not_known_to_be_earlier_is_taken(#[case] wanted: &str) {
        let running = [
            "ceph version 19.2.3 (c92aeb) squid (stable)".to_owned(),
            RUNNING.to_owned(),
        ];
        let release = held(wanted, "ceph:v20.2.5", &running);
        assert_eq!((&*release.image, release.note), (wanted, None));
    }

    #[rstest::rstest]
    #[case::patch("ceph:v20.2.4")]
    #[case::major("quay.io/ceph/ceph:v19.2.3-20250717")]
    #[case::line("ceph:v19")]
    #[case::build_of_a_distribution("ceph:v20.2.4.el9")]
    fn image_of_an_earlier_release_than_a_daemon_runs_is_not_taken(#[case] wanted: &str) {
        let release = held(wanted, "ceph:v20.2.5", &[RUNNING.to_owned()]);
        assert_eq!(release.image, "ceph:v20.2.5");
        let note = release.note.unwrap();
        assert!(note.contains("a daemon runs 20.2.5"), "{note}");
    }

    #[test]
    fn image_that_never_ran_is_replaced_by_an_earlier_one() {
        let release = held("ceph:v20.2.5", "ceph:v99", &[RUNNING.to_owned()]);
        assert_eq!(release.image, "ceph:v20.2.5");
        assert_eq!(held("ceph:v19", "ceph:v20", &[]).image, "ceph:v19");
    }
}
