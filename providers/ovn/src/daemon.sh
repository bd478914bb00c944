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
    set -- ovsdb-server --remote="punix:$run/db.sock" --remote="p$PROTOCOL:$PORT:$any" \
        "relay:OVN_Southbound:$SOUTHBOUND"
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
