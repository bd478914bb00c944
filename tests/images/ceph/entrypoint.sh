# Makes a Ceph from nothing, at the pod's own address, and runs it: a monitor, a manager, and an OSD that keeps
# everything in memory.

set -eu
cat > /etc/ceph/ceph.conf <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_initial_members = a
mon_host = [v2:${ADDRESS}:3300,v1:${ADDRESS}:6789]
mon_allow_pool_size_one = true
mon_data_avail_warn = 0
mon_data_avail_crit = 0
osd_pool_default_size = 1
osd_crush_chooseleaf_type = 0
osd_objectstore = memstore
# Without copies, a placement group whose lease runs out while the machine is busy never serves again: https://tracker.ceph.com/issues/61650
osd_pool_default_read_lease_ratio = 1000
# Nova takes it for the disk of each host: also the second server of a host needs room, and memory is used only as it is written to.
memstore_device_bytes = 8589934592
CONF
keys=/etc/ceph/ceph.client.admin.keyring
ceph-authtool --create-keyring "$keys" --gen-key --name client.admin \
    --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
first=$(mktemp)
ceph-authtool --create-keyring "$first" --gen-key --name mon. --cap mon 'allow *'
ceph-authtool "$first" --import-keyring "$keys"
monitor=/var/lib/ceph/mon/ceph-a
mkdir -p "$monitor"
ceph-mon --mkfs --id a --mon-data "$monitor" --keyring "$first"
ceph-mon --foreground --id a --mon-data "$monitor" --log-to-stderr true &

# Without a manager Ceph reports no capacity of pools, and nova-compute doesn't start.
manager=/var/lib/ceph/mgr/ceph-a
mkdir -p "$manager"
ceph auth get-or-create mgr.a mon 'allow profile mgr' osd 'allow *' --out-file "$manager/keyring"
ceph-mgr --foreground --id a --log-to-stderr true &

disk=/var/lib/ceph/osd/ceph-0
mkdir -p "$disk"
uuid=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$uuid"
ceph auth get-or-create osd.0 mon 'allow profile osd' osd 'allow *' --out-file "$disk/keyring"
ceph-osd --mkfs --id 0 --osd-uuid "$uuid"
exec ceph-osd --foreground --id 0 --log-to-stderr true
