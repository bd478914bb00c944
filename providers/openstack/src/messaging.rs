//! A service's message bus, and its user there.

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::parts;
use c5c3_kinds::Manifest;
use c5c3_kinds::rabbitmq::{self, Permission, Permissions, RabbitmqCluster, Vhost};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use provider_composer::{DesiredState, Key, Progress, Reason, Resource, SecretValues, Use};

use crate::config::Config;
use crate::definition::part;
use crate::deployment::Pods;
use crate::files::Files;
use crate::graph::RABBITMQ;
use crate::host::in_url;
use crate::pod::Program;
use crate::prerequisite::{Prerequisite, are_ready, holds};
use crate::service::Service;
use crate::unshared::check_unshared;
use crate::users::{Users, own};

/// The port of RabbitMQ, and the one for TLS.
const PORT: u16 = 5672;
const TLS_PORT: u16 = 5671;
/// The file with RabbitMQ's CA certificates.
const AUTHORITY: &str = "messaging-ca.crt";
/// The file with public CA certificates, which every image has.
const PUBLIC_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// The reason while a bus isn't ready.
const WAITING: Reason = Reason::WaitingFor("Messaging");
/// The type of the rotation that replaces the user.
const USER: RotationType = RotationType::MessagingUser;
/// The folder of lock files, which every container can write to.
const LOCK_PATH: &str = "/tmp";
/// The keys of a Secret that RabbitMQ's operator reads user and password from.
const IMPORTED: [&str; 2] = ["username", "password"];

/// A message bus that a service can use.
#[derive(Clone, PartialEq, Eq)]
pub struct Messaging {
    server: Server,
    vhost: String,
    user: String,
    password: String,
}

/// A RabbitMQ server.
#[derive(Clone, PartialEq, Eq)]
struct Server {
    /// Its members, each `host:port`.
    members: Vec<String>,
    encryption: Encryption,
}

/// The encryption of connections, and the CA certificates.
#[derive(Clone, PartialEq, Eq)]
enum Encryption {
    None,
    /// These certificates, in PEM.
    Authority(String),
    /// Those of public authorities.
    Public,
}

impl Messaging {
    /// The kinds that a composer uses for a message bus.
    pub fn uses() -> Vec<Use> {
        let composed = [
            Manifest::<Vhost>::KIND,
            Manifest::<rabbitmq::User>::KIND,
            Manifest::<Permission>::KIND,
        ];
        let composed = composed.into_iter().map(Use::composes);
        composed
            .chain([Use::reads(Manifest::<RabbitmqCluster>::KIND)])
            .collect()
    }

    /// Resolves the message bus of a service. A virtual host, a user and its permissions are created in a RabbitMQ of this cluster,
    /// but not in an external one. They are deleted with the service: a virtual host has only messages in transit. One that another
    /// resource of the service's kind uses is refused.
    pub fn resolve(
        service: &Service<'_>,
        suffix: &str,
        wanted: &parts::Messaging,
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        let (object, usual) = (part(service.name, suffix), service.definition.part(suffix));
        let secret = service.definition.bus_credentials(suffix);
        let (secret, key) = service.credentials(wanted.secret_ref.as_ref(), secret);
        let vhost = wanted.vhost.as_deref().unwrap_or(&usual);
        let read = |secret: &str| Account::of((service, &usual), wanted, secret, key);
        let users = Users::of((service, USER), (&secret, &object), desired);
        let resolved = users.and_then(|users| {
            let given = read(&secret)?;
            if let Some(server) = given.elsewhere.clone() {
                return Ok((server, given));
            }
            let (cluster, newest) = (cluster(wanted), users.newest());
            unshared((service, suffix), cluster, vhost)?;
            let account = match newest.number {
                1 => given,
                _ => read(&newest.secret)?,
            };
            let objects = (&*object, &*newest.object);
            let wanted = (vhost, &*account.user);
            compose((service, objects), cluster, wanted, &newest.secret, desired);
            users.generate((&usual, key, &account.user), desired);
            let (user, account) = users.in_use(account, read, desired)?;
            let objects = (&*object, &*user.object);
            let server = managed((service, objects), cluster, &account.password)?;
            Ok((server, account))
        });
        let (server, account) = resolved.inspect_err(|_| {
            desired.kept.extend(own(service, USER, (&object, &object)));
        })?;
        Ok(Self {
            server,
            vhost: vhost.to_owned(),
            user: account.user,
            password: account.password,
        })
    }

