# A client of the northbound database that stays connected, and remembers how far the database has come. It does what `ovn-nbctl` is told.
tls=/etc/ovn/tls
ovn-nbctl --db="$NORTHBOUND" --private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt \
    --unixctl="$OVN_NB_DAEMON" --detach --no-chdir -vconsole:off -vsyslog:off
exec sleep infinity
