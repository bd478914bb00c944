//! Each step of the end of a lease.

use c5c3_api::hypervisor::LeasePhase::{Draining, Releasing, Wiping};
use provider_hypervisor_pool::lifecycle::{Blocker, Evidence, Nova, Step, step};

/// A node of which everything is reported that ends its lease.
const EMPTY: Evidence = Evidence {
    is_ready: true,
    nova: Nova::Removed,
    has_no_domain: true,
    has_no_agent: true,
    is_wiped: true,
};

#[test]
fn node_that_is_empty_passes_through_every_phase() {
    assert_eq!(step(Draining, &EMPTY), Step::Enter(Releasing));
    assert_eq!(step(Releasing, &EMPTY), Step::Enter(Wiping));
    assert_eq!(step(Wiping, &EMPTY), Step::Free);
    let disabled = Evidence {
        nova: Nova::Disabled(0),
        ..EMPTY
    };
    assert_eq!(step(Draining, &disabled), Step::Enter(Releasing));
}

#[test]
fn node_that_still_got_a_server_is_drained_again() {
    let evidence = Evidence {
        nova: Nova::Disabled(1),
        has_no_agent: false,
        ..EMPTY
    };
    assert_eq!(step(Releasing, &evidence), Step::Enter(Draining));
}

#[test]
fn each_missing_report_holds_the_lease() {
    let nova = |nova| Evidence { nova, ..EMPTY };
    let draining = [
        (nova(Nova::Silent), Blocker::Disabled),
        (nova(Nova::Disabled(2)), Blocker::Servers(2)),
        (
            Evidence {
                has_no_domain: false,
                ..EMPTY
            },
            Blocker::Domains,
        ),
    ];
    let releasing = [
        (
            Evidence {
                has_no_agent: false,
                ..EMPTY
            },
            Blocker::Agents,
        ),
        (nova(Nova::Silent), Blocker::Removed),
        (nova(Nova::Disabled(0)), Blocker::Removed),
    ];
    let wiping = [(
        Evidence {
            is_wiped: false,
            ..EMPTY
        },
        Blocker::Wipe,
    )];
    let cases = [
        (Draining, &draining[..]),
        (Releasing, &releasing),
        (Wiping, &wiping),
    ];
    for (phase, cases) in cases {
        for (evidence, blocker) in cases {
            assert_eq!(step(phase, evidence), Step::Stay(*blocker), "{phase:?}");
        }
        let dead = Evidence {
            is_ready: false,
            ..EMPTY
        };
        assert_eq!(step(phase, &dead), Step::Stay(Blocker::Node), "{phase:?}");
        assert!(
            matches!(step(phase, &Evidence::default()), Step::Stay(_)),
            "{phase:?}"
        );
    }
}
