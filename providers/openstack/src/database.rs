//! A service's databases and their users.

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::parts;
use c5c3_kinds::Manifest;
use c5c3_kinds::mariadb::{self, MariaDb};
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason};

use crate::config::Section;
use crate::definition::part;
use crate::files::Files;
use crate::graph::MARIADB;
use crate::host::in_url;
use crate::prerequisite::{Prerequisite, are_ready, holds};
use crate::service::Service;
use crate::unshared::check_unshared;
use crate::users::{Users, own};

/// MariaDB's port.
const PORT: u16 = 3306;
/// The file with the server's CA certificates. If a service's databases are in several servers, the file has the CA certificates of
/// all of them.
pub const AUTHORITY: &str = "database-ca.crt";
/// What mariadb-operator does in the server when a user's object is deleted.
const DELETE: &str = "Delete";
/// The reason while a database isn't ready.
const WAITING: Reason = Reason::WaitingFor("Database");
/// The type of the rotation that replaces the user.
const USER: RotationType = RotationType::DatabaseUser;
/// The maximum number of connections of a service's user. Each process of each replica opens up to 25, and one of Cinder 5 more for its
/// locks.
const CONNECTIONS: u32 = 1000;

/// A database that a service can use.
#[derive(Clone, PartialEq, Eq)]
pub struct Database {
    server: DatabaseServer,
    name: String,
    user: String,
    password: String,
}

/// A database server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// CA certificates, if connections are encrypted.
    pub authority: Option<String>,
}

impl Database {
    /// Resolves a database of a service by its suffix: one of [`crate::ServiceDefinition::databases`], or that of a cell.
    /// Database, user and grant are created in a server of this cluster, but not in an external server. A database and its
    /// user are kept when the service is deleted. One that another resource of the service's kind uses is refused.
    pub fn resolve(
        service: &Service<'_>,
        suffix: &str,
        wanted: &parts::Database,
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        let object = part(service.name, suffix);
        let usual = service.definition.database_name(suffix);
        let secret = service.definition.database_credentials(suffix);
        let (secret, key) = service.credentials(wanted.secret_ref.as_ref(), secret);
        let name = wanted.database.as_deref().unwrap_or(&usual);
        let read = |secret: &str| Account::of(service, &usual, (secret, key));
        let users = Users::of((service, USER), (&secret, &object), desired);
        let resolved = users.and_then(|users| {
            let given = read(&secret)?;
            if let Some(server) = elsewhere(&wanted.server, &given) {
                return Ok((server, given));
            }
            let cluster = cluster(&wanted.server);
            unshared((service, suffix), cluster, name)?;
            let newest = users.newest();
            let account = match newest.number {
                1 => given,
                _ => read(&newest.secret)?,
            };
            let password = parts::SecretKeyRef {
                name: newest.secret,
                key: key.to_owned(),
            };
            let objects = (&*object, &*newest.object);
            compose(
                (service, objects),
                cluster,
                (name, &account.user),
                password,
                desired,
            );
            users.generate((&usual, key, &account.user), desired);
            for older in users.older() {
                revoke(service, &older.object, desired);
            }
            let (user, account) = users.in_use(account, read, desired)?;
            let server = managed((service, (&object, &user.object)), cluster)?;
            Ok((server, account))
        });
        let (server, account) = resolved.inspect_err(|_| {
            desired.kept.extend(own(service, USER, (&object, &object)));
        })?;
        Ok(Self {
            server,
            name: name.to_owned(),
            user: account.user,
            password: account.password,
        })
    }

    /// Returns the CA certificates of the server of [`Self::resolve`]'s database, even while the database isn't ready; none while they are
    /// unknown.
    pub fn authority_of(
        service: &Service<'_>,
        suffix: &str,
        wanted: &parts::Database,
    ) -> Option<String> {
        let usual = service.definition.database_name(suffix);
        let secret = service.definition.database_credentials(suffix);
        let (secret, key) = service.credentials(wanted.secret_ref.as_ref(), secret);
        let account = Account::of(service, &usual, (&secret, key)).ok()?;
        let server = elsewhere(&wanted.server, &account).map_or_else(
            || {
                let cluster = cluster(&wanted.server);
                address(service, cluster, &server_of(service, cluster)?)
            },
            Ok,
        );
        server.ok()?.authority
    }

