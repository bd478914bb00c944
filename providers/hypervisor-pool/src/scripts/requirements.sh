# Ends with a message if the node lacks something that the pod needs. The share's condition HostsReady shows the message.
fail() {
    echo "$1" | tee /dev/termination-log
    exit 1
}
# What is on the node belongs to the share that leased it last, until the node is wiped.
if [ -e /host/nova/lease ]; then
    read -r lease < /host/nova/lease || true
    [ "$lease" = "$LEASE" ] ||
        fail "the node has files of the share $lease, which may be servers of another control plane: install the node anew, or delete what is in /var/lib/nova, /var/lib/libvirt and /var/lib/openvswitch"
else
    echo "$LEASE" > /host/nova/lease
fi
for requirement in $REQUIREMENTS; do
    case $requirement in
        tun)
            [ -c /host/dev/net/tun ] ||
                fail "/dev/net/tun is missing: load the kernel module tun"
            ;;
        kvm)
            [ -c /host/dev/kvm ] ||
                fail "/dev/kvm is missing: enable virtualization in the firmware and load kvm_intel or kvm_amd, or set agents.virtualization of the share to qemu"
            ;;
        openvswitch)
            [ -d /sys/module/openvswitch ] ||
                fail "the kernel module openvswitch isn't loaded: load it, or set agents.datapath of the share to netdev"
            ;;
        interface)
            # Once Open vSwitch has taken over the address, the bridge has it.
            [ -d "/sys/class/net/$TUNNEL_INTERFACE" ] ||
                fail "the network interface $TUNNEL_INTERFACE is missing: set agents.tunnelInterface of the share to one that the node has"
            ;;
    esac
done
