# The liveness probe compares it with the socket of libvirt; of the last process, it is too old.
rm -f /run/agent/started
# What differs from node to node; everything else is in nova.conf. The queue manager names queues after host and process.
cat > /run/agent/node.conf <<END
[DEFAULT]
host = $NODE_NAME
my_ip = $HOST_IP
reserved_host_memory_mb = $RESERVED_MEMORY
reserved_host_disk_mb = $RESERVED_DISK
[libvirt]
virt_type = $VIRTUALIZATION
live_migration_with_native_tls = $LIVE_MIGRATION
[oslo_messaging_rabbit]
processname = nova-compute
END
mkdir -p /var/lib/nova/instances
until [ -S /run/libvirt/libvirt-sock ] && [ -S /run/openvswitch/db.sock ] && [ -e /run/libvirt/ceph-keys-defined ]; do sleep 1; done
touch /run/agent/started
exec nova-compute --config-file /etc/nova/config/nova.conf --config-file /run/agent/node.conf
