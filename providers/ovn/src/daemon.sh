# Runs a daemon of OVN: northd, or a relay of the southbound database. When its pod ends it is told to exit, which hands a
# lock over at once; a signal alone would not.

set -eu

run=/run/ovn
tls=/etc/ovn/tls
if [ "$PROTOCOL" = ssl ]; then
    keys="--private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt"
fi
control() { ovs-appctl --timeout=10 --target="$run/daemon.ctl" "$@"; }

case $1 in
northd) set -- ovn-northd --ovnnb-db="$NORTHBOUND" --ovnsb-db="$SOUTHBOUND" ;;
relay)
    case $POD_IP in
    *:*) any='[::]' ;;
    *) any=0.0.0.0 ;;
    esac
    cat >"$run/relay.json" <<JSON
{
    "remotes": {
        "punix:$run/db.sock": {},
        "p$PROTOCOL:$PORT:$any": {"inactivity-probe": $INACTIVITY_PROBE}
    },
    "databases": {
        "OVN_Southbound": {
            "service-model": "relay",
            "source": {"$SOUTHBOUND": {"inactivity-probe": $INACTIVITY_PROBE}}
        }
    }
}
JSON
    set -- ovsdb-server --config-file="$run/relay.json"
    ;;
ready-northd)
    control nb-connection-status | grep --quiet '^connected'
    control sb-connection-status | grep --quiet '^connected'
    exit
    ;;
ready-relay)
    where='[["name","==","OVN_Southbound"],["connected","==",true]]'
    query='["_Server",{"op":"select","table":"Database","where":'$where',"columns":["name"]}]'
    ovsdb-client --timeout=5 query "unix:$run/db.sock" "$query" | grep --quiet OVN_Southbound
    exit
    ;;
alive) control version && exit ;;
esac

# shellcheck disable=SC2086
"$@" --unixctl="$run/daemon.ctl" ${keys:-} -vconsole:info -vsyslog:off -vfile:off &
daemon=$!
trap 'control exit || kill "$daemon"' TERM INT
# A trapped signal ends the first wait.
wait "$daemon" || :
wait "$daemon"
