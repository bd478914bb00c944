//! A claim whose hypervisor pools are in several cells of Nova.

use std::collections::BTreeSet;

use crate::given::{assert_ready, assuming_ready, written};

const CLAIM: &str = "
apiVersion: c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {name: cloud, namespace: tenant}
spec:
  region: eu-de-1
  size: small
  hypervisorClusters: [hv-a, hv-b]
  cells: [{name: cell2, hypervisorClusters: [hv-b]}]
  storageClusters: [st]
";

/// The function names the Secrets, and nova-operator writes them.
#[test]
fn hypervisors_of_each_cell_get_the_secret_that_nova_writes_for_it() {
    let plan = written(CLAIM, &assuming_ready()).unwrap();
    assert_ready(&plan);
    let secrets = |kind: &str, cluster: &str| -> BTreeSet<String> {
        let keys = plan.applied.iter().map(|applied| &applied.key);
        let keys = keys.filter(|key| key.kind == kind && key.cluster == cluster);
        let names = keys.map(|key| key.name.clone());
        let names = names.filter(|name| name.starts_with("nova-") && name.ends_with("-compute"));
        names.collect()
    };
    let [first, second] = ["nova-cell1-compute", "nova-cell2-compute"].map(str::to_owned);
    let both = BTreeSet::from([first.clone(), second.clone()]);
    for kind in ["Secret", "PushSecret"] {
        assert_eq!(secrets(kind, "eu-de-1-control-plane"), both, "{kind}");
    }
    for (pool, own) in [("hv-a", first), ("hv-b", second)] {
        let own = BTreeSet::from([own]);
        assert_eq!(secrets("ExternalSecret", pool), own, "{pool}");
    }
}
