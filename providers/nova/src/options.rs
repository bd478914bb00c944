//! Which options of `extraConfig` reach nova-compute. It is root on hypervisors, whose platform team isn't who writes a Nova: an
//! option must not run programs, read or write files of the node, or weaken what separates servers from it.

use provider_composer::{Failure, Reason};
use provider_openstack::Extra;

/// Sections of which nova-compute takes numbers, truth values and choices.
const TAKEN: [&str; 10] = [
    "DEFAULT",
    "cinder",
    "compute",
    "glance",
    "image_cache",
    "libvirt",
    "neutron",
    "oslo_messaging_rabbit",
    "placement",
    "workarounds",
];
/// Options that it takes whatever their kind: sets of processors, and what virtual machines look like.
const TEXTS: [(&str, &str); 8] = [
    ("DEFAULT", "default_log_levels"),
    ("DEFAULT", "reserved_huge_pages"),
    ("compute", "cpu_dedicated_set"),
    ("compute", "cpu_shared_set"),
    ("libvirt", "cpu_model_extra_flags"),
    ("libvirt", "cpu_models"),
    ("libvirt", "disk_cachemodes"),
    ("libvirt", "hw_machine_type"),
];
/// Options of those sections that only nova-compute reads and that it never takes, though some are truth values: they
/// choose programs, files and the node's devices, mount disks of servers, switch checks off, or take what the node itself needs.
const REFUSED: [(&str, &str); 34] = [
    ("DEFAULT", "compute_driver"),
    ("DEFAULT", "compute_monitors"),
    ("DEFAULT", "default_ephemeral_format"),
    ("DEFAULT", "flat_injected"),
    ("DEFAULT", "injected_network_template"),
    ("DEFAULT", "instances_path"),
    ("DEFAULT", "mkisofs_cmd"),
    ("DEFAULT", "my_block_storage_ip"),
    ("DEFAULT", "my_ip"),
    ("DEFAULT", "my_shared_fs_storage_ip"),
    ("DEFAULT", "pybasedir"),
    ("DEFAULT", "reserved_host_disk_mb"),
    ("DEFAULT", "reserved_host_memory_mb"),
    ("DEFAULT", "resize_fs_using_block_device"),
    ("DEFAULT", "rootwrap_config"),
    ("DEFAULT", "tempdir"),
    ("DEFAULT", "timeout_nbd"),
    ("DEFAULT", "use_rootwrap_daemon"),
    ("DEFAULT", "vcpu_pin_set"),
    ("DEFAULT", "virt_mkfs"),
    ("compute", "provider_config_location"),
    ("libvirt", "cpu_power_management"),
    ("libvirt", "images_type"),
    ("libvirt", "inject_key"),
    ("libvirt", "inject_partition"),
    ("libvirt", "inject_password"),
    ("libvirt", "live_migration_tunnelled"),
    ("libvirt", "live_migration_with_native_tls"),
    ("libvirt", "realtime_scheduler_priority"),
    ("libvirt", "virt_type"),
    ("pci", "device_spec"),
    ("workarounds", "disable_deep_image_inspection"),
    ("workarounds", "disable_rootwrap"),
    ("workarounds", "ensure_libvirt_rbd_instance_dir_cleanup"),
];
/// An option of those sections that conductors alone read (nova/db/main/api.py, `service_create`). A change of it restarts no nova-compute.
const OF_CONDUCTORS: (&str, &str) = ("DEFAULT", "enable_new_services");
/// Sections that only nova-compute and its privileged helpers read.
const ITS_OWN: [&str; 8] = [
    "libvirt",
    "nova_sys_admin",
    "os_brick",
    "os_vif_linux_bridge",
    "os_vif_ovs",
    "privsep",
    "privsep_osbrick",
    "vif_plug_ovs_privileged",
];

/// Whether nova-compute takes an option. `is_plain` says that its values are numbers, truth values or choices.
pub fn takes(section: &str, option: &str, is_plain: bool) -> bool {
    let given = (section, option);
    let is_plain = is_plain && TAKEN.contains(&section) && option != "insecure";
    let is_left = REFUSED.contains(&given) || given == OF_CONDUCTORS;
    (is_plain && !is_left) || TEXTS.contains(&given)
}

/// Checks that there is no option that nobody would take.
///
/// # Errors
/// There is: the failure names it.
pub fn check(extra: &Extra) -> Result<(), Failure> {
    let refused = extra.find(|section, option, is_plain| {
        let is_own = ITS_OWN.contains(&section) || REFUSED.contains(&(section, option));
        is_own && !takes(section, option, is_plain)
    });
    match refused {
        None => Ok(()),
        Some((section, option)) => Err(Failure::new(
            Reason::OwnedByOperator,
            format!(
                "extraConfig sets [{section}] {option}, which nova-compute would read as root on hypervisors, and hypervisors \
                 belong to the platform: leave it out; docs/nova.md lists the options that hypervisors take"
            ),
        )),
    }
}
