//! Kubeconfigs from the first request to their renewals, in a cluster in memory with a simulated Gardener.

#![cfg(test)]

mod stage;

use c5c3_api::shoot_kubeconfig::ShootRole;
use jiff::SignedDuration;
use k8s_openapi::ByteString;
use provider_composer::{Dependency, Gauge, ObservedState, Operator};
use provider_kubeconfig::ShootKubeconfig;
use provider_kubeconfig::garden::{Answer, Issued};
use rstest::rstest;
use serde_json::json;

use stage::{Stage, hours, secret, target};

const ALERTS: &str = include_str!("../../../../package/charts/c5c3-library/templates/_alerts.tpl");
const REFUSED: &str = "shoots.core.gardener.cloud \"hv-pool-a\" is forbidden";

#[test]
fn kubeconfig_is_requested_as_the_spec_says() {
    let mut stage = Stage::issued();
    let queries = stage.garden.0.borrow().1.clone();
    assert_eq!(queries.len(), 1);
    let query = &queries[0];
    assert_eq!(query.access.kubeconfig, "of the garden");
    assert_eq!(
        (query.namespace.as_str(), query.shoot.as_str()),
        ("garden-c5c3", "hv-pool-a")
    );
    assert_eq!((query.role, query.seconds), (ShootRole::Admin, 86_400));
    assert_eq!(stage.ready(), (true, "Ready".to_owned(), String::new()));

    let secret = stage.cluster.get(&target()).unwrap();
    assert_eq!(secret["type"], "Opaque");
    let metadata = &secret["metadata"];
    assert_eq!(metadata["ownerReferences"][0]["kind"], "ShootKubeconfig");
    assert_eq!(
        metadata["annotations"],
        json!({
            "gardener.c5c3.io/request": "Admin of garden-c5c3/hv-pool-a for 86400 s",
            "gardener.c5c3.io/issued": "2026-02-01T00:00:00Z",
            "gardener.c5c3.io/expires": "2026-02-02T00:00:00Z",
            "gardener.c5c3.io/sha256": "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e",
        })
    );
    let mut status = stage.cluster.get(&stage.key).unwrap()["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "expires": "2026-02-02T00:00:00Z", "nextRenewal": "2026-02-01T01:00:00Z", "observedGeneration": 1,
        })
    );
    let reads_target = stage
        .cluster
        .dependencies()
        .contains(&Dependency::Object(target()));
    assert!(reads_target);
    stage.cluster.wait(SignedDuration::from_mins(24));
    let composed = stage.cluster.reconcile(&ShootKubeconfig, &stage.key);
    let desired = composed.unwrap().unwrap().desired;
    let next = stage.cluster.now() + SignedDuration::from_mins(36);
    assert_eq!(desired.requeue_at, Some(next));
}

/// The Shoot may have been created again by then, or have other authorities.
#[test]
fn kubeconfig_is_replaced_every_hour() {
    let mut stage = Stage::issued();
    stage.cluster.wait(SignedDuration::from_mins(59));
    let before = stage.cluster.writes();
    stage.reconcile();
    assert_eq!(stage.cluster.writes(), before);
    assert_eq!(stage.requests(), 1);

    stage.cluster.wait(SignedDuration::from_mins(1));
    stage.issue("second", hours(24));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("second"));
    assert_eq!(stage.requests(), 2);
    assert!(stage.ready().0);
}

#[test]
fn kubeconfig_stays_while_gardener_is_unavailable() {
    let mut stage = Stage::issued();
    stage.answer(None);
    stage.cluster.wait(hours(9));
    let before = stage.cluster.writes();
    stage.reconcile();
    assert_eq!(stage.requests(), 2);
    assert_eq!(stage.cluster.writes(), before, "the next one isn't due");
    stage.cluster.wait(hours(1));
    stage.reconcile();
    let (is_ready, reason, message) = stage.ready();
    assert!(!is_ready);
    assert_eq!(reason, "SystemUnavailable");
    assert_eq!(
        message,
        "the kubeconfig in Secret hv-pool-a-kubeconfig is valid until 2026-02-02T00:00:00Z, and can't be renewed: gardener \
         doesn't answer"
    );
    assert!(!stage.is_warned());

    for (wait, says) in [(3, "is valid until"), (12, "expired at")] {
        stage.cluster.wait(hours(wait));
        stage.reconcile();
        let (_, reason, message) = stage.ready();
        assert_eq!(reason, "RenewalOverdue");
        assert!(message.contains(says), "{message}");
        assert!(stage.is_warned());
        assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
    }

    stage.issue("second", hours(24));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("second"));
    assert!(stage.ready().0);
}