    /// Configures the connection to the database
    /// (<https://docs.openstack.org/oslo.db/latest/reference/opts.html>).
    pub fn configure(&self, service: &Service<'_>, section: &mut Section, files: &mut Files) {
        let mut url = self.url();
        if let Some(authority) = &self.server.authority {
            files.text(AUTHORITY, authority);
            // With it PyMySQL checks the server's certificate and that it is for this host.
            url += &format!("&ssl_ca={}", service.definition.file(AUTHORITY));
        }
        section
            .secret("connection", &url)
            // Shorter than the idle timeout of proxies.
            .set("connection_recycle_time", 280)
            .set("max_pool_size", 5)
            .set("max_overflow", 20);
    }

    /// The URL as SQLAlchemy takes it.
    fn url(&self) -> String {
        let host = in_url(&self.server.host);
        let user = encoded(&self.user, &[':', '/']);
        let password = encoded(&self.password, &[]);
        let (port, name) = (self.server.port, &self.name);
        format!("mysql+pymysql://{user}:{password}@{host}:{port}/{name}?charset=utf8mb4")
    }

    /// Checks that the URL has no percent-encoding: keystone-manage reads a `%` as an interpolation
    /// (`keystone/common/sql/upgrades.py`, `_find_alembic_conf`).
    ///
    /// # Errors
    /// The user or the password has a character that must be encoded.
    pub fn plain(self) -> Prerequisite<Self> {
        match self.url().contains('%') {
            false => Ok(self),
            true => Err(Progress::failed(
                Reason::InvalidSecret,
                "the database's user or password has a character that keystone-manage can't take: choose a password without \
                 @ and %, and a user without these, : and /",
            )),
        }
    }

    /// CA certificates of the server, if connections are encrypted.
    pub fn authority(&self) -> Option<&str> {
        self.server.authority.as_deref()
    }

    /// Identifies the database, without user and password: `host:port/name`.
    pub fn place(&self) -> String {
        format!("{}:{}/{}", self.server.host, self.server.port, self.name)
    }
}

/// A user of a database server, and the server if the Secret names one.
struct Account {
    user: String,
    password: String,
    authority: Option<String>,
    server: Option<DatabaseServer>,
}

impl Account {
    fn of(service: &Service<'_>, user: &str, (secret, key): (&str, &str)) -> Prerequisite<Self> {
        let values = service.secret(secret, "user and password of the database")?;
        let port = values.port()?.unwrap_or(PORT);
        let authority = values.authority()?.map(str::to_owned);
        Ok(Self {
            user: values.optional_line("username")?.unwrap_or(user).to_owned(),
            password: values.line(key)?.to_owned(),
            server: values.optional_line("host")?.map(|host| DatabaseServer {
                host: host.to_owned(),
                port,
                authority: authority.clone(),
            }),
            authority,
        })
    }
}

/// A server that somebody else runs, as the resource or the Secret names it.
fn elsewhere(wanted: &parts::DatabaseServer, account: &Account) -> Option<DatabaseServer> {
    match (&wanted.cluster_ref, &wanted.host) {
        (Some(_), _) => None,
        (None, Some(host)) => Some(DatabaseServer {
            host: host.clone(),
            port: wanted.port.unwrap_or(PORT),
            authority: account.authority.clone(),
        }),
        (None, None) => account.server.clone(),
    }
}

/// The name of a server in this cluster.
fn cluster(wanted: &parts::DatabaseServer) -> &str {
    let named = wanted.cluster_ref.as_ref();
    named.map_or(MARIADB, |cluster| &cluster.name)
}

