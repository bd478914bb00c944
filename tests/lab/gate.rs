//! A gate before an API server: one program asks through it, and its writes are counted, and stopped if need be.

use std::sync::Arc;

use anyhow::Result;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::sync::{Mutex, watch};

use crate::cluster::Cluster;
use crate::machine::Machine;
use crate::serve::Server;

/// A gate before an API server. Dropped, it cuts every connection through it.
pub struct Gate {
    cluster: Cluster,
    /// How many writes went through.
    passed: watch::Receiver<usize>,
    limit: usize,
    _server: Server,
}

/// What requests go through.
struct Passage {
    client: Client,
    limit: usize,
    passed: watch::Sender<usize>,
    /// One write at a time, so that no other is under way when the last one was answered.
    turn: Mutex<()>,
}

impl Gate {
    /// Opens a gate before a cluster. Whoever asks through it has the rights of whoever the cluster is seen as.
    pub async fn open(machine: &Machine, cluster: &Cluster) -> Result<Self> {
        Self::with(machine, cluster, usize::MAX).await
    }

    /// A gate that shuts after so many writes: the last one is carried out, but its answer does not get out, nor does
    /// any further write get in.
    pub async fn shut_after(machine: &Machine, cluster: &Cluster, writes: usize) -> Result<Self> {
        Self::with(machine, cluster, writes).await
    }

    async fn with(machine: &Machine, cluster: &Cluster, limit: usize) -> Result<Self> {
        let port = machine.port();
        let (sender, passed) = watch::channel(0);
        let passage = Arc::new(Passage {
            client: cluster.client(),
            limit,
            passed: sender,
            turn: Mutex::default(),
        });
        let answer = move |request| Arc::clone(&passage).pass(request);
        Ok(Self {
            cluster: cluster.by_way_of(port).await?,
            passed,
            limit,
            _server: Server::start(port, None, answer).await?,
        })
    }

    /// The cluster as it is seen through the gate.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// How many writes went through.
    pub fn writes(&self) -> usize {
        *self.passed.borrow()
    }

    /// Waits until so many writes went through, or all that may.
    pub async fn passed(&self, writes: usize) {
        let enough = writes.min(self.limit);
        let mut passed = self.passed.clone();
        // It can't end before the gate does.
        let _seen = passed.wait_for(|passed| *passed >= enough).await;
    }

    /// Waits until it is shut.
    pub async fn shut(&self) {
        self.passed(self.limit).await;
    }
}

impl Passage {
    async fn pass(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, kube::Error> {
        if request.method() == Method::GET {
            return self.forward(request).await;
        }
        let turn = self.turn.lock().await;
        let count = *self.passed.borrow();
        if count == self.limit {
            drop(turn);
            return std::future::pending().await;
        }
        let answer = self.forward(request).await;
        self.passed.send_replace(count + 1);
        if count + 1 == self.limit {
            drop(turn);
            return std::future::pending().await;
        }
        answer
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, kube::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(kube::Error::HyperError)?;
        let request = Request::from_parts(head, Body::from(body.to_bytes()));
        self.client.send(request).await
    }
}
