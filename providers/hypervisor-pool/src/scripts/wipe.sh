# Deletes what the agents of a control plane left on the node. It deletes nothing while a server or an agent is there. The share's
# condition HostsReady shows why it fails.
fail() {
    echo "$1" | tee /dev/termination-log
    exit 1
}
for file in /proc/[0-9]*/comm; do
    read -r name 2> /dev/null < "$file" || continue
    case $name in
        qemu-system-* | qemu-kvm | libvirtd | nova-compute | ovn-controller | ovs-vswitchd | ovsdb-server)
            fail "the process $name runs on the node, which therefore isn't wiped"
            ;;
    esac
done
for file in /host/libvirt/definitions/*.xml /host/run-libvirt/qemu/*.xml; do
    [ ! -e "$file" ] || fail "libvirt has the domain of $file, so that the node isn't wiped"
done
for folder in /host/nova /host/nova/instances; do
    [ -d "$folder" ] || continue
    type=$(stat --file-system --format %T "$folder")
    case $type in
        btrfs | ext2/ext3 | overlayfs | tmpfs | xfs | zfs) ;;
        *) fail "/var/lib${folder#/host} is on a file system of the type $type, which other nodes may use: delete this node's files, and unmount it" ;;
    esac
done

if [ -e /host/openvswitch/conf.db ]; then
    database() { ovs-vsctl --db=unix:/tmp/db.sock --no-wait --timeout=5 "$@"; }
    rm -f /tmp/db.sock
    ovsdb-server /host/openvswitch/conf.db --remote=punix:/tmp/db.sock --unixctl=/tmp/ovsdb-server.ctl \
        --pidfile=/tmp/ovsdb-server.pid &
    server=$!
    until [ -S /tmp/db.sock ]; do
        kill -0 "$server" || fail "ovsdb-server doesn't start: see the log of this container"
        sleep 1
    done
    # The pool's bridges stay, with the node's own interfaces and the bridges of the node's own that they lead to. Ports to the control
    # plane's bridge go (ovn, controller/patch.c). It ends if anything can't be read.
    bridges=$(database list-br)
    kept=" $BRIDGES "
    for bridge in $bridges; do
        case $kept in *" $bridge "*) ;; *) continue ;; esac
        ports=$(database list-ports "$bridge")
        for port in $ports; do
            case $port in patch-*-to-br-int) database del-port "$bridge" "$port" ;; esac
        done
    done
    # A bridge of the node's own may lead to another one.
    found=true
    while [ -n "$found" ]; do
        found=
        peers=' '
        for bridge in $bridges; do
            case $kept in *" $bridge "*) ;; *) continue ;; esac
            ports=$(database list-ports "$bridge")
            for port in $ports; do
                type=$(database --if-exists get Interface "$port" type)
                [ "$type" = patch ] || continue
                peer=$(database --if-exists get Interface "$port" options:peer)
                peer=${peer#\"}
                peers="$peers${peer%\"} "
            done
        done
        for bridge in $bridges; do
            case "$kept br-int br-tunnel " in *" $bridge "*) continue ;; esac
            ports=$(database list-ports "$bridge")
            for port in $ports; do
                case $peers in *" $port "*) kept="$kept$bridge " found=true; break ;; esac
            done
        done
    done
    for bridge in $bridges; do
        case $kept in *" $bridge "*) ;; *) database del-br "$bridge" ;; esac
    done
    # What agents have set, and which interfaces they have refused.
    database clear Open_vSwitch . external_ids
    # Deleted rows stay in the file until then.
    ovs-appctl --target=/tmp/ovsdb-server.ctl ovsdb-server/compact
    ovs-appctl --target=/tmp/ovsdb-server.ctl exit
    wait "$server"
fi
if [ -d /sys/module/openvswitch ]; then
    for datapath in $(ovs-dpctl dump-dps); do ovs-dpctl del-dp "$datapath"; done
fi
if [ -n "$TUNNEL_INTERFACE" ] && [ -e /host/openvswitch/tunnel-address ]; then
    # The bridge that had taken over the address is gone.
    ip address replace "$(cat /host/openvswitch/tunnel-address)" dev "$TUNNEL_INTERFACE"
    ip link set "$TUNNEL_INTERFACE" up
    rm /host/openvswitch/tunnel-address
fi

# Neither follows mounts. The folder of servers may be one.
for folder in /host/nova/instances /host/libvirt /host/log; do
    [ ! -d "$folder" ] || find "$folder" -xdev -mindepth 1 -delete
done
find /host/nova -xdev -mindepth 1 -depth ! -path /host/nova/instances \( ! -type d -o -empty \) -delete
