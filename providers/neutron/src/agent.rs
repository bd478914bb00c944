//! What hypervisors need to run neutron-ovn-agent: a Secret, which the hypervisor-pool operator hands to nodes.

use c5c3_api::nova::NovaSpec;
use provider_composer::{Custom, DesiredState, Progress, Reason};
use provider_openstack::{
    AgentSecret, Config, Files, NEUTRON, NOVA, NOVA_METADATA, Prerequisite, Service, authority,
    in_cluster,
};

use crate::ovn::{ClientFiles, Ovn};

/// The component, by which the Secret is named.
const COMPONENT: &str = "agent";
/// The configuration file of the agent.
const CONFIG: &str = "neutron-ovn-agent.ini";
/// The folder of the agent's own files on a node.
const STATE: &str = "/var/lib/neutron";
/// The file with the certificate of the issuer of the metadata API's.
const AUTHORITY: &str = "ca.crt";
/// The folder with the certificate that a node connects to OVN with.
const OVN_FOLDER: &str = "/etc/ovn/tls";
const OVN_FILES: ClientFiles<'_> = ClientFiles {
    authority: "ca.crt",
    certificate: "tls.crt",
    key: "tls.key",
};

/// Nova's metadata API, which the agent forwards the requests of servers to.
pub struct MetadataApi {
    host: String,
    secret: String,
    /// Whether it is encrypted, and the certificate of its issuer where the system may not know it.
    tls: Option<Option<String>>,
}

impl MetadataApi {
    /// Returns the metadata API of the Nova in the namespace. Its Secret is the nova-operator's: until it has generated it, there is
    /// no configuration for agents.
    ///
    /// # Errors
    /// Nova's Secrets aren't there yet.
    pub fn resolve(service: &Service<'_>) -> Prerequisite<Self> {
        let (namespace, name) = (service.namespace, NOVA.part(NOVA_METADATA.name));
        let purpose = "the secret of Nova's metadata API, which the nova-operator generates";
        let values = service.secret(&name, purpose);
        let nova = service.body::<Custom<NovaSpec>>(NOVA.name);
        let values = values?;
        let waiting = || Progress::waiting(Reason::WaitingFor("Nova"), "waits for Nova nova");
        let tls = nova.required(waiting)?.spec.common.tls;
        let tls = tls
            .enabled
            .then(|| authority(namespace, &name, &tls, service.observed))
            .transpose()?;
        Ok(Self {
            host: in_cluster(&name, namespace),
            secret: values.line("secret")?.to_owned(),
            tls,
        })
    }
}

/// Composes the Secret `<neutron>-agent`: the configuration and the release of the agent.
pub fn publish(
    service: &Service<'_>,
    ovn: &Ovn,
    metadata: &MetadataApi,
    desired: &mut DesiredState,
) {
    let mut files = Files::default();
    files.config(CONFIG, &ini(ovn, metadata));
    if let Some(Some(authority)) = &metadata.tls {
        files.text(AUTHORITY, authority);
    }
    AgentSecret::of(service, COMPONENT).apply(files, desired);
}

/// Leaves the Secret as it is.
pub fn keep(service: &Service<'_>, desired: &mut DesiredState) {
    AgentSecret::of(service, COMPONENT).keep(desired);
}

/// The configuration of the agent, but for the node's own name.
fn ini(ovn: &Ovn, metadata: &MetadataApi) -> Config {
    let mut config = Config::default();
    let section = config.section("DEFAULT");
    section
        .set("use_stderr", true)
        .set("state_path", STATE)
        .set("nova_metadata_host", &metadata.host)
        .set(
            "nova_metadata_port",
            NOVA_METADATA.port().unwrap_or_default(),
        )
        .secret("metadata_proxy_shared_secret", &metadata.secret);
    if let Some(authority) = &metadata.tls {
        section.set("nova_metadata_protocol", "https");
        if authority.is_some() {
            section.set("auth_ca_cert", NEUTRON.file(AUTHORITY));
        }
    }
    // The agent is root in its pod, which has no sudo.
    config
        .section("agent")
        .set("extensions", "metadata")
        .set("root_helper", "");
    ovn.connect(config.section("ovn"), OVN_FOLDER, OVN_FILES);
    config
        .section("ovs")
        .set("ovsdb_connection", "unix:/run/openvswitch/db.sock");
    config
        .section("oslo_concurrency")
        .set("lock_path", format!("{STATE}/lock"));
    config
}
