# Connects the bridges of the pool's physical networks, and tells OVN which networks the node reaches (ovn-controller(8)): Neutron chooses
# gateways of a network among nodes that have it in ovn-bridge-mappings, and enable-chassis-as-gw in ovn-cms-options. An uplink is the
# interface that the pool names, or a port that somebody has added. With the argument `once` it ends after the first round, with a message
# if an interface can't be an uplink. The share's condition HostsReady shows the message.
switch() { ovs-vsctl --timeout=30 "$@"; }
option() {
    case $2 in
        '') switch remove Open_vSwitch . external_ids "$1" ;;
        *) switch set Open_vSwitch . "external_ids:$1=\"$2\"" ;;
    esac
}

# Prints the interfaces of a bridge but OVN's own, which lead to the integration bridge (ovn, controller/patch.c).
ports() {
    interfaces=$(switch list-ifaces "$1") || return
    for port in $interfaces; do
        case $port in patch-*-to-br-int) ;; *) printf '%s ' "$port" ;; esac
    done
}

# Prints why an interface stays the node's own. Open vSwitch takes all packets of its ports, which may be the node's only way out.
objection() {
    other=$(switch iface-to-br "$1" 2> /dev/null) || other=
    addresses=$(ip -o address show dev "$1" scope global) || { echo "can't be examined"; return; }
    routes=$(ip -4 route show default dev "$1") || { echo "can't be examined"; return; }
    # Fails where the kernel has no IPv6.
    routes=$routes$(ip -6 route show default dev "$1" 2> /dev/null) || :
    if [ -n "$other" ]; then
        echo "is a port of the bridge $other"
    elif [ -n "$addresses" ]; then
        echo "has the address $(echo "$addresses" | awk '{ print $4; exit }')"
    elif [ -n "$routes" ]; then
        echo "has a default route"
    else
        # A bond, a bridge or a VLAN, which may have the node's address.
        for upper in "/sys/class/net/$1"/upper_*; do
            [ ! -e "$upper" ] || { echo "is part of ${upper##*/upper_}"; return; }
        done
    fi
}

refuse() { refused="$refused${refused:+; }$1"; }

# Adds the network's interface to its bridge, where the node has it and the bridge has no other, which could be a loop.
connect() {
    case " $uplinks" in
        ' ') ;;
        *" $interface "*)
            # After the node was started, an interface may be down.
            [ -n "$reported" ] || ip link set "$interface" up || :
            return
            ;;
        *)
            refuse "the bridge $bridge has the uplink ${uplinks% }, so that $interface isn't added to it: set interface of $network in the pool to the one that the bridge has, or remove that from the bridge with ovs-vsctl del-port"
            return
            ;;
    esac
    [ -d "/sys/class/net/$interface" ] || return 0
    reason=$(objection "$interface")
    if [ -n "$reason" ]; then
        refuse "the network interface $interface $reason, which the node would lose if it became the uplink of $network: set interface of $network in the pool to one that the node itself doesn't use"
    elif ! switch -- --may-exist add-port "$bridge" "$interface" || ! ip link set "$interface" up; then
        refuse "the network interface $interface can't be added to $bridge: see the log of this container"
    fi
}

# Leaves everything as it is where Open vSwitch doesn't answer.
round() {
    refused= mappings= missing=
    for entry in $NETWORKS; do
        network=${entry%%:*}
        bridge=${entry#*:}
        interface=${bridge#*:}
        bridge=${bridge%%:*}
        switch -- --may-exist add-br "$bridge" -- set bridge "$bridge" datapath_type="$DATAPATH" || return
        uplinks=$(ports "$bridge") || return
        [ -z "$interface" ] || connect
        uplinks=$(ports "$bridge") || return
        # Open vSwitch couldn't add these, for instance because the node doesn't have them any more.
        failed=$(switch --bare --columns=name find Interface ofport=-1) || return
        failed=$(echo $failed)
        # A bridge with an address is connected by the node's own routes.
        connected=$(ip -o address show dev "$bridge" scope global 2> /dev/null) || :
        for port in $uplinks; do
            case " $failed " in *" $port "*) ;; *) connected=$port ;; esac
        done
        if [ -n "$connected" ]; then
            mappings=$mappings${mappings:+,}$network:$bridge
        else
            missing="$missing $network"
        fi
    done
    options=$CHASSIS_OPTIONS
    if [ -n "$GATEWAY" ] && [ -n "$mappings" ]; then
        options=$GATEWAY${options:+,}$options
    fi
    option ovn-bridge-mappings "$mappings" || return
    option ovn-cms-options "$options" || return
    if [ -z "$missing" ]; then touch /tmp/connected; else rm -f /tmp/connected; fi
    report="uplinks: ${mappings:-none}, without:${missing:- none}${refused:+, }$refused"
    [ "$report" = "$reported" ] || echo "$report"
    reported=$report
}

reported=
rm -f /tmp/connected
if [ "${1:-}" = once ]; then
    until round; do sleep 1; done
    [ -z "$refused" ] || { echo "$refused" | tee /dev/termination-log; exit 1; }
    exit 0
fi
while :; do
    round || :
    sleep 30
done
