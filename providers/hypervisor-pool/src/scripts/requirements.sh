# Ends with a message if the node lacks something that the pod needs. The share's condition HostsReady shows the message.
fail() {
    echo "$1" | tee /dev/termination-log
    exit 1
}
# What is on the node belongs to the share that leased it last, by its name and identity, until the node is wiped.
if [ -e /host/nova/lease ]; then
    read -r share identity < /host/nova/lease || true
    if [ "$share $identity" != "$LEASE" ]; then
        theirs="the node has servers or files of the HypervisorShare $share with the identity $identity, so that agents of ${LEASE% *} with the identity ${LEASE##* } don't start there"
        install="Install the node anew only if none of these servers is wanted any more"
        [ "$share" != "${LEASE% *}" ] ||
            fail "$theirs: if this share was created again for the same control plane, set its spec.identity to $identity. $install"
        fail "$theirs: give the node back by setting its label c5c3.node-restriction.kubernetes.io/control-plane to the control plane of the HypervisorShare $share. $install"
    fi
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