    /// Configures the message bus of a service
    /// (<https://docs.openstack.org/oslo.messaging/latest/configuration/opts.html>).
    pub fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        config
            .section("DEFAULT")
            .secret("transport_url", &self.url());
        let section = config.section("oslo_messaging_rabbit");
        let authority = match &self.server.encryption {
            Encryption::None => None,
            Encryption::Authority(authority) => {
                files.text(AUTHORITY, authority);
                Some(service.definition.file(AUTHORITY))
            }
            Encryption::Public => Some(PUBLIC_AUTHORITIES.to_owned()),
        };
        if let Some(authority) = authority {
            // Without the file, oslo.messaging doesn't verify the certificate.
            section.set("ssl", true).set("ssl_ca_file", authority);
        }
        section
            // Quorum queues are replicated, so messages survive the loss of a member.
            .set("rabbit_quorum_queue", true)
            .set("rabbit_transient_quorum_queue", true)
            // A process that restarts reuses its queues, instead of creating more quorum queues.
            .set("use_queue_manager", true);
        // The queue manager counts the processes of a pod with a lock file, and has no default folder for it.
        config
            .section("oslo_concurrency")
            .set("lock_path", LOCK_PATH);
    }

    /// The URL in oslo.messaging's format (`oslo_messaging/transport.py`, `TransportURL.parse`).
    fn url(&self) -> String {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let (user, password) = (encoded(&self.user), encoded(&self.password));
        let members = self.server.members.iter();
        let members: Vec<String> = members
            .map(|member| format!("{user}:{password}@{member}"))
            .collect();
        format!("rabbit://{}/{}", members.join(","), encoded(&self.vhost))
    }

    /// The pods of a component that are ready while its program is connected to a member
    /// ([`CONNECTED`](crate::CONNECTED)).
    pub fn watched(&self, component: impl Into<String>, program: Program) -> Pods {
        let members = self.server.members.iter();
        let ports = members.filter_map(|member| member.rsplit_once(':')?.1.parse().ok());
        Pods {
            bus: Some(self.place()),
            ..Pods::of(component, program.connects(ports))
        }
    }

    /// Identifies the virtual host, without user and password: `host:port/name`.
    pub fn place(&self) -> String {
        format!("{}/{}", self.server.members.join(","), self.vhost)
    }
}

/// A user of a message bus, and the server if it is external.
struct Account {
    user: String,
    password: String,
    elsewhere: Option<Server>,
}

