use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use super::api::{
    Api, CLAIMS, HYPERVISOR_CLUSTERS, NODES, POOLS, SHARES, answer, get, object, page,
};
use crate::server::Viewers;
use crate::{Error, Options, kinds};

/// Two tenants, each with a claim in a namespace of its own.
fn tenants() -> Api {
    let claim = |tenant: &str| object(tenant, &format!("{tenant}-prod"), "True", "", json!({}));
    Api {
        objects: [(CLAIMS, vec![claim("tenant-a"), claim("tenant-b")])].into(),
        rights: Some(BTreeMap::from([
            (
                "Bearer token-a",
                vec!["/apis/c5c3.io/v1alpha1/namespaces/tenant-a/openstackclusters"],
            ),
            (
                "Bearer token-b",
                vec!["/apis/c5c3.io/v1alpha1/namespaces/tenant-b/openstackclusters"],
            ),
            ("Bearer platform", vec![CLAIMS]),
        ])),
        ..Api::default()
    }
}

fn by(authorization: &str, url: &str) -> Request<Body> {
    let request = Request::get(url).header("authorization", authorization);
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn viewer_sees_what_its_token_may_list_and_is_told_what_it_may_not() {
    let dashboard = tenants().dashboard(Viewers::Bearers);
    let seen = async |token: &str, url: &str| {
        let (status, _, text) = answer(&dashboard, by(&format!("Bearer {token}"), url)).await;
        let claims = ["tenant-a-prod", "tenant-b-prod"].map(|claim| text.contains(claim));
        let refused = text.contains("You may not list <code>openstackclusters.c5c3.io</code>");
        (status.as_u16(), claims, refused)
    };
    for (token, url, expected) in [
        ("platform", "/", (200, [true, true], false)),
        ("token-a", "/", (200, [false, false], true)),
        (
            "token-a",
            "/?namespace=tenant-a",
            (200, [true, false], false),
        ),
        (
            "token-a",
            "/?namespace=tenant-b",
            (200, [false, false], true),
        ),
        (
            "token-b",
            "/?namespace=tenant-b",
            (200, [false, true], false),
        ),
        ("other", "/", (401, [false, false], false)),
    ] {
        assert_eq!(seen(token, url).await, expected, "{token} {url}");
    }
}

#[tokio::test]
async fn request_without_one_token_is_refused_and_asks_the_cluster_nothing() {
    let api = tenants();
    let dashboard = api.dashboard(Viewers::Bearers);
    let twice = Request::get("/")
        .header("authorization", "Bearer token-a")
        .header("authorization", "Bearer platform")
        .body(Body::empty())
        .unwrap();
    let requests = [
        get("/"),
        by("Basic dG9rZW4=", "/"),
        by("Bearer ", "/"),
        by("Bearer a, Bearer b", "/"),
        twice,
    ];
    for request in requests {
        let asked = format!("{request:?}");
        let (status, headers, _) = answer(&dashboard, request).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{asked}");
        assert_eq!(headers["www-authenticate"], "Bearer");
    }
    assert_eq!(api.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn own_dashboard_answers_this_machine_only_and_forwards_no_header() {
    let api = Api {
        objects: [(CLAIMS, Vec::new())].into(),
        ..Api::default()
    };
    let dashboard = api.dashboard(Viewers::Own);
    let at = |host: &str| {
        let request = Request::get("/").header("host", host);
        let request = request.header("authorization", "Bearer stolen");
        request
            .header("impersonate-user", "admin")
            .body(Body::empty())
            .unwrap()
    };
    for host in ["localhost", "localhost:8090", "127.0.0.1:1", "[::1]:8090"] {
        let (status, _, _) = answer(&dashboard, at(host)).await;
        assert_eq!(status, StatusCode::OK, "{host}");
    }
    let asked: BTreeSet<String> = api.asked().into_iter().collect();
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert!(
        asked.iter().all(|asked| asked.starts_with("/apis/")),
        "{asked:?}"
    );
    for host in [
        "attacker.example.com",
        "127.0.0.1.example.com",
        "[::2]",
        "",
        "localhost.evil",
    ] {
        let (status, _, _) = answer(&dashboard, at(host)).await;
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
}

#[tokio::test]
async fn nothing_but_reading_pages_is_answered() {
    let api = Api {
        objects: [(CLAIMS, Vec::new())].into(),
        ..Api::default()
    };
    let dashboard = api.dashboard(Viewers::Own);
    let of = |method: &str, url: &str| {
        let request = Request::builder().method(method).uri(url);
        request
            .header("host", "localhost")
            .body(Body::empty())
            .unwrap()
    };
    for (method, url, expected) in [
        ("POST", "/", 405),
        ("DELETE", "/pools/a", 405),
        ("POST", "/style.css", 405),
        ("GET", "/pools/../secrets", 404),
        ("GET", "/favicon.ico", 404),
        ("GET", "/?namespace=a%0ab", 400),
        ("GET", "/style.css", 200),
        ("GET", "/", 200),
        ("HEAD", "/", 200),
    ] {
        let (status, headers, text) = answer(&dashboard, of(method, url)).await;
        assert_eq!(status.as_u16(), expected, "{method} {url}");
        assert_eq!(
            text.is_empty(),
            expected == 405 || method == "HEAD",
            "{method} {url}"
        );
        if expected != 405 && url != "/style.css" {
            let policies = [
                "content-security-policy",
                "x-content-type-options",
                "cache-control",
            ];
            assert_eq!(
                policies.map(|policy| headers[policy].to_str().unwrap()),
                [
                    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
                    "nosniff",
                    "no-store",
                ]
            );
        }
    }
}

#[tokio::test]
async fn page_that_is_loaded_again_and_again_costs_the_cluster_one_look() {
    let api = Api {
        objects: [(HYPERVISOR_CLUSTERS, Vec::new())].into(),
        ..Api::default()
    };
    let dashboard = api.dashboard(Viewers::Own);
    for _ in 0..100 {
        page(&dashboard, "/pools").await;
    }
    assert_eq!(
        api.asked(),
        [
            format!("{HYPERVISOR_CLUSTERS}?&labelSelector=&limit=100"),
            format!("{POOLS}?&labelSelector=&limit=100")
        ]
    );
}

#[tokio::test]
async fn ten_thousand_nodes_are_shown_a_part_at_a_time() {
    let node = |number: usize| {
        json!({
            "metadata": {"name": format!("hv-{number:05}"), "labels": {
                "node-role.kubernetes.io/hypervisor": "",
                "topology.kubernetes.io/zone": "zone-a",
                "c5c3.node-restriction.kubernetes.io/control-plane": format!("cp-{}", number % 200),
            }},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    let shares: Vec<Value> = (0..200)
        .map(|number| {
            json!({"name": format!("cp-{number}"), "controlPlane": format!("cp-{number}"), "hosts": 50, "due": 50})
        })
        .collect();
    let status = json!({"nodeCount": 10_000, "nodes": {"leased": 10_000}, "shares": shares});
    let share = |number: usize| object("", &format!("cp-{number}"), "True", "", json!({}));
    let api = Api {
        objects: [
            (POOLS, vec![object("", "hv-pool-a", "True", "", status)]),
            (SHARES, (0..200).map(share).collect()),
            (NODES, (0..10_000).map(node).collect()),
        ]
        .into(),
        ..Api::default()
    };
    let dashboard = api.dashboard(Viewers::Own);
    let first = page(&dashboard, "/pools/hv-pool-a").await;
    assert_eq!(first.matches(">hv-0").count(), 100);
    assert!(
        first.contains("<caption>100, and more after them</caption>"),
        "{first}"
    );
    let last = page(&dashboard, "/pools/hv-pool-a?table=nodes&continue=9900").await;
    assert_eq!(last.matches(">hv-0").count(), 100);
    assert!(
        last.contains("hv-09999") && !last.contains("Next page"),
        "{last}"
    );
    let lists = api.asked();
    assert_eq!(lists.len(), 5, "{lists:?}");
    assert!(
        lists.iter().all(|list| list.contains("limit=1")),
        "{lists:?}"
    );
}

#[test]
fn viewers_role_lists_what_the_dashboard_lists() {
    let role = include_str!("../../../examples/dashboard/rbac.yaml");
    let role: Value = serde_saphyr::from_str(role).unwrap();
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule["verbs"], json!(["list"]));
        for group in texts(&rule["apiGroups"]) {
            granted.extend(
                texts(&rule["resources"])
                    .into_iter()
                    .map(|plural| (group.clone(), plural)),
            );
        }
    }
    let kinds = kinds().into_iter();
    let listed = kinds.map(|kind| (kind.group.to_owned(), kind.plural.to_owned()));
    assert_eq!(granted, listed.collect());
    assert!(!granted.iter().any(|(_, plural)| plural == "secrets"));
}

#[test]
fn options_that_would_show_too_much_are_refused() {
    let options = |address: &str, per_viewer: bool, tls: bool| Options {
        access: c5c3_live::Access::default(),
        per_viewer,
        address: address.parse().unwrap(),
        certificates: tls.then(|| "certificates".into()),
        metrics_address: None,
    };
    assert!(options("127.0.0.1:8090", false, false).check().is_ok());
    assert!(options("[::1]:8090", true, false).check().is_ok());
    assert!(options("0.0.0.0:8090", true, true).check().is_ok());
    let refused = |options: Options| options.check().unwrap_err();
    let exposed = refused(options("0.0.0.0:8090", false, true));
    assert!(matches!(exposed, Error::Exposed(_)));
    assert_eq!(
        exposed.to_string(),
        "others can connect to 0.0.0.0:8090 and would see whatever the kubeconfig's user may list: choose a loopback address such \
         as 127.0.0.1:8090, or add --per-viewer"
    );
    let unencrypted = refused(options("10.0.0.1:8090", true, false));
    assert!(matches!(unencrypted, Error::Unencrypted(_)));
}
