# Runs a member of a clustered OVSDB database (ovsdb(7), "Clustered Database Service Model"), for instance one of NB.
#
# `run` is the container's command, `ready` and `alive` are its probes. The environment says which member it is, and the
# files in /etc/ovn/cluster what the cluster should be; these files change without a restart.

set -eu

settings=/etc/ovn/cluster
tls=/etc/ovn/tls
run=/run/ovn
file=/var/lib/ovn/$DATABASE.db
schema=/usr/share/ovn/ovn-$DATABASE.ovsschema
case $DATABASE in
nb) name=OVN_Northbound table=NB_Global ;;
sb) name=OVN_Southbound table=SB_Global ;;
esac
socket=unix:$run/db.sock
ordinal=${POD_NAME##*-}
address=$PROTOCOL:$POD_NAME.$DOMAIN:$RAFT_PORT
# Seconds between two looks at the cluster.
interval=5
# Looks in a row at which a member is disconnected, and missing in the list of a connected one, before it deletes its database.
patience=12
# The key of `external_ids` under which the leader lists the IDs of the cluster's servers.
list=c5c3-members

say() { echo "member $POD_NAME: $*" >&2; }
# Says something once, until `said` is emptied.
once() {
    [ "$said" = "$*" ] || say "$*"
    said=$*
}
setting() { cat "$settings/$1"; }
control() { ovs-appctl --timeout=10 --target="$run/server.ctl" "$@"; }
keys() {
    [ "$PROTOCOL" != ssl ] || echo "--private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt"
}

# Tells whether a server is connected to a majority of its cluster.
connected() {
    where="[[\"name\",\"==\",\"$name\"],[\"connected\",\"==\",true]]"
    query="[\"_Server\",{\"op\":\"select\",\"table\":\"Database\",\"where\":$where,\"columns\":[\"name\"]}]"
    # shellcheck disable=SC2046
    ovsdb-client --timeout=5 $(keys) query "$1" "$query" 2>/dev/null | grep --quiet "$name"
}

# Prints the other members' addresses at a port.
peers() {
    peer=0
    while [ "$peer" -lt "$(setting replicas)" ]; do
        [ "$peer" = "$ordinal" ] || echo "$PROTOCOL:${POD_NAME%-*}-$peer.$DOMAIN:$1"
        peer=$((peer + 1))
    done
}

# Prints the address of another member that is connected to a majority.
other() {
    for peer in $(peers "$PORT"); do
        host=${peer#*:}
        if getent hosts "${host%:*}" >/dev/null && connected "$peer"; then
            echo "$peer"
            return 0
        fi
    done
    return 1
}

# Prints the list of the cluster's servers that a member has; nothing without one.
listed() {
    query="[\"$name\",{\"op\":\"select\",\"table\":\"$table\",\"where\":[],\"columns\":[\"external_ids\"]}]"
    # shellcheck disable=SC2046
    ovsdb-client --timeout=5 $(keys) query "$1" "$query" 2>/dev/null |
        sed -n "s/.*\[\"$list\",\"\([0-9a-f ]*\)\"\].*/\1/p"
}

# Tells whether another member is connected to a majority and has a list of servers without this one, whose `cluster/status` is given.
removed() {
    peer=$(other) || return 1
    server=$(echo "$1" | sed -n 's/^Server ID: \([0-9a-f]*\) .*/\1/p')
    ids=$(listed "$peer")
    if [ -z "$server" ] || [ -z "$ids" ]; then
        once "is disconnected and keeps its database: $peer has no list of the cluster's servers"
        return 1
    fi
    case " $ids " in
    *" $server "*)
        once "is disconnected, and still a member: check that members reach each other at port $RAFT_PORT"
        return 1
        ;;
    esac
}

# Tells whether the cluster was created before: the operator has recorded it, or another member knows it.
exists() { [ "${CREATED:-}" = true ] || other >/dev/null; }

# Makes the database file of a member that has none. Only the first member of a cluster that never existed creates it: a
# second cluster would have neither the data nor the other members of the first.
prepare() {
    rm -f "$file.new"
    if [ "$ordinal" = 0 ] && ! exists; then
        say "creates the cluster"
        ovsdb-tool --election-timer="$(setting election-timer)" create-cluster "$file.new" "$schema" "$address"
    else
        remotes=$(peers "$RAFT_PORT")
        [ -n "$remotes" ] || {
            say "has lost its database, and there is no other member to copy it from: restore a backup"
            return 1
        }
        say "joins the cluster"
        # shellcheck disable=SC2086
        ovsdb-tool join-cluster "$file.new" "$name" "$address" $remotes
    fi
    mv "$file.new" "$file"
}

# Writes the server's configuration, and has the server read it if it changed.
configure() {
    case $POD_IP in
    *:*) any='[::]' ;;
    *) any=0.0.0.0 ;;
    esac
    transport=p$PROTOCOL
    cat >"$run/server.new" <<JSON
{
    "remotes": {
        "punix:$run/db.sock": {},
        "$transport:$PORT:$any": {"inactivity-probe": $(setting inactivity-probe)}
    },
    "databases": {"$file": {}}
}
JSON
    if cmp -s "$run/server.new" "$run/server.json"; then
        return
    fi
    mv "$run/server.new" "$run/server.json"
    [ ! -S "$run/server.ctl" ] || control ovsdb-server/reload
}