/// The server in this cluster, once it is ready.
fn managed(
    (service, objects): (&Service<'_>, (&str, &str)),
    cluster: &str,
) -> Prerequisite<DatabaseServer> {
    let server = server_of(service, cluster)?;
    let key = Key::of::<Manifest<MariaDb>>(service.namespace, cluster);
    holds(&key, "Ready", WAITING, service.observed)?;
    are_ready(&own(service, USER, objects), WAITING, service.observed)?;
    address(service, cluster, &server)
}

/// What is wanted of the server in this cluster.
fn server_of(service: &Service<'_>, cluster: &str) -> Prerequisite<MariaDb> {
    let server = service.body::<Manifest<MariaDb>>(cluster);
    let waiting = || Progress::waiting(WAITING, format!("waits for MariaDB {cluster}"));
    Ok(server.required(waiting)?.spec)
}

/// The address of the server in this cluster: that of its proxy if it has one, or of the primary if it has several members.
fn address(service: &Service<'_>, cluster: &str, server: &MariaDb) -> Prerequisite<DatabaseServer> {
    let embedded = || format!("{cluster}-maxscale");
    let proxy = match &server.max_scale_ref {
        Some(proxy) => Some(proxy.name.clone()),
        None => server.max_scale.enabled.then(embedded),
    };
    // MaxScale's listener has TLS only if mariadb-operator enforces TLS in MariaDB.
    let (signed, name, encrypted) = match &proxy {
        Some(proxy) => ("MaxScale's", proxy.as_str(), server.tls.required),
        None => ("MariaDB's", cluster, true),
    };
    let authority = match server.tls.enabled && encrypted {
        true => {
            let purpose = format!("the certificates that {signed} is signed by");
            let bundle = format!("{name}-ca-bundle");
            let bundle = service.secret(&bundle, &purpose)?;
            Some(bundle.text("ca.crt")?.to_owned())
        }
        false => None,
    };
    let host = match (proxy, server.galera.enabled) {
        (Some(proxy), _) => proxy,
        (None, true) => format!("{cluster}-primary"),
        (None, false) => cluster.to_owned(),
    };
    Ok(DatabaseServer {
        host: format!("{host}.{}.svc", service.namespace),
        port: server.port.unwrap_or(PORT),
        authority,
    })
}

/// Checks that no other resource uses a database of a server in this cluster.
fn unshared(
    (service, suffix): (&Service<'_>, &str),
    cluster: &str,
    name: &str,
) -> Prerequisite<()> {
    let place = format!("the database {name} of MariaDB {cluster}");
    let field = match suffix {
        "" => "database.database",
        // Nova has a field for each.
        _ => "database",
    };
    let read = |other: mariadb::Place| (other.maria_db_ref, other.name);
    check_unshared(service, (cluster, name), (&place, field), read)
}

fn compose(
    (service, (name, account)): (&Service<'_>, (&str, &str)),
    cluster: &str,
    (database, user): (&str, &str),
    password: parts::SecretKeyRef,
    desired: &mut DesiredState,
) {
    let server = parts::NamedRef {
        name: cluster.to_owned(),
    };
    let namespace = service.namespace;
    let skip = "Skip".to_owned();
    let wanted = mariadb::Database {
        maria_db_ref: server.clone(),
        name: database.to_owned(),
        character_set: "utf8mb4".to_owned(),
        collate: "utf8mb4_general_ci".to_owned(),
        cleanup_policy: skip.clone(),
    };
    desired.apply(namespace, name, &service.manifest("database", wanted));
    let wanted = mariadb::User {
        maria_db_ref: server.clone(),
        name: user.to_owned(),
        host: "%".to_owned(),
        password_secret_key_ref: password,
        max_user_connections: CONNECTIONS,
        cleanup_policy: skip.clone(),
    };
    desired.apply(namespace, account, &service.manifest("database", wanted));
    let wanted = mariadb::Grant {
        maria_db_ref: server,
        privileges: vec!["ALL PRIVILEGES".to_owned()],
        database: database.to_owned(),
        table: "*".to_owned(),
        username: user.to_owned(),
        host: "%".to_owned(),
        cleanup_policy: skip,
    };
    desired.apply(namespace, account, &service.manifest("database", wanted));
}

/// Has a user that another one replaces deleted in the server with its object.
fn revoke(service: &Service<'_>, object: &str, desired: &mut DesiredState) {
    match service.body::<Manifest<mariadb::User>>(object) {
        Lookup::Found(user) if user.spec.cleanup_policy != DELETE => {
            let wanted = mariadb::User {
                cleanup_policy: DELETE.to_owned(),
                ..user.spec
            };
            let wanted = service.manifest("database", wanted);
            desired.apply(service.namespace, object, &wanted);
        }
        Lookup::Found(_) | Lookup::Missing => {}
        Lookup::Unknown(_) => desired.keep(Key::of::<Manifest<mariadb::User>>(
            service.namespace,
            object,
        )),
    }
}

/// Encodes a user or a password for a URL of SQLAlchemy, which takes all but a few characters literally
/// (`sqlalchemy/engine/url.py`, `_parse_url`).
fn encoded(text: &str, more: &[char]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for character in text.chars() {
        match matches!(character, '%' | '@') || more.contains(&character) {
            true => encoded.push_str(&format!("%{:02X}", u32::from(character))),
            false => encoded.push(character),
        }
    }
    encoded
}
