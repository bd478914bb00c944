//! Whatever happens, in whatever order.

use proptest::prelude::*;
use serde_json::json;

use super::{begun, credentials, glance, handed_out, lives, rotation, spec, status, take_up};
use crate::stage::{Stage, application_credential, secret};

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    Look,
    Rotate,
    Korc,
    TakeUp,
    Wait(i64),
    LoseStatus,
    DropRotation,
    PutRotation,
    Unavailable,
    Unreadable,
    Readable,
    KeystoneDown,
    KeystoneUp,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Look),
        4 => Just(Event::Rotate),
        3 => Just(Event::Korc),
        2 => Just(Event::TakeUp),
        3 => (-5i64..15).prop_map(Event::Wait),
        1 => Just(Event::LoseStatus),
        1 => Just(Event::DropRotation),
        1 => Just(Event::PutRotation),
        1 => Just(Event::Unavailable),
        1 => Just(Event::Unreadable),
        2 => Just(Event::Readable),
        1 => Just(Event::KeystoneDown),
        1 => Just(Event::KeystoneUp),
    ]
}

fn happen(stage: &mut Stage, event: &Event) {
    match event {
        Event::Look => stage.look(),
        Event::Rotate => stage.rotate(),
        Event::Korc => stage.korc(),
        Event::TakeUp => take_up(stage),
        Event::Wait(days) => stage.wait(*days),
        Event::LoseStatus => stage.cluster.set_status(&rotation("glance"), json!({})),
        Event::DropRotation => stage.cluster.delete(&rotation("glance")),
        Event::PutRotation => {
            let key = rotation("glance");
            if stage.cluster.get(&key).is_none() {
                stage.cluster.put(&key, &spec(10, 2, 1));
            }
        }
        Event::Unavailable => {
            let newest = credentials(stage).last().map(|name| (*name).to_owned());
            let key = application_credential(&newest.unwrap());
            let object = stage.cluster.get(&key).unwrap();
            if let Some(id) = object["status"]["id"].as_str() {
                let (id, generation) = (id.to_owned(), object["metadata"]["generation"].clone());
                stage.say(&key, &id, "False", &generation);
            }
        }
        Event::Unreadable | Event::Readable => {
            let readable = matches!(event, Event::Readable);
            let secret = secret("glance-keystone-credentials");
            for key in [application_credential("glance-1"), glance(), secret] {
                stage.cluster.set_readable(&key, readable);
            }
        }
        Event::KeystoneDown => stage.keystone.borrow_mut().is_up = false,
        Event::KeystoneUp => stage.keystone.borrow_mut().is_up = true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_service_is_never_without_a_credential_that_works(
        events in proptest::collection::vec(event(), 1..80),
    ) {
        let mut stage = begun();
        for event in &events {
            happen(&mut stage, event);
            prop_assert!(credentials(&stage).len() <= 2, "{:?}", credentials(&stage));
            let used = stage.cluster.get(&glance()).unwrap();
            let used = used["status"]["applicationCredential"].as_str().unwrap();
            prop_assert!(lives(&stage, used), "Glance runs with {used}, which is gone");
            let handed_out = handed_out(&stage);
            prop_assert!(lives(&stage, &handed_out), "{handed_out} was handed out and is gone");
        }
        // When all goes well again, a rotation ends.
        happen(&mut stage, &Event::Readable);
        happen(&mut stage, &Event::KeystoneUp);
        happen(&mut stage, &Event::PutRotation);
        for name in ["glance-1", "glance-2", "glance-3"] {
            let key = application_credential(name);
            let Some(object) = stage.cluster.get(&key) else { continue };
            if let Some(id) = object["status"]["id"].as_str() {
                let (id, generation) = (id.to_owned(), object["metadata"]["generation"].clone());
                stage.say(&key, &id, "True", &generation);
            }
        }
        stage.wait(400);
        let begun_with = handed_out(&stage);
        let mut settled = 0;
        for _ in 0..8 {
            stage.settle();
            take_up(&mut stage);
            stage.settle();
            let is_ready = stage.condition(&rotation("glance"), "Ready").0 == "True";
            settled += usize::from(is_ready && credentials(&stage).len() == 1);
            stage.wait(2);
        }
        prop_assert!(settled > 0, "{:?}", status(&stage));
        prop_assert_ne!(handed_out(&stage), begun_with);
    }
}