# Prints the members to remove, of the leader's `cluster/status`: one whose address another, living one has, because it
# lost its volume and joined anew; and one that was scaled away, whose pod is gone.
stale() {
    echo "$1" | awk -v replicas="$(setting replicas)" -v limit="$2" '
        /^Servers:/ { servers = 1; next }
        !servers || NF < 4 { next }
        {
            address[$1] = $4
            sub(/\)$/, "", address[$1])
            silence = limit
            if (/\(self\)/) silence = 0
            for (i = 1; i < NF; i++) if ($i == "msg") silence = $(i + 1)
            lives[$1] = silence + 0 < limit + 0
            if (lives[$1]) living[address[$1]] = 1
        }
        END {
            for (server in address) if (!lives[server]) {
                split(address[server], part, ":")
                host = part[2]
                ordinal = host
                sub(/\..*/, "", ordinal)
                sub(/.*-/, "", ordinal)
                if (address[server] in living) print server
                else if (ordinal + 0 >= replicas + 0) print server, host
            }
        }'
}

# Prints the IDs of the servers in a `cluster/status`, which has the first four digits of each.
servers() {
    echo "$1" | awk '/^Servers:/ { servers = 1; next } servers && NF >= 4 { print $1 }' | sort | paste -s -d ' ' -
}

# Sets a key in a column of NB_Global or SB_Global. Nothing is written where it has the value.
set_key() {
    value="[\"map\",[[\"$2\",\"$3\"]]]"
    change="[[\"$1\",\"delete\",[\"set\",[\"$2\"]]],[\"$1\",\"insert\",$value]]"
    ovsdb-client --timeout=10 transact "$socket" "[\"$name\",{\"op\":\"mutate\",\"table\":\"$table\",
        \"where\":[[\"$1\",\"excludes\",$value]],\"mutations\":$change}]" >/dev/null
}

# Does what the leader does for the cluster.
lead() {
    status=$1
    timer=$(echo "$status" | sed -n 's/^Election timer: \([0-9]*\).*/\1/p')
    stale "$status" "$((timer * 2))" | while read -r server host; do
        if [ -z "$host" ] || ! getent hosts "$host" >/dev/null; then
            say "removes member $server"
            control cluster/kick "$name" "$server" || :
        fi
    done
    set_key external_ids "$list" "$(servers "$status")" || :
    target=$(setting election-timer)
    if [ "$timer" != "$target" ]; then
        # OVSDB refuses to more than double it at once.
        [ "$target" -le "$((timer * 2))" ] || target=$((timer * 2))
        control cluster/change-election-timer "$name" "$target" || :
    fi
    current=$(ovsdb-client --timeout=10 get-schema-version "$socket" "$name")
    if ovsdb-tool compare-versions "$current" '<' "$(ovsdb-tool schema-version "$schema")"; then
        say "converts the database from schema $current"
        ovsdb-client --timeout=120 convert "$socket" "$schema"
    fi
    # How long northd waits for an answer of its databases (ovn-nb(5)). With OVN's default of five seconds it loses its connections while a
    # large database is compacted.
    [ "$DATABASE" != nb ] || set_key options northd_probe_interval "$(setting inactivity-probe)"
}

# Leaves the cluster, and deletes the copy, which must not come back.
leave() {
    say "leaves the cluster"
    control cluster/leave "$name"
    # The server closes the database of a cluster that it has left.
    while control cluster/status "$name" 2>/dev/null | grep --quiet '^Status: \(cluster member\|leaving\)'; do
        sleep 1
    done
    rm -f "$file"
    say "has left the cluster"
    control exit
}

# Looks after a server for as long as it runs. One that was removed while it was down isn't told: it stays disconnected, and the
# others' list lacks it. One that the network has cut off, perhaps at its Raft port alone, is listed and keeps its database: while
# its former self counts as a member, fewer may fail. The list may be old for some seconds, after a backup was restored for instance.
tend() {
    looks=0
    said=
    while sleep "$interval"; do
        configure || :
        status=$(control cluster/status "$name" 2>/dev/null) || continue
        if [ "$ordinal" -ge "$(setting replicas)" ]; then
            leave
            return
        fi
        case $status in
        *"Role: leader"*)
            looks=0 said=
            lead "$status" || :
            ;;
        *"Status: disconnected"*) if removed "$status"; then looks=$((looks + 1)); else looks=0; fi ;;
        *) looks=0 said= ;;
        esac
        if [ "$looks" -ge "$patience" ]; then
            say "was removed from the cluster"
            rm -f "$file"
            control exit
            return
        fi
    done
}

case $1 in
run)
    trap 'exit 0' TERM INT
    while [ "$ordinal" -ge "$(setting replicas)" ]; do
        say "isn't wanted"
        sleep "$interval"
    done
    if [ -e "$file" ] && ovsdb-tool check-cluster "$file" 2>&1 | grep --quiet 'server left the cluster'; then
        say "was removed from the cluster"
        rm "$file"
    fi
    [ -e "$file" ] || prepare
    rm -f "$run/server.json" "$run/server.ctl"
    configure
    # shellcheck disable=SC2046
    ovsdb-server --config-file="$run/server.json" --unixctl="$run/server.ctl" $(keys) \
        -vconsole:info -vsyslog:off -vfile:off &
    server=$!
    tend &
    trap 'control exit || kill "$server"' TERM INT
    # A trapped signal ends the first wait.
    wait "$server" || :
    wait "$server"
    ;;
ready) connected "$socket" ;;
alive) [ ! -S "$run/server.ctl" ] || control version ;;
esac