/// C5C3KubeconfigNotRenewed is of each ShootKubeconfig by itself.
#[test]
fn kubeconfig_exports_that_it_is_overdue_until_it_is_renewed() {
    let overdue = |stage: &Stage| {
        let gauges = gauges(stage);
        assert_eq!(gauges.len(), 1);
        assert!(ALERTS.contains(&format!("({}{{{{ $pods }}}})", gauges[0].metric.name)));
        gauges[0].value
    };
    let mut stage = Stage::issued();
    stage.answer(None);
    stage.cluster.wait(hours(11));
    assert_eq!(overdue(&stage), 0);
    stage.cluster.wait(hours(1));
    assert_eq!(overdue(&stage), 1);
    stage.issue("second", hours(24));
    assert_eq!(overdue(&stage), 1, "the Secret isn't written yet");
    stage.reconcile();
    assert_eq!(overdue(&stage), 0);
}

fn gauges(stage: &Stage) -> Vec<Gauge> {
    let observed = ObservedState::new(&stage.cluster, stage.cluster.now());
    let resource = stage.cluster.get(&stage.key).unwrap();
    match ShootKubeconfig.composed(resource, &observed) {
        Ok(composed) => composed.desired.gauges,
        Err(failure) => failure.gauges().to_vec(),
    }
}

#[rstest]
fn kubeconfig_stays_while_gardener_refuses_another(#[values(1, 10)] wait: i64) {
    let mut stage = Stage::issued();
    stage.answer(Some(Answer::Refused(REFUSED.to_owned())));
    stage.cluster.wait(hours(wait));
    stage.reconcile();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "SystemRefused");
    assert!(message.ends_with(REFUSED), "{message}");
    assert!(stage.is_warned());
    assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
}

#[rstest]
#[case::unavailable(None, "SystemUnavailable", false)]
#[case::refused(Some(Answer::Refused(REFUSED.to_owned())), "SystemRefused", true)]
#[case::without_shoot(Some(Answer::Pending("not found".to_owned())), "WaitingForShoot", false)]
fn first_kubeconfig_is_waited_for(
    #[case] answer: Option<Answer>,
    #[case] expected: &str,
    #[case] is_warned: bool,
) {
    let mut stage = Stage::new();
    stage.answer(answer);
    stage.reconcile();
    let (is_ready, reason, _) = stage.ready();
    assert_eq!((is_ready, reason.as_str()), (false, expected));
    assert_eq!(stage.is_warned(), is_warned);
    assert_eq!(stage.kubeconfig(), None);
    stage.issue("first", hours(24));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
}

#[test]
fn missing_access_to_gardener_is_named() {
    let mut stage = Stage::bare();
    stage.reconcile();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "WaitingForSecret");
    assert!(message.contains("Secret requester"), "{message}");
    assert_eq!(stage.requests(), 0);

    stage.put_secret(&secret("requester"), "config", "of the garden");
    stage.reconcile();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "InvalidSecret");
    assert!(
        message.contains("has no value under the key kubeconfig"),
        "{message}"
    );
}

#[test]
fn secret_of_another_owner_is_left_alone() {
    let mut stage = Stage::new();
    stage.put_secret(&target(), "kubeconfig", "by hand");
    stage.issue("first", hours(24));
    stage.reconcile();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "NameTaken");
    assert!(message.contains("hv-pool-a-kubeconfig"), "{message}");
    assert_eq!(stage.kubeconfig().as_deref(), Some("by hand"));
    assert_eq!(stage.requests(), 0);
    assert!(stage.is_warned());

    stage.cluster.delete(&target());
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
}

#[test]
fn secret_that_cannot_be_read_is_not_written() {
    let mut stage = Stage::issued();
    stage.cluster.set_readable(&target(), false);
    stage.issue("second", hours(24));
    stage.cluster.wait(hours(20));
    stage.reconcile();
    assert_eq!(stage.ready().1, "LookupFailed");
    assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
    assert_eq!(stage.requests(), 1);
}

