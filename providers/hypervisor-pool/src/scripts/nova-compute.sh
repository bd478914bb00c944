# The liveness probe compares it with the socket of libvirt; of the last process, it is too old.
rm -f /run/agent/started
# After a reboot Nova starts the servers again that ran before. At a later start it would do so with one whose live migration ended while
# nova-compute didn't run: the server runs on the other host, on the same disks, while Nova's database still has it on this one.
resumed=/run/libvirt/servers-resumed
[ ! -e $resumed ] || resume='resume_guests_state_on_host_boot = false'
# What differs from node to node; everything else is in nova.conf. The queue manager names queues after host and process.
cat > /run/agent/node.conf <<END
[DEFAULT]
host = $NODE_NAME
my_ip = $HOST_IP
reserved_host_memory_mb = $RESERVED_MEMORY
reserved_host_disk_mb = $RESERVED_DISK
${resume:-}
[libvirt]
virt_type = $VIRTUALIZATION
live_migration_with_native_tls = $LIVE_MIGRATION
[oslo_messaging_rabbit]
processname = nova-compute
END
mkdir -p /var/lib/nova/instances
# The SSH server of the node is another user's, who may add folders and change none but its own.
chgrp 42424 /var/lib/nova/instances && chmod 1775 /var/lib/nova/instances ||
    echo "no server can be resized or migrated to this host: its group 42424 can't be let into /var/lib/nova/instances" >&2
# Nova runs commands on other hosts by ssh, and copies disks to them by scp. SFTP, which scp speaks by default, can't be confined to
# the folder of one server. All hosts of the share have one key, which may be replaced at any time.
mkdir -p /run/agent/bin
cat > /run/agent/bin/ssh <<'END'
#!/bin/sh
# For a KnownHostsCommand, ssh changes groups, for which the pod has no capability.
set -e
key=$(ssh-keygen -y -f /etc/nova/migration/ssh-privatekey)
known=$(mktemp /run/agent/known-hosts.XXXXXX)
echo "hypervisor $key" > "$known"
mv "$known" /run/agent/known-hosts
exec /usr/bin/ssh "$@"
END
cat > /run/agent/bin/scp <<'END'
#!/bin/sh
exec /usr/bin/scp -O -S /run/agent/bin/ssh "$@"
END
chmod 755 /run/agent/bin/ssh /run/agent/bin/scp
export PATH="/run/agent/bin:$PATH"
cat > /root/.ssh/config <<END
Host *
    Port $MIGRATION_PORT
    User openstack
    IdentityFile /etc/nova/migration/ssh-privatekey
    IdentitiesOnly yes
    PreferredAuthentications publickey
    HostKeyAlias hypervisor
    UserKnownHostsFile /run/agent/known-hosts
    GlobalKnownHostsFile none
    StrictHostKeyChecking yes
    ConnectTimeout 10
    ServerAliveInterval 15
END
# Sockets of processes that have ended stay on the host.
answers() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2> /dev/null; }
until answers /run/libvirt/libvirt-sock && answers /run/openvswitch/db.sock && [ -e /run/libvirt/ceph-keys-defined ]; do sleep 1; done
touch /run/agent/started
# Starting hundreds of servers takes minutes. If nova-compute ends within half an hour, its next start starts the rest.
(sleep 1800 && touch $resumed) > /dev/null 2>&1 < /dev/null &
exec nova-compute --config-file /etc/nova/config/nova.conf --config-file /run/agent/node.conf
