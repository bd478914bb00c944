//! One Keystone, with the token that was had there.

use std::time::Duration;

use hyper::Method;
use jiff::Timestamp;
use provider_control_plane::credentials::keystone::Access;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::clouds::Login;
use crate::error::Error;
use crate::exchange::{Exchange, Reply};

/// A token isn't used in its last minute: a request takes its time.
const MARGIN: Duration = Duration::from_secs(60);

/// One Keystone, as somebody.
pub(crate) struct Session {
    exchange: Exchange,
    login: Login,
    token: Mutex<Option<Token>>,
}

struct Token {
    value: String,
    expires: Timestamp,
}

impl Session {
    pub(crate) fn new(access: &Access) -> Result<Self, Error> {
        let login = Login::read(&access.clouds, &access.cloud)?;
        Ok(Self {
            exchange: Exchange::new(&login.url, &access.cloud, access.ca.as_deref())?,
            login,
            token: Mutex::default(),
        })
    }

    /// Sends a request, and again with a new token if the old one isn't valid any more. `what` says what it is for.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Value, Error> {
        let token = self.token(None).await?;
        let mut reply = self
            .exchange
            .send(method.clone(), path, Some(&token), body, what)
            .await?;
        if reply.status == 401 {
            let token = self.token(Some(&token)).await?;
            reply = self
                .exchange
                .send(method, path, Some(&token), body, what)
                .await?;
        }
        self.accepted(reply, what).map(|reply| reply.body)
    }

    /// Something that isn't there.
    pub(crate) fn missing(&self, what: String) -> Error {
        Error::Missing {
            host: self.exchange.host.clone(),
            what,
        }
    }

    /// An answer that can't be understood.
    pub(crate) fn strange(&self, what: &'static str) -> Error {
        self.exchange.strange(what)
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
        let request = Some(&self.login.request);
        let reply = self
            .exchange
            .send(Method::POST, "/auth/tokens", None, request, what)
            .await?;
        let reply = self.accepted(reply, what)?;
        let expires = reply.body.pointer("/token/expires_at");
        let expires = expires.and_then(Value::as_str);
        let expires = expires.and_then(|moment| moment.parse().ok());
        let (Some(value), Some(expires)) = (reply.token, expires) else {
            return Err(self.strange(what));
        };
        tracing::debug!(host = self.exchange.host, %expires, "authenticated to Keystone");
        *held = Some(Token {
            value: value.clone(),
            expires,
        });
        Ok(value)
    }

    fn accepted(&self, reply: Reply, what: &'static str) -> Result<Reply, Error> {
        let host = self.exchange.host.clone();
        match reply.status {
            200..300 => Ok(reply),
            401 => Err(Error::Unauthenticated { host }),
            403 => Err(Error::Forbidden { host, what }),
            status => Err(Error::Failed { host, status, what }),
        }
    }
}
