//! VLANs of physical networks, divided among shares.

use std::collections::BTreeMap;

use c5c3_api::VlanRange;
use proptest::prelude::*;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::vlans::{Claim, assign};
use serde_json::{Value, json};

use crate::fixture::*;

fn networks(cluster: &Cluster, share: &str) -> Value {
    answer(cluster, share).status["physicalNetworks"].clone()
}

fn put_range(cluster: &mut Cluster, range: &str) {
    let network = json!({ "name": "physnet1", "bridge": "br-ex", "vlanRange": range });
    let flat = json!({ "name": "flat", "bridge": "br-flat" });
    put_pool(
        cluster,
        json!({ "mode": "Shared", "vlansPerShare": 50, "physicalNetworks": [network, flat] }),
    );
}

#[test]
fn shares_get_disjoint_vlans_that_stay_and_are_told_when_none_are_left() {
    let mut cluster = cluster();
    put_range(&mut cluster, "100-199");
    settle(&mut cluster, "prod");
    put_share(&mut cluster, "staging", json!({}));
    put_share(&mut cluster, "third", json!({}));
    settle(&mut cluster, "staging");
    settle(&mut cluster, "third");
    let flat = json!({ "name": "flat", "bridge": "br-flat" });
    let with = |range: &str| {
        let own = json!({ "name": "physnet1", "bridge": "br-ex", "vlanRange": range });
        json!([own, flat])
    };
    assert_eq!(networks(&cluster, "prod"), with("100-149"));
    assert_eq!(networks(&cluster, "staging"), with("150-199"));
    assert_eq!(networks(&cluster, "third"), json!([flat]));
    assert_eq!(
        condition(&cluster, "third", "VlansAssigned").join(": "),
        "False: VlansExhausted: no VLANs of physnet1 are left for this share: widen vlanRange in the HypervisorPool, lower vlansPerShare, or delete a \
         share"
    );
    // A share whose label is none gets VLANs as soon as there are some, and no other moves.
    put_range(&mut cluster, "50-199");
    settle(&mut cluster, "third");
    assert_eq!(networks(&cluster, "third"), with("50-99"));
    assert_eq!(networks(&cluster, "prod"), with("100-149"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn parts_are_disjoint_and_never_move_and_none_is_refused_that_fits(
        events in prop::collection::vec((0..8_u8, any::<bool>(), 1..40_u16), 1..40),
        range in (1..60_u16, 0..120_u16),
    ) {
        let range = VlanRange::new(range.0, range.0 + range.1).unwrap();
        let mut parts: BTreeMap<String, Option<VlanRange>> = BTreeMap::new();
        for (share, is_created, size) in events {
            match is_created {
                true => drop(parts.entry(format!("share-{share}")).or_default()),
                false => drop(parts.remove(&format!("share-{share}"))),
            }
            let claims: Vec<Claim> = parts.iter().map(|(share, part)| Claim { share: share.clone(), part: *part }).collect();
            let assigned = assign(range, size, &claims);
            for (share, part) in assigned {
                prop_assert_eq!(parts.get(&share), Some(&None), "it had none");
                parts.insert(share, part);
                if let Some(part) = part {
                    prop_assert!(part.first() >= range.first() && part.last() <= range.last());
                    prop_assert_eq!(part.last() - part.first() + 1, size);
                }
            }
            let held: Vec<VlanRange> = parts.values().flatten().copied().collect();
            let users = |id: u16| held.iter().filter(|part| part.first() <= id && id <= part.last()).count();
            prop_assert!((range.first()..=range.last()).all(|id| users(id) <= 1), "{held:?}");
            if parts.values().any(Option::is_none) {
                let mut run = 0;
                for id in range.first()..=range.last() {
                    run = if users(id) == 0 { run + 1 } else { 0 };
                    prop_assert!(run < size, "a part of {size} was free: {held:?}");
                }
            }
        }
    }
}
