//! The cases of the API server's rules, run on a real API server. Tests of composers run on a store in memory that passes them, too.

use std::any::Any;

use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams};
use kube::core::request::{Error, Request as Http};
use lab::{Cluster, Etcd, Result, bail, eventually, kind, minutes, seconds};
use provider_composer::Key;
use provider_composer_testing::api_server::{ApiServer, CASES, NAMESPACE, Refusal, Request, THING};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// An API server, for a thread that may block.
struct OnServer {
    client: Client,
    handle: Handle,
}

pub fn api_server_answers_as_the_store_in_memory_does() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        cluster.apply(DEFINITION).await?;
        eventually("things are served", minutes(1), async || {
            let things = kind("conformance.c5c3.io/v1", THING.kind);
            cluster.list(things, "").await.map(drop)
        })
        .await?;
        let mut different = Vec::new();
        for (name, case) in CASES {
            let mut server = OnServer {
                client: cluster.client(),
                handle: Handle::current(),
            };
            if let Err(difference) = spawn_blocking(move || case(&mut server)).await {
                let difference = difference.into_panic();
                different.push(format!("{name}: {}", text(difference.as_ref())));
            }
        }
        match different.is_empty() {
            true => Ok(()),
            false => bail!(
                "left is the API server's answer, right the store's:\n{}",
                different.join("\n")
            ),
        }
    })
}

/// The message of a panic.
fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panics")
}

impl ApiServer for OnServer {
    fn get(&mut self, key: &Key) -> Option<Value> {
        match self.send(objects(key).get(&key.name, &GetParams::default())) {
            Ok(object) => Some(object),
            Err(refusal) if refusal.reason == NOT_FOUND => None,
            Err(refusal) => unreachable!("{key} can't be read: {refusal}"),
        }
    }

    fn perform(&mut self, key: &Key, request: Request) -> Result<Value, Refusal> {
        let (objects, name) = (objects(key), key.name.as_str());
        let by_hand = PatchParams::default();
        self.send(match request {
            Request::Create(given) => {
                let given = document(key, given).to_string();
                objects.create(&PostParams::default(), given.into_bytes())
            }
            Request::Replace(given) => {
                let given = document(key, given).to_string();
                objects.replace(name, &PostParams::default(), given.into_bytes())
            }
            Request::Apply {
                manager,
                fields,
                force,
            } => {
                let how = PatchParams {
                    force,
                    ..PatchParams::apply(manager)
                };
                objects.patch(name, &how, &Patch::Apply(document(key, fields)))
            }
            Request::Merge(change) => objects.patch(name, &by_hand, &Patch::Merge(change)),
            Request::SetStatus(status) => {
                let change = Patch::Merge(json!({ "status": status }));
                objects.patch_subresource("status", name, &by_hand, &change)
            }
            Request::Delete => objects.delete(name, &DeleteParams::background()),
        })
    }

    fn collects(&mut self, key: &Key) -> bool {
        let deadline = Instant::now() + lab::scaled(minutes(2));
        while self.get(key).is_some() {
            if Instant::now() > deadline {
                return false;
            }
            self.handle.block_on(sleep(seconds(1)));
        }
        true
    }
}

impl OnServer {
    fn send(&self, request: Result<hyper::Request<Vec<u8>>, Error>) -> Result<Value, Refusal> {
        let request = request.map_err(|error| Refusal::new("NoRequest", error.to_string()))?;
        let answer = self.handle.block_on(self.client.request(request));
        answer.map_err(|error| match error {
            // Of a kind that isn't served, the answer gives no reason.
            kube::Error::Api(status) if status.code == 404 => {
                Refusal::new(NOT_FOUND, status.message.as_str())
            }
            kube::Error::Api(status) => Refusal::new(&status.reason, status.message.as_str()),
            other => Refusal::new("NoAnswer", other.to_string()),
        })
    }
}

/// Requests about objects of a kind.
fn objects(key: &Key) -> Http {
    let root = match key.kind.group {
        "" => "/api",
        _ => "/apis",
    };
    let (api_version, plural) = (key.kind.api_version(), key.kind.plural);
    Http::new(format!(
        "{root}/{api_version}/namespaces/{NAMESPACE}/{plural}"
    ))
}

/// An object with its apiVersion, kind and name.
fn document(key: &Key, mut object: Value) -> Value {
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.kind);
    object["metadata"]["name"] = json!(key.name);
    object
}

const NOT_FOUND: &str = "NotFound";

const DEFINITION: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: conformance}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.conformance.c5c3.io}
spec:
  group: conformance.c5c3.io
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
            status: {type: object, properties: {phase: {type: string}}}
";
