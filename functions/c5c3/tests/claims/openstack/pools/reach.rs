//! Whether agents in the clusters of hypervisor pools reach their control plane: by load balancers alone, which need encryption.

use super::*;

const UNENCRYPTED: &str = "spec.tls.enabled is false, and agents of hypervisor pool hv-pool-a reach the control plane by encrypted \
                           connections only: create another OpenStackCluster without that field, or disable nova";

fn unencrypted(mut call: Call) -> Call {
    call.composite["spec"]["tls"] = json!({ "enabled": false });
    call
}

/// A claim that was Ready, with a share that no longer is.
fn unready() -> Call {
    let (call, outcome) = with_networks(call("customer-b-staging")).running();
    call.applied(&outcome, |name, manifest| match name {
        "share-hv-pool-a" => json!({ "conditions": [{
            "type": "Ready", "status": "False", "message": "waits for a Secret",
        }] }),
        _ => well(name, manifest),
    })
}

/// Status, reason and message of HypervisorsReady, and whether a person has to change something.
fn said(outcome: &Outcome) -> ([&str; 3], bool) {
    let (status, reason, message) = &outcome.conditions["HypervisorsReady"];
    let stalled = outcome.conditions.get("Stalled");
    let is_stalled = stalled.is_some_and(|(status, ..)| status == "True");
    let said = [status, reason, message].map(String::as_str);
    (said, is_stalled)
}

#[test]
fn claim_without_encryption_is_refused_while_its_agents_need_it() {
    let new = unencrypted(call("customer-b-staging"));
    assert_eq!(new.run().fatal.as_deref(), Some(UNENCRYPTED));
    let (encrypted, _) = running("customer-b-staging");
    assert_eq!(
        unencrypted(encrypted).run().fatal.as_deref(),
        Some(UNENCRYPTED)
    );

    let mut without_servers = new.clone();
    without_servers.composite["spec"]["services"] = json!({ "nova": false });
    assert_eq!(without_servers.run().fatal, None);

    let mut in_one_cluster = new;
    let mut own = pool("hv-pool-a");
    own["metadata"]["name"] = json!("eu-de-1-control-plane");
    in_one_cluster.world.push(ready(composite(own), &[]));
    in_one_cluster.composite["spec"]["hypervisorClusters"] = json!(["eu-de-1-control-plane"]);
    assert_eq!(in_one_cluster.run().fatal, None);
}

#[test]
fn control_plane_that_runs_without_encryption_says_what_agents_lack() {
    let mut call = unencrypted(unready());
    let object = call.observed.get_mut("control-plane").unwrap();
    let global = "/spec/forProvider/manifest/spec/global";
    object.pointer_mut(global).unwrap()["tls"] = json!({ "enabled": false });
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    let expected = ["False", "Unsupported", UNENCRYPTED];
    assert_eq!(said(&outcome), (expected, true));
    let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
    assert!(network["hypervisorNetworks"].is_array());
    assert_eq!(network.get("hypervisorAccess"), None);
}

#[test]
fn site_without_load_balancers_for_agents_is_said_to_have_none() {
    let call = unready();
    assert_eq!(
        said(&call.run()),
        (
            [
                "False",
                "NotReady",
                "waiting for HypervisorShare in hv-pool-a (waits for a Secret)"
            ],
            false
        )
    );
    let without = |mut call: Call| {
        let input = call.input.as_mut().and_then(Value::as_object_mut).unwrap();
        input.remove("hypervisorAccess").unwrap();
        call.run()
    };
    assert_eq!(
        said(&without(call)),
        (
            [
                "False",
                "NotOffered",
                "the site has no load balancers by which agents of hypervisor pool hv-pool-a reach the control plane: ask the \
                 platform team for hypervisorAccess in the Composition's input"
            ],
            true
        )
    );
    let (call, _) = running("customer-b-staging");
    assert_eq!(said(&without(call)), (["True", "Ready", ""], false));
}
