set -eu
cd /var/lib/ovn-backup
keys=
if [ "$PROTOCOL" = ssl ]; then
    tls=/etc/ovn/tls
    keys="--private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt"
fi
now=$(date -u +%Y%m%dT%H%M%SZ)
backup() {
    # shellcheck disable=SC2086
    ovsdb-client --timeout=600 $keys backup "$2" "$3" >"$1.part"
    mv "$1.part" "$1-$now.db"
    ls "$1"-*.db | sort -r | tail -n "+$((KEEP + 1))" | xargs -r rm
}
backup nb "$NORTHBOUND" OVN_Northbound
backup sb "$SOUTHBOUND" OVN_Southbound
