//! Configuration of libvirt.

use c5c3_api::hypervisor::{Agents, HypervisorShareSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::Key;
use provider_openstack::config_map;

use crate::agents::LIBVIRT;
use crate::drain;

/// The folder of the node with QEMU's certificate of consoles, which libvirt's container copies there (libvirtd.sh).
const CONSOLES: &str = "/var/lib/libvirt/consoles";
/// The same with its certificate of migrations. A server started by an earlier pod doesn't see that the volumes of pods change.
const MIGRATION: &str = "/var/lib/libvirt/migration";

/// Returns the key of the ConfigMap with libvirt's configuration on the nodes of a share, and the ConfigMap.
pub fn of_share(share: &str, spec: &HypervisorShareSpec) -> (Key, ConfigMap) {
    let key = Key::of::<ConfigMap>(&drain::namespace(share), LIBVIRT);
    (key, configuration(&spec.agents))
}

/// libvirtd.conf and qemu.conf (<https://libvirt.org/daemons.html>,
/// <https://gitlab.com/libvirt/libvirt/-/blob/master/src/qemu/qemu.conf.in>), with encryption of migrations and consoles where
/// there are certificates.
///
/// Consoles have a certificate of their own: one of the nodes' issuer would make the control plane's proxy an administrator of libvirt.
pub(crate) fn configuration(settings: &Agents) -> ConfigMap {
    let encrypted = settings.is_encrypted();
    let listen = u8::from(encrypted);
    let daemon = format!(
        "# Only nova-compute on the same node uses the socket, as root.\n\
         unix_sock_group = \"root\"\n\
         unix_sock_rw_perms = \"0700\"\n\
         auth_unix_ro = \"none\"\n\
         auth_unix_rw = \"none\"\n\
         # Other nodes connect with a certificate of the same issuer.\n\
         listen_tcp = 0\n\
         listen_tls = {listen}\n"
    );
    let verify = match encrypted {
        true => format!(
            "vnc_tls = 1\n\
             vnc_tls_x509_cert_dir = \"{CONSOLES}\"\n\
             vnc_tls_x509_verify = 1\n\
             default_tls_x509_verify = 1\n\
             migrate_tls_x509_cert_dir = \"{MIGRATION}\"\n\
             migrate_tls_force = 1\n"
        ),
        false => String::new(),
    };
    let qemu = format!(
        "# The pod has no profiles of AppArmor, and servers share no control group with it.\n\
         security_driver = \"none\"\n\
         cgroup_controllers = []\n\
         namespaces = []\n\
         # A log daemon would end with the pod, and servers would block on its pipes.\n\
         stdio_handler = \"file\"\n\
         user = \"libvirt-qemu\"\n\
         {verify}"
    );
    let files = [("libvirtd.conf", daemon), ("qemu.conf", qemu)];
    config_map(ObjectMeta::default(), files)
}
