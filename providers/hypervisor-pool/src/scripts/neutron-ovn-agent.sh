# Programs run as root already, without sudo.
cat > /run/agent/node.ini <<END
[DEFAULT]
host = $NODE_NAME
state_path = /var/lib/neutron
[agent]
root_helper =
[oslo_concurrency]
lock_path = /var/lib/neutron/lock
[ovs]
ovsdb_connection = unix:/run/openvswitch/db.sock
END
set -- --config-file /etc/neutron/config/neutron-ovn-agent.ini --config-file /run/agent/node.ini
for context in privsep privsep_conntrack privsep_dhcp_release privsep_link privsep_namespace privsep_ovs_vsctl; do
    printf '[%s]\nhelper_command = privsep-helper %s\n' $context "$*"
done >> /run/agent/node.ini
until [ -S /run/openvswitch/db.sock ]; do sleep 1; done
exec neutron-ovn-agent "$@"
