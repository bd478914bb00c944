# Tells Open vSwitch what the node is (ovn-controller(8)), and follows the southbound database.
switch() { ovs-vsctl --timeout=30 "$@"; }
until ovs-vsctl --timeout=5 show > /dev/null; do sleep 1; done

address_of() { ip -4 -o address show dev "$1" scope global | awk '{ split($4, parts, "/"); print parts[1]; exit }'; }
address=$HOST_IP
if [ -n "$TUNNEL_INTERFACE" ]; then
    device=$TUNNEL_INTERFACE
    [ "$DATAPATH" = netdev ] && device=br-tunnel
    until address=$(address_of "$device") && [ -n "$address" ]; do sleep 1; done
fi
option() {
    case $2 in
        '') switch remove Open_vSwitch . external_ids "$1" ;;
        *) switch set Open_vSwitch . "external_ids:$1=\"$2\"" ;;
    esac
}
option system-id "$NODE_NAME"
option hostname "$NODE_NAME"
option ovn-encap-type geneve
option ovn-encap-ip "$address"
option ovn-bridge-datapath-type "$DATAPATH"
# With physical networks the agent of uplinks sets both, as the node reaches them.
if [ "$UPLINKS" = false ]; then
    option ovn-bridge-mappings ''
    option ovn-cms-options "$CHASSIS_OPTIONS"
fi
option ovn-monitor-all true
# The default of five seconds ends connections while a large database is compacted or recomputed.
option ovn-remote-probe-interval 60000
# A new process writes all flows before it removes those of the last one.
option ovn-ofctrl-wait-before-clear 8000
# Flows of a newer northd may mean nothing to this program: it keeps those that it has until it is upgraded.
option ovn-match-northd-version true
option ovn-remote "$OVN_REMOTE"
exec ovn-controller unix:/run/openvswitch/db.sock --pidfile=/run/ovn/ovn-controller.pid "$@"