#[rstest]
#[case::deleted(|stage: &mut Stage| stage.cluster.delete(&target()))]
#[case::without_kubeconfig(|stage: &mut Stage| stage.cluster.edit(&target(), |secret| secret["data"] = json!({})))]
#[case::written_by_hand(|stage: &mut Stage| {
    let by_hand = ByteString(b"by hand".to_vec());
    stage.cluster.edit(&target(), |secret| secret["data"]["kubeconfig"] = json!(by_hand));
})]
#[case::without_times(|stage: &mut Stage| {
    stage.cluster.edit(&target(), |secret| secret["metadata"]["annotations"] = json!({}));
})]
#[case::without_digest(|stage: &mut Stage| {
    let annotation = "gardener.c5c3.io/sha256";
    stage.cluster.edit(&target(), |secret| {
        secret["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation);
    });
})]
#[case::for_another_shoot(|stage: &mut Stage| {
    let key = stage.key.clone();
    stage.cluster.edit(&key, |subject| subject["spec"]["shoot"]["name"] = json!("hv-pool-b"));
})]
#[case::of_another_role(|stage: &mut Stage| {
    let key = stage.key.clone();
    stage.cluster.edit(&key, |subject| subject["spec"]["role"] = json!("Viewer"));
})]
fn kubeconfig_that_is_not_as_wanted_is_requested_at_once(#[case] change: fn(&mut Stage)) {
    let mut stage = Stage::issued();
    change(&mut stage);
    stage.issue("second", hours(24));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("second"));
    assert!(stage.ready().0);
}

#[test]
fn clock_that_is_set_back_or_forward_has_the_kubeconfig_renewed() {
    for jump in [-2, 30] {
        let mut stage = Stage::issued();
        stage.cluster.wait(hours(jump));
        stage.issue("second", hours(24));
        stage.reconcile();
        assert_eq!(stage.kubeconfig().as_deref(), Some("second"), "{jump}");
        assert_eq!(stage.requests(), 2, "{jump}");
    }
}

#[test]
fn clock_behind_gardeners_delays_no_renewal() {
    let mut stage = Stage::new();
    stage.issue("first", hours(24 * 3));
    stage.reconcile();
    stage.cluster.wait(hours(10));
    stage.issue("second", hours(24 * 3));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("second"));
}

#[test]
fn clock_ahead_of_gardeners_is_named_and_the_kubeconfig_stays() {
    let mut stage = Stage::issued();
    stage.cluster.wait(hours(10));
    stage.issue("second", hours(-1));
    stage.reconcile();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "SystemRefused");
    assert!(
        message.ends_with("correct the clock here or in Gardener"),
        "{message}"
    );
    assert_eq!(stage.kubeconfig().as_deref(), Some("first"));

    let before = stage.cluster.writes();
    stage.issue("third", hours(-2));
    stage.reconcile();
    assert_eq!(stage.ready().2, message);
    assert_eq!(stage.cluster.writes(), before);
}

#[test]
fn expiry_that_is_edited_by_hand_delays_no_renewal() {
    let mut stage = Stage::issued();
    stage.cluster.edit(&target(), |secret| {
        secret["metadata"]["annotations"]["gardener.c5c3.io/expires"] =
            json!("2099-01-01T00:00:00Z");
    });
    stage.reconcile();
    assert_eq!(stage.requests(), 1);
    stage.cluster.wait(hours(10));
    stage.issue("second", hours(24));
    stage.reconcile();
    assert_eq!(stage.kubeconfig().as_deref(), Some("second"));
}

#[test]
fn secret_is_deleted_with_its_owner() {
    let mut stage = Stage::issued();
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    assert!(stage.cluster.get(&target()).is_none());
    stage.reconcile();
    assert!(stage.cluster.get(&target()).is_none());
}

#[test]
fn kubeconfigs_are_in_no_status_event_or_debug_text() {
    let mut stage = Stage::issued();
    stage.answer(None);
    stage.cluster.wait(hours(20));
    stage.reconcile();
    let answer = Answer::Issued(Issued {
        kubeconfig: "first".to_owned(),
        issued: String::new(),
        expires: "2026".to_owned(),
    });
    let queries = format!("{:?}", stage.garden.0.borrow().1);
    let said = format!(
        "{}{:?}{answer:?}{queries}",
        stage.cluster.get(&stage.key).unwrap(),
        stage.cluster.events()
    );
    for hidden in ["first", "of the garden"] {
        assert!(!said.contains(hidden), "{said}");
    }
}
