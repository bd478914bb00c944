//! Keystone's API, as a user of it.

use std::collections::BTreeSet;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lab::{Context, Result, bail};
use serde_json::{Value, json};

/// Keystone, asked as its first user.
pub struct Identity {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    password: String,
}

impl Identity {
    pub fn new(url: &str, password: &str) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            url: url.to_owned(),
            password: password.to_owned(),
        }
    }

    /// Whom and what a token is for, that an application credential is good for.
    pub async fn token(&self, (id, secret): &(String, String)) -> Result<Value> {
        let identity = json!({
            "methods": ["application_credential"],
            "application_credential": { "id": id, "secret": secret },
        });
        let body = json!({ "auth": { "identity": identity } });
        Ok(self
            .send(Method::POST, "/auth/tokens", None, Some(body))
            .await?
            .1)
    }

    /// Logs in by a password, as the user with this ID.
    pub async fn log_in(&self, user: &str, password: &str) -> Result<()> {
        let password = json!({ "user": { "id": user, "password": password } });
        let identity = json!({ "methods": ["password"], "password": password });
        let body = Some(json!({ "auth": { "identity": identity } }));
        self.send(Method::POST, "/auth/tokens", None, body)
            .await
            .map(drop)
    }

    /// The names of all users.
    pub async fn users(&self) -> Result<Vec<String>> {
        let found = self.ask(Method::GET, "/users", None).await?;
        let users = found["users"].as_array().context("there are no users")?;
        let name = |user: &Value| user["name"].as_str().map(str::to_owned);
        Ok(users.iter().filter_map(name).collect())
    }

    /// The ID of a user.
    pub async fn user(&self, name: &str) -> Result<String> {
        let found = self
            .ask(Method::GET, &format!("/users?name={name}"), None)
            .await?;
        let id = found["users"][0]["id"].as_str();
        Ok(id.context("there is no such user")?.to_owned())
    }

    /// Creates something, and returns its ID.
    pub async fn create(&self, kind: &str, body: Value) -> Result<String> {
        let created = self
            .ask(Method::POST, &format!("/{kind}"), Some(body))
            .await?;
        let created = created
            .as_object()
            .and_then(|created| created.values().next());
        let id = created.and_then(|created| created["id"].as_str());
        Ok(id.context("it has no ID")?.to_owned())
    }

    /// Creates an application credential with all that the first user may do, and returns its ID and secret.
    pub async fn application_credential(&self, name: &str) -> Result<(String, String)> {
        let path = format!(
            "/users/{}/application_credentials",
            self.user("admin").await?
        );
        let body = json!({ "application_credential": { "name": name } });
        let created = self.ask(Method::POST, &path, Some(body)).await?;
        let text = |field: &str| {
            created["application_credential"][field]
                .as_str()
                .map(str::to_owned)
        };
        let id = text("id").context("it has no ID")?;
        Ok((id, text("secret").context("it has no secret")?))
    }

    /// The names of all domains, projects, users, groups and roles.
    pub async fn names(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for kind in ["domains", "projects", "users", "groups", "roles"] {
            let found = self.ask(Method::GET, &format!("/{kind}"), None).await?;
            let found = found[kind].as_array().context("there is no list")?;
            names.extend(found.iter().map(|one| format!("{kind} {}", one["name"])));
        }
        Ok(names)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let domain = json!({ "id": "default" });
        let user = json!({ "name": "admin", "domain": domain, "password": self.password });
        let login = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": { "name": "admin", "domain": domain } },
        } });
        let (token, _) = self
            .send(Method::POST, "/auth/tokens", None, Some(login))
            .await?;
        let token = token.context("there is no token")?;
        Ok(self.send(method, path, Some(&token), body).await?.1)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Result<(Option<String>, Value)> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let response = self.client.request(request.body(Full::new(body))?).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            bail!("{path}: {} {}", head.status, String::from_utf8_lossy(&body));
        }
        let token = head.headers.get("x-subject-token");
        let token = token.and_then(|token| token.to_str().ok());
        Ok((
            token.map(str::to_owned),
            serde_json::from_slice(&body).unwrap_or(Value::Null),
        ))
    }
}
