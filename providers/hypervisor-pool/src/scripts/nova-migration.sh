# Lets the nova-computes of the share's other hosts prepare a resize or a cold migration to this one, and copy disks to it. They
# all have one key, which is that of the hosts, too. Its argument is the script that every connection runs.
if [ ! -x /usr/sbin/sshd ]; then
    # MigrationReady of the share shows it.
    echo "the image of Nova lacks /usr/sbin/sshd, so that no server moves to this host: build it with OpenSSH, push it under another tag, since nodes keep the image that they have of a tag, and name it in spec.images.nova of the HypervisorPool" |
        tee /dev/termination-log >&2
    exit 1
fi
key=/etc/nova/migration/ssh-privatekey
# Pods end at once while they wait.
trap 'exit 0' TERM
# What is on the node may be another share's, as the check of libvirt's pod finds: hosts of this share touch none of it.
until [ "$(cat /var/lib/nova/lease 2> /dev/null)" = "$LEASE" ]; do
    echo "waits until /var/lib/nova/lease says that the node's files belong to the HypervisorShare $LEASE: see the share's condition HostsReady" >&2
    sleep 5
done
printf '%s\n' "$1" > /run/migration/command
cat > /run/migration/sshd_config <<END
ListenAddress $HOST_IP
Port $MIGRATION_PORT
HostKey $key
AuthorizedKeysFile /run/migration/authorized_keys
# What these files are in belongs to the kubelet.
StrictModes no
PidFile none
UsePAM no
AuthenticationMethods publickey
AllowUsers openstack
DisableForwarding yes
PermitTTY no
PermitUserRC no
ClientAliveInterval 15
ForceCommand /bin/sh -eu /run/migration/command
END
authorize() {
    public=$(ssh-keygen -y -f "$key") || return
    echo "restrict $public" > /run/migration/authorized_keys
}
known=$(sha256sum "$key")
until authorize; do
    echo "the Secret nova-migration must have a private key in its key ssh-privatekey: delete the Secret, and it is created anew" >&2
    sleep 10
    known=$(sha256sum "$key")
done
/usr/sbin/sshd -D -e -f /run/migration/sshd_config &
daemon=$!
trap 'kill "$daemon"' TERM
while kill -0 "$daemon" 2> /dev/null; do
    sleep 10 &
    wait "$!" || true
    # A new key is read without an end of the copies that are under way.
    sum=$(sha256sum "$key" 2> /dev/null || true)
    if [ "$sum" != "$known" ] && authorize; then
        known=$sum
        kill -HUP "$daemon"
    fi
done
# Copies that have begun are finished.
while pgrep sshd > /dev/null; do sleep 1; done
