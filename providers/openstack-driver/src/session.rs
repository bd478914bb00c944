//! One cloud, with a token of its Keystone.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;

use hyper::Method;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::addresses::Addresses;
use crate::clouds::Login;
use crate::error::Error;
use crate::exchange::{Connections, Exchange, Reply};

/// A token isn't used in its last minute: a request takes its time.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a service isn't asked again that didn't answer: the questions of one reconcile wait for it once.
const PAUSE: Duration = Duration::from_secs(5);
/// Where Keystone issues tokens.
const TOKENS: &str = "/auth/tokens";

/// How to reach a cloud, and as whom. It can't be printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    /// The clouds.yaml.
    pub(crate) clouds: String,
    /// Which cloud in it.
    pub(crate) cloud: String,
    /// Certificates in PEM that those of its services are checked against.
    pub(crate) ca: Option<String>,
    /// The hosts of its services.
    pub(crate) addresses: Addresses,
    /// Where Nova is, whatever the clouds.yaml says.
    pub(crate) nova: Option<String>,
    /// Where Neutron is, whatever the clouds.yaml says.
    pub(crate) neutron: Option<String>,
}

/// One cloud, as one user.
pub(crate) struct Session {
    keystone: Exchange,
    nova: Option<Exchange>,
    neutron: Option<Exchange>,
    placement: Option<Exchange>,
    request: Value,
    token: Mutex<Option<Token>>,
    /// When services didn't answer, by their name in messages.
    silent: std::sync::Mutex<HashMap<String, (Instant, Error)>>,
}

struct Token {
    value: String,
    expires: Timestamp,
}

impl Session {
    pub(crate) fn new(access: Access) -> Result<Self, Error> {
        let mut login = Login::read(&access.clouds, &access.cloud)?;
        if let Some(url) = &access.nova {
            login.nova = Some(Login::nova(url, &access.cloud)?);
        }
        if let Some(url) = &access.neutron {
            login.neutron = Some(Login::neutron(url, &access.cloud)?);
        }
        let endpoints = [
            Some(&login.keystone),
            login.nova.as_ref(),
            login.neutron.as_ref(),
            login.placement.as_ref(),
        ];
        for endpoint in endpoints.into_iter().flatten() {
            endpoint.within(&access.addresses)?;
        }
        let is_plain = login.keystone.is_plain();
        let connections = Connections::new(access.ca.as_deref(), is_plain, access.addresses)?;
        let exchange = |endpoint| Exchange::new(connections.clone(), endpoint);
        Ok(Self {
            keystone: exchange(login.keystone),
            nova: login.nova.map(exchange),
            neutron: login.neutron.map(exchange),
            placement: login.placement.map(exchange),
            request: login.request,
            token: Mutex::default(),
            silent: std::sync::Mutex::default(),
        })
    }

