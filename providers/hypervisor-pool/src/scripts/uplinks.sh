# Connects the bridges of the pool's physical networks, and tells OVN which networks the node reaches (ovn-controller(8)): Neutron chooses
# gateways of a network among nodes that have it in ovn-bridge-mappings, and enable-chassis-as-gw in ovn-cms-options. An uplink is the
# interface that the pool names, or a port that somebody has added. The share's condition UplinksReady shows why an interface is refused.
switch() { ovs-vsctl --timeout=30 "$@"; }
option() {
    case $2 in
        '') switch remove Open_vSwitch . external_ids "$1" ;;
        *) switch set Open_vSwitch . "external_ids:$1=\"$2\"" ;;
    esac
}
value() {
    text=$(switch --if-exists get Open_vSwitch . "external_ids:$1") || return
    text=${text#\"}
    printf '%s' "${text%\"}"
}

# Prints the interfaces of a bridge but OVN's own, which lead to the integration bridge (ovn, controller/patch.c).
ports() {
    interfaces=$(switch list-ifaces "$1") || return
    for port in $interfaces; do
        case $port in patch-*-to-br-int) ;; *) printf '%s ' "$port" ;; esac
    done
}

# Prints what the node itself has on an interface, if anything. Fails if that can't be examined. iproute2 doesn't list routes with several
# next hops for an interface, so that all routes are searched. The kernel gives every interface link-local addresses and their routes.
use() {
    addresses=$(ip -o address show dev "$1") || return
    routes=$(ip -o -4 route show table all) || return
    if [ -e /proc/net/if_inet6 ]; then
        more=$(ip -o -6 route show table all) || return
        routes="$routes
$more"
    fi
    address=$(printf '%s\n' "$addresses" |
        awk '$3 == "inet" || ($3 == "inet6" && $4 !~ /^fe80:/) { print $4; exit }') || return
    route=$(printf '%s\n' "$routes" | awk -v interface="$1" '
        / proto kernel( |$)/ && /^((local|anycast|multicast) )?(fe80:|ff)/ { next }
        {
            for (i = 1; i < NF; i++)
                if ($i == "dev" && $(i + 1) == interface && !found++) print ($1 ~ /^[a-z]+$/ && $1 != "default" ? $2 : $1)
        }') || return
    if [ -n "$address" ]; then
        echo "has the address $address"
    elif [ -n "$route" ]; then
        echo "has the route $route"
    else
        # A bond, a bridge or a VLAN, which may have the node's address.
        for upper in "/sys/class/net/$1"/upper_*; do
            [ ! -e "$upper" ] || { echo "is part of ${upper##*/upper_}"; return; }
        done
    fi
}

# Prints why an interface stays the node's own. Open vSwitch takes all packets of its ports, which may be the node's only way out.
objection() {
    other=$(switch --bare --columns=name find Interface "name=\"$1\"") || return
    if [ -n "$other" ]; then
        other=$(switch iface-to-br "$1") || return
        echo "is a port of the bridge $other"
    else
        use "$1"
    fi
}

# Adds the interface to its bridge. Prints why Open vSwitch can't use it: ovs-vsctl only warns of that.
take() {
    switch add-port "$bridge" "$interface" || return
    number=$(switch get Interface "$interface" ofport) || return
    if [ "$number" = -1 ]; then
        error=$(switch get Interface "$interface" error) || error=
        switch del-port "$bridge" "$interface" || return
        # Quotes would end the option that has the reason.
        printf '%s\n' "can't be opened by Open vSwitch: $error" | tr -d '"\\'
        return
    fi
    ip link set "$interface" up || :
}

refuse() { refused="$refused${refused:+; }$1"; }

# Adds the network's interface to its bridge, where the node has it and the bridge has no other, which could be a loop. One that is refused
# stays refused while the pool names it: it may be in use at other moments only, for instance once the node has started. For the same reason
# it is added only after some rounds.
connect() {
    foreign=
    refusal=$(value "c5c3-refused-$network") || return
    if [ -n "$refusal" ] && [ "${refusal%% *}" != "$interface" ]; then
        option "c5c3-refused-$network" '' || return
        refusal=
    fi
    [ -n "$interface" ] || return 0
    idle=/tmp/idle-$network
    [ -z "$uplinks" ] || rm -f "$idle"
    case " $uplinks" in
        ' ') ;;
        *" $interface "*)
            # Somebody has added it after all.
            if [ -n "$refusal" ]; then option "c5c3-refused-$network" '' || return; fi
            # After the node was started, an interface may be down.
            [ -n "$reported" ] || ip link set "$interface" up || :
            return 0
            ;;
        *)
            foreign=true
            refuse "the bridge $bridge has the uplink ${uplinks% }, so that $interface isn't added to it: set interface of $network in the pool to the one that the bridge has, or remove that from the bridge with ovs-vsctl del-port"
            return 0
            ;;
    esac
    if [ -z "$refusal" ]; then
        [ -d "/sys/class/net/$interface" ] || { rm -f "$idle"; return 0; }
        if ! reason=$(objection "$interface"); then
            rm -f "$idle"
            refuse "the network interface $interface can't be examined, so that it isn't made the uplink of $network: see the log of this container"
            return 0
        fi
        if [ -z "$reason" ]; then
            echo >> "$idle"
            [ "$(wc -l < "$idle")" -ge 3 ] || return 0
            if ! reason=$(take); then
                refuse "the network interface $interface can't be added to $bridge: see the log of this container"
                return 0
            fi
        fi
        rm -f "$idle"
        [ -n "$reason" ] || return 0
        refusal="$interface $reason"
        option "c5c3-refused-$network" "$refusal" || return
    fi
    refuse "the network interface $refusal, so that it isn't made the uplink of $network: set interface of $network in the pool to one that the node itself doesn't use or, once this one is free, add it on the node with ovs-vsctl add-port $bridge $interface"
}

# Leaves everything as it is where Open vSwitch doesn't answer.
round() {
    refused= mappings= missing=
    before=$(value ovn-bridge-mappings) || return
    for entry in $NETWORKS; do
        network=${entry%%:*}
        bridge=${entry#*:}
        interface=${bridge#*:}
        bridge=${bridge%%:*}
        switch -- --may-exist add-br "$bridge" -- set bridge "$bridge" datapath_type="$DATAPATH" || return
        uplinks=$(ports "$bridge") || return
        connect || return
        uplinks=$(ports "$bridge") || return
        # Open vSwitch couldn't add these, for instance because the node doesn't have them any more.
        failed=$(switch --bare --columns=name find Interface ofport=-1) || return
        failed=$(echo $failed)
        connected=
        if [ -n "$foreign" ]; then
            # It may lead to another network. What the node had stays, as somebody may have meant it.
            case ",$before," in *",$network:$bridge,"*) connected=before ;; esac
        else
            # The node's own routes, or devices on top, connect a bridge too.
            if [ -d "/sys/class/net/$bridge" ]; then connected=$(use "$bridge") || return; fi
            for port in $uplinks; do
                case " $failed " in *" $port "*) ;; *) connected=$port ;; esac
            done
        fi
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

# Only what a container has left when it ended is in the status of its pod. It therefore ends whenever the refusals have changed, and
# however it ends later, it leaves the same.
say() { cat /tmp/refused > /dev/termination-log; }
touch /tmp/refused
say
reported=
rm -f /tmp/connected /tmp/idle-*
while :; do
    if round && [ "$refused" != "$(cat /tmp/refused)" ]; then
        printf '%s' "$refused" > /tmp/refused
        say
        exit 1
    fi
    sleep 30
done
