database() { ovs-vsctl --no-wait --timeout=5 "$@"; }
until database init; do sleep 1; done

# Flows in the kernel outlive this process. They stay until ovn-controller has written its own again, for ten minutes at most: during an
# upgrade of OVN it writes none before it is of northd's version, and without flows servers that run would have no network.
restore() {
    tries=0
    until ovs-ofctl --timeout=5 dump-aggregate br-int 2> /dev/null | grep -q 'flow_count=[1-9]' || [ $tries -ge 600 ]; do
        tries=$((tries + 1))
        sleep 1
    done
    until database remove Open_vSwitch . other_config flow-restore-wait; do sleep 1; done
}

# In user space only a bridge can be the end of a tunnel: it takes over the interface and its address.
tunnel() {
    ovs-vsctl -- --may-exist add-br br-tunnel -- set bridge br-tunnel datapath_type=netdev \
        -- --may-exist add-port br-tunnel "$TUNNEL_INTERFACE"
    address=$(ip -4 -o address show dev "$TUNNEL_INTERFACE" scope global | awk '{ print $4; exit }')
    if [ -n "$address" ]; then
        ip address flush dev "$TUNNEL_INTERFACE"
        ip address replace "$address" dev br-tunnel
        echo "$address" > /var/lib/openvswitch/tunnel-address
    else
        # After a restart the bridge is a new device.
        ip address replace "$(cat /var/lib/openvswitch/tunnel-address)" dev br-tunnel
    fi
    ip link set br-tunnel up
    ip link set "$TUNNEL_INTERFACE" up
}

# libvirt creates a server's interface, and sets it up while Open vSwitch adds it. In user space Open vSwitch makes it promiscuous, and writes
# all flags as it has read them before (port_create in lib/dpif-netdev.c): the interface may be down then, and nobody else sets it up again.
raise() {
    while sleep 5; do
        down=$(ovs-vsctl --timeout=5 --bare --columns=name \
            find Interface admin_state=down 'external_ids:vm-uuid!=""') || continue
        for interface in $down; do
            if ip link set "$interface" up; then echo "set up the interface $interface of a server"; fi
        done
    done
}

case $DATAPATH in
    system)
        database set Open_vSwitch . other_config:flow-restore-wait=true
        restore &
        ;;
    netdev)
        # Without it packets of servers whose checksums are left to the network interface are lost.
        database set Open_vSwitch . other_config:userspace-tso-enable=true
        tunnel &
        raise &
        ;;
esac
exec ovs-vswitchd unix:/run/openvswitch/db.sock \
    --unixctl=/run/openvswitch/ovs-vswitchd.ctl --pidfile=/run/openvswitch/ovs-vswitchd.pid