    /// Keystone, version 3 of its API.
    pub(crate) fn keystone(&self) -> Server<'_> {
        self.server(&self.keystone)
    }

    /// Nova.
    ///
    /// # Errors
    /// It isn't known where it is.
    pub(crate) fn nova(&self) -> Result<Server<'_>, Error> {
        let nova = self.nova.as_ref().map(|exchange| self.server(exchange));
        nova.ok_or_else(|| Error::NoUrl {
            cloud: provider_hypervisor_pool::nova::CLOUD.to_owned(),
            field: "compute_endpoint_override",
        })
    }

    /// Neutron, if the clouds.yaml says where it is.
    pub(crate) fn neutron(&self) -> Option<Server<'_>> {
        self.neutron.as_ref().map(|exchange| self.server(exchange))
    }

    /// Placement, if the clouds.yaml says where it is.
    pub(crate) fn placement(&self) -> Option<Server<'_>> {
        self.placement
            .as_ref()
            .map(|exchange| self.server(exchange))
    }

    /// Fails while a service isn't asked again, or Keystone, without which it isn't asked.
    fn paused(&self, exchange: &Exchange) -> Result<(), Error> {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let services = [exchange.server(), self.keystone.server()];
        let mut silent = services.iter().filter_map(|service| silent.get(service));
        match silent.find(|(since, _)| since.elapsed() < PAUSE) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Remembers that a service didn't answer.
    fn noted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error @ Error::Slow { server, .. }) = &result {
            let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
            silent.insert(server.clone(), (Instant::now(), error.clone()));
        }
        result
    }

    fn server<'a>(&'a self, exchange: &'a Exchange) -> Server<'a> {
        Server {
            session: self,
            exchange,
        }
    }

    /// A valid token, other than one that was refused.
    async fn token(&self, refused: Option<&str>) -> Result<String, Error> {
        let mut held = self.token.lock().await;
        let soon = Timestamp::now() + MARGIN;
        if let Some(token) = held.as_ref()
            && token.expires > soon
            && refused != Some(token.value.as_str())
        {
            return Ok(token.value.clone());
        }
        *held = None;
        let what = "the request for a token";
        let keystone = self.keystone();
        let reply = self
            .keystone
            .send(Method::POST, TOKENS, None, Some(&self.request), what)
            .await?;
        let reply = keystone.accepted(reply, what)?;
        let expires = reply.body.pointer("/token/expires_at");
        let expires = expires.and_then(Value::as_str);
        let expires = expires.and_then(|moment| moment.parse().ok());
        let (Some(value), Some(expires)) = (reply.token, expires) else {
            return Err(keystone.strange(what));
        };
        tracing::debug!(server = self.keystone.server(), %expires, "authenticated to Keystone");
        *held = Some(Token {
            value: value.clone(),
            expires,
        });
        Ok(value)
    }

    async fn refuses(&self, login: &Value) -> Result<bool, Error> {
        let former = self.token(None).await?;
        let what = "a login";
        let exchange = &self.keystone;
        let reply = exchange
            .send(Method::POST, TOKENS, None, Some(login), what)
            .await?;
        let code = reply.body.pointer("/error/code").and_then(Value::as_u64);
        let is_refused = (reply.status, code) == (401, Some(401));
        if is_refused {
            self.token(Some(&former)).await?;
        }
        Ok(is_refused)
    }
}

/// One service of a cloud.
#[derive(Clone, Copy)]
pub(crate) struct Server<'a> {
    session: &'a Session,
    exchange: &'a Exchange,
}

impl Server<'_> {
    /// Sends a request to a path, and again with a new token if the old one isn't valid any more. `what` says what it is for.
    ///
    /// # Errors
    /// The service can't be reached, or refuses the request.
    pub(crate) async fn send(
        self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Value, Error> {
        self.session.paused(self.exchange)?;
        let sent = self.sent(method, path, body, what).await;
        self.session.noted(sent)
    }

    async fn sent(
        self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Value, Error> {
        let token = self.session.token(None).await?;
        let exchange = self.exchange;
        let mut reply = exchange
            .send(method.clone(), path, Some(&token), body, what)
            .await?;
        if reply.status == 401 {
            let token = self.session.token(Some(&token)).await?;
            reply = exchange
                .send(method, path, Some(&token), body, what)
                .await?;
        }
        self.accepted(reply, what).map(|reply| reply.body)
    }

    /// Whether Keystone refuses a request for a token by its own answer, and then accepts that of the clouds.yaml: a Keystone that is
    /// broken, or whose database is being restored, may refuse everyone.
    ///
    /// # Errors
    /// Keystone can't be reached, or refuses the clouds.yaml, too.
    pub(crate) async fn refuses(self, login: &Value) -> Result<bool, Error> {
        let session = self.session;
        session.paused(&session.keystone)?;
        let refused = session.refuses(login).await;
        session.noted(refused)
    }

    /// Something that isn't there.
    pub(crate) fn missing(self, what: String) -> Error {
        Error::Missing {
            server: self.exchange.server(),
            what,
        }
    }

    /// An answer that can't be understood.
    pub(crate) fn strange(self, what: &'static str) -> Error {
        self.exchange.strange(what)
    }

    /// The service and its host, for messages.
    pub(crate) fn name(self) -> String {
        self.exchange.server()
    }

    fn accepted(self, reply: Reply, what: &'static str) -> Result<Reply, Error> {
        let server = self.exchange.server();
        match reply.status {
            200..300 => Ok(reply),
            401 => Err(Error::Unauthenticated { server }),
            403 => Err(Error::Forbidden { server, what }),
            status => Err(Error::Failed {
                server,
                status,
                what,
            }),
        }
    }
}
