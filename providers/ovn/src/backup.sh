set -eu
cd /var/lib/ovn-backup
keys=
if [ "$PROTOCOL" = ssl ]; then
    tls=/etc/ovn/tls
    keys="--private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt"
fi
now=$(date -u +%Y%m%dT%H%M%SZ)
prune() { ls "$1"-*.db 2>/dev/null | sort -r | tail -n "+$((KEEP + 1))" | xargs -r rm; }
backup() {
    # shellcheck disable=SC2086
    ovsdb-client --timeout=600 $keys backup "$2" "$3" >"$1.part" || {
        rm -f "$1.part"
        exit 1
    }
    mv "$1.part" "$1-$now.db"
    prune "$1"
}
prune nb
prune sb
backup nb "$NORTHBOUND" OVN_Northbound
backup sb "$SOUTHBOUND" OVN_Southbound