impl Account {
    fn of(
        (service, user): (&Service<'_>, &str),
        wanted: &parts::Messaging,
        secret: &str,
        key: &str,
    ) -> Prerequisite<Self> {
        let purpose = "user and password of the message bus";
        let values = service.secret(secret, purpose)?;
        let encryption = match values.authority()? {
            Some(authority) => Encryption::Authority(authority.to_owned()),
            None => Encryption::None,
        };
        let usual = encryption.port();
        let members = match (&wanted.cluster_ref, wanted.hosts.as_slice()) {
            (Some(_), _) => None,
            (None, []) => match values.optional_line("host")? {
                Some(host) => Some(vec![member(host, values.port()?.unwrap_or(usual))]),
                None => None,
            },
            (None, hosts) => {
                let members = hosts.iter();
                Some(
                    members
                        .map(|host| member(host.host(), host.port().unwrap_or(usual)))
                        .collect(),
                )
            }
        };
        let elsewhere = members.map(|members| Server {
            members,
            encryption,
        });
        if elsewhere.is_none() {
            if key != IMPORTED[1] {
                let message = format!(
                    "messaging.secretRef.key is {key}, and RabbitMQ's operator reads passwords under password: put it there \
                     in Secret {secret}, and leave key out"
                );
                return Err(Progress::failed(Reason::InvalidSecret, message));
            }
            for key in IMPORTED {
                values.line(key)?;
            }
        }
        Ok(Self {
            user: values.optional_line("username")?.unwrap_or(user).to_owned(),
            password: values.line(key)?.to_owned(),
            elsewhere,
        })
    }
}

impl Encryption {
    /// RabbitMQ's port.
    const fn port(&self) -> u16 {
        match self {
            Self::None => PORT,
            Self::Authority(_) | Self::Public => TLS_PORT,
        }
    }
}

fn member(host: &str, port: u16) -> String {
    format!("{}:{port}", in_url(host))
}

fn cluster(wanted: &parts::Messaging) -> &str {
    let cluster = wanted.cluster_ref.as_ref();
    cluster.map_or(RABBITMQ, |cluster| &cluster.name)
}

/// The server in this cluster, by its Service, once all objects are ready.
fn managed(
    (service, objects): (&Service<'_>, (&str, &str)),
    cluster: &str,
    password: &str,
) -> Prerequisite<Server> {
    let bus = Key::of::<Manifest<RabbitmqCluster>>(service.namespace, cluster);
    // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
    let available = holds(&bus, "ClusterAvailable", WAITING, service.observed);
    let encryption = encryption(service, cluster);
    let ready = are_ready(&own(service, USER, objects), WAITING, service.observed);
    let (_, user) = objects;
    let current = credentials(service, user);
    available?;
    let encryption = encryption?;
    ready?;
    // The imported Secret may have changed since.
    if current?.line("password")? != password {
        let message = format!(
            "RabbitMQ's user has the password that it was created with, and its operator doesn't change it: write that one to the \
             Secret again and create a CredentialRotation with rotationType messagingUser, or delete User and Permission {user} of \
             rabbitmq.com, and both are created again, with the password that the Secret has now"
        );
        return Err(Progress::failed(Reason::PasswordNotTaken, message));
    }
    let host = format!("{cluster}.{}.svc", service.namespace);
    Ok(Server {
        members: vec![member(&host, encryption.port())],
        encryption,
    })
}

/// The name and the password that a user has in RabbitMQ. The User names their Secret: a copy of the imported one, or, since
/// messaging-topology-operator 1.20, that one.
fn credentials(service: &Service<'_>, user: &str) -> Prerequisite<SecretValues> {
    let key = Key::of::<Manifest<rabbitmq::User>>(service.namespace, user);
    let found = service.observed.object(&key).known();
    let found = found.map_err(Progress::unknown)?;
    let secret = found.as_deref().and_then(|user| {
        let name = user.pointer("/status/credentials/name")?;
        name.as_str()
    });
    match secret {
        Some(secret) => service.secret(secret, "RabbitMQ's user"),
        None => Err(Progress::waiting(
            WAITING,
            format!("waits for the credentials of {key}"),
        )),
    }
}

/// The encryption of a RabbitMQ in this cluster.
fn encryption(service: &Service<'_>, cluster: &str) -> Prerequisite<Encryption> {
    let found = service
        .body::<Manifest<RabbitmqCluster>>(cluster)
        .optional()?;
    let secret = found.and_then(|cluster| cluster.spec.tls.secret_name);
    let Some(secret) = secret.filter(|name| !name.is_empty()) else {
        return Ok(Encryption::None);
    };
    let purpose = "RabbitMQ's certificate";
    let values = service.secret(&secret, purpose)?;
    Ok(match values.authority()? {
        Some(authority) => Encryption::Authority(authority.to_owned()),
        None => Encryption::Public,
    })
}

/// Checks that no other resource uses a virtual host of a RabbitMQ in this cluster.
fn unshared(
    (service, suffix): (&Service<'_>, &str),
    cluster: &str,
    vhost: &str,
) -> Prerequisite<()> {
    let place = format!("the virtual host {vhost} of RabbitMQ {cluster}");
    let field = match suffix {
        "" => "messaging.vhost",
        _ => "messaging.vhost of the cell",
    };
    let read = |other: rabbitmq::Place| (other.rabbitmq_cluster_reference, other.name);
    check_unshared(service, (cluster, vhost), (&place, field), read)
}

fn compose(
    (service, (name, account)): (&Service<'_>, (&str, &str)),
    cluster: &str,
    (vhost, user): (&str, &str),
    secret: &str,
    desired: &mut DesiredState,
) {
    let named = |name: &str| parts::NamedRef {
        name: name.to_owned(),
    };
    let namespace = service.namespace;
    let wanted = Vhost {
        name: vhost.to_owned(),
        rabbitmq_cluster_reference: named(cluster),
    };
    desired.apply(namespace, name, &service.manifest("messaging", wanted));
    let wanted = rabbitmq::User {
        import_credentials_secret: named(secret),
        rabbitmq_cluster_reference: named(cluster),
    };
    desired.apply(namespace, account, &service.manifest("messaging", wanted));
    let all = || ".*".to_owned();
    let wanted = Permission {
        vhost: vhost.to_owned(),
        // Refers to the user by name: RabbitMQ's operator would make a referenced User the Permission's controller, which the service is.
        user: user.to_owned(),
        permissions: Permissions {
            configure: all(),
            write: all(),
            read: all(),
        },
        rabbitmq_cluster_reference: named(cluster),
    };
    desired.apply(namespace, account, &service.manifest("messaging", wanted));
}
