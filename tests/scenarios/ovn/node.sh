# What a node runs for its networks: Open vSwitch, whose interfaces are devices of no kernel, and ovn-controller.
export OVS_RUNDIR=/tmp OVN_RUNDIR=/tmp
tls=/etc/ovn/tls
database=unix:/tmp/db.sock
ovsdb-tool create /tmp/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /tmp/conf.db --remote=p$database --unixctl=/tmp/ovsdb-server.ctl -vsyslog:off -vfile:off &
until ovs-vsctl --db=$database --no-wait --timeout=5 init; do sleep 0.2; done
ovs-vswitchd $database --enable-dummy=override --disable-system --unixctl=/tmp/ovs-vswitchd.ctl -vsyslog:off -vfile:off &
ovs-vsctl --db=$database --timeout=60 set Open_vSwitch . external_ids:system-id=node external_ids:hostname=node \
    external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip=192.0.2.1 "external_ids:ovn-remote=\"$SOUTHBOUND\"" \
    -- add-br br-int -- set bridge br-int fail-mode=secure \
    -- add-port br-int port -- set interface port external_ids:iface-id=port
exec ovn-controller $database --private-key=$tls/tls.key --certificate=$tls/tls.crt --ca-cert=$tls/ca.crt \
    --unixctl=/tmp/ovn-controller.ctl -vsyslog:off -vfile:off
