//! Host aggregates.

use std::collections::BTreeMap;

use provider_hypervisor_pool::nova::{Change, Question};
use serde_json::json;

use crate::Test;
use crate::answers::answer;
use crate::server::{HOST, call, observe, server, unavailable};

#[tokio::test]
async fn aggregates_are_read_and_changed() -> Test {
    let (access, log) = server(answer).await?;
    assert_eq!(
        observe(&access, Question::Aggregates).await?,
        json!([{
            "id": 7, "uuid": "u", "name": "hv-pool-a", "zone": "zone-a", "metadata": { "tier": "premium" }, "hosts": ["node-a"],
        }])
    );
    let (name, host) = ("hv-pool-a".to_owned(), "node-b".to_owned());
    let metadata = BTreeMap::from([("tier".to_owned(), None)]);
    for change in [
        Change::CreateAggregate {
            name: name.clone(),
            zone: None,
        },
        Change::UpdateAggregate {
            id: 8,
            name,
            zone: Some("zone-b".to_owned()),
        },
        Change::SetMetadata { id: 8, metadata },
        Change::AddHost { id: 8, host },
        Change::DeleteAggregate { id: 9 },
    ] {
        call(&access, change).await?;
    }
    assert_eq!(
        log.lock().unwrap()[1..],
        [
            r#"POST /v2.1/os-aggregates compute 2.69 {"aggregate": Object {"name": String("hv-pool-a")}}"#,
            r#"PUT /v2.1/os-aggregates/8 compute 2.69 {"aggregate": Object {"name": String("hv-pool-a"), "availability_zone": String("zone-b")}}"#,
            r#"POST /v2.1/os-aggregates/8/action compute 2.69 {"set_metadata": Object {"metadata": Object {"tier": Null}}}"#,
            r#"POST /v2.1/os-aggregates/8/action compute 2.69 {"add_host": Object {"host": String("node-b")}}"#,
            "DELETE /v2.1/os-aggregates/9 compute 2.69",
        ]
    );
    Ok(())
}

/// Nova answers 400 to a zone that it refuses for an aggregate, and 409 to one that it refuses for a host, and to a name
/// (nova/api/openstack/compute/aggregates.py).
#[tokio::test]
async fn changes_of_aggregates_that_nova_refuses_name_the_cause() -> Test {
    let (access, _) = server(answer).await?;
    let host = || "node-b".to_owned();
    let update = |id| Change::UpdateAggregate {
        id,
        name: "hv-pool-a".to_owned(),
        zone: Some("zone-b".to_owned()),
    };
    let zone = |what: &str| {
        format!(
            "Nova at {HOST} refuses {what}: a host with servers can't change its availability zone, and none is in two; delete or move its \
             servers first, and see `openstack aggregate list --long`"
        )
    };
    let taken =
        format!("Nova at {HOST} has another aggregate hv-pool-a: rename or delete one of the two");
    for (change, why) in [
        (update(7), zone("the change of an aggregate")),
        (
            Change::AddHost {
                id: 7,
                host: host(),
            },
            zone("the addition of a host to an aggregate"),
        ),
        (
            Change::RemoveHost {
                id: 7,
                host: host(),
            },
            zone("the removal of a host from an aggregate"),
        ),
        (update(10), taken),
    ] {
        let refusal = call(&access, change).await;
        assert_eq!(refusal, unavailable(why));
    }
    Ok(())
}
