# A server writes to its console as much as it likes, and has QEMU write to its log. Logs above 16 MiB on the disk begin anew; QEMU continues
# at its offset, so blocks count, and not the size. This loop stays in the pod's control groups, and ends with the pod.
while sleep 10; do
    find /var/lib/nova/instances /var/log/libvirt -mindepth 2 -maxdepth 2 -name '*.log' -printf '%b %p\n' 2> /dev/null |
        while read -r blocks log; do [ "$blocks" -le 32768 ] || truncate --size=0 "$log"; done
done &

# QEMU reads certificates in folders of the node, because servers outlive this pod and its volumes: copies those of one folder to another,
# unless they have the sums `$3`.
copy() {
    sums=$(sha256sum "$1/ca.crt" "$1/tls.crt" "$1/tls.key") || return
    [ "$sums" != "$3" ] || return 0
    install --directory --group=libvirt-qemu --mode=750 "$2" "$2/new" || return
    for file in ca.crt:ca-cert.pem tls.crt:server-cert.pem tls.key:server-key.pem tls.crt:client-cert.pem tls.key:client-key.pem; do
        install --group=libvirt-qemu --mode=440 "$1/${file%:*}" "$2/new/${file#*:}" || return
    done
    # The kubelet may have replaced them meanwhile.
    [ "$(sha256sum "$1/ca.crt" "$1/tls.crt" "$1/tls.key")" = "$sums" ] || return
    mv -f "$2/new/"* "$2/"
}
# The authority of consoles signs for the control plane's proxy, too, and for no other client. Until its certificate is there, the node's own
# takes its place: then no console opens, and none is without TLS.
take() {
    from=/etc/libvirt/consoles
    [ -e "$from/tls.key" ] || from=/etc/libvirt/tls
    copy "$from" /var/lib/libvirt/consoles "$taken"
}
# libvirt names this folder to QEMU when a server migrates.
migrate() { copy /etc/libvirt/tls /var/lib/libvirt/migration "$migrated"; }
# Servers that run read it when they are told. Those without TLS refuse, and one that is busy is told again in an hour. A QEMU that doesn't
# answer must not keep the others from it.
ask() { timeout 60 virsh --quiet --connect qemu:///system "$@"; }
reload() {
    servers=$(ask list --name) || return
    for server in $servers; do
        ask domdisplay-reload "$server" > /dev/null 2>&1 || true
    done
}
if [ -d /etc/libvirt/consoles ]; then
    migrated= taken=
    until migrate; do sleep 1; done
    migrated=$sums
    until take; do sleep 1; done
    taken=$sums
    while sleep 3600; do reload || true; done &
    while sleep 5; do
        if migrate; then migrated=$sums; fi
        if take && [ "$sums" != "$taken" ] && reload; then taken=$sums; fi
    done &
fi

# libvirt keeps keys of Ceph's users in memory, so that they are defined again after it was restarted, and when one changes. Servers,
# which are another user's, must not read the files. nova-compute waits for keys, because it may start servers at once. A renewed
# certificate is loaded without a restart.
chmod 700 /etc/libvirt/keys
defined=/run/libvirt/ceph-keys-defined
rm -f "$defined"
known=
define() {
    for file in /etc/libvirt/keys/ceph/ceph-key-*; do
        uuid=${file##*/ceph-key-}
        case $uuid in *[!0-9a-f-]*) continue ;; esac
        virsh --quiet --connect qemu:///system secret-define /dev/stdin <<END || return
<secret ephemeral="yes" private="yes"><uuid>$uuid</uuid><usage type="ceph"><name>$uuid</name></usage></secret>
END
        virsh --quiet --connect qemu:///system secret-set-value "$uuid" --file "$file" || return
    done
}
certificate=/etc/libvirt/tls/tls.crt
loaded=$(sha256sum "$certificate" 2> /dev/null || true)
while sleep 2; do
    renewed=$(sha256sum "$certificate" 2> /dev/null || true)
    if [ "$renewed" != "$loaded" ] && virt-admin --quiet server-update-tls libvirtd; then
        loaded=$renewed
    fi
    sums=$(sha256sum /etc/libvirt/keys/ceph/* 2> /dev/null || true)
    if [ ! -e "$defined" ] || [ "$sums" != "$known" ]; then
        if define; then known=$sums; touch "$defined"; fi
    fi
done &

# Kubernetes kills what is in the control groups of a pod that ends. QEMU is in those of libvirtd, so libvirtd leaves them first
# for groups beside Kubernetes' own; then servers outlive the pod, whose process namespace is the node's.
leave() {
    mkdir -p "$1"
    for file in cpuset.cpus cpuset.mems; do
        # A set of the first version of control groups is empty at first, and takes no process.
        if [ -e "$1/$file" ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
            cat "$1/../$file" > "$1/$file"
        fi
    done
    # The share of the processors that servers get beside pods, whose group has a weight by the number of processors.
    for file in cpu.weight=10000 cpu.shares=262144; do
        if [ -e "$1/${file%=*}" ]; then echo "${file#*=}" > "$1/${file%=*}" || echo "servers have no part of the processors of their own" >&2; fi
    done
    # This process. Kubernetes takes two dollar signs in a command for one.
    echo 0 > "$1/cgroup.procs"
}
left=
while IFS=: read -r id controllers path; do
    parent=${path%%/kubepods*}
    case $id:$controllers in
        0:) hierarchy= ; [ -e /sys/fs/cgroup/cgroup.controllers ] || hierarchy=/unified ;;
        *) hierarchy=/${controllers#name=} ;;
    esac
    if [ "$parent" != "$path" ] && [ -d "/sys/fs/cgroup$hierarchy$parent" ]; then
        leave "/sys/fs/cgroup$hierarchy$parent/openstack-servers"
        left=yes
    fi
done < /proc/self/cgroup
if [ -z "$left" ]; then
    echo "no control group of this pod is below one of the name kubepods: servers would end with the pod" >&2
    exit 1
fi
# Servers are neither the first nor the last processes to end when memory runs out. A node in a container may forbid it.
echo 0 > /proc/self/oom_score_adj || echo "servers have the priority of this pod when memory runs out" >&2
# Consoles are terminals of the node, which nova-compute and the next pod read. QEMU is an ordinary user, whom not every node allows
# to open what the link /dev/ptmx leads to.
rm -f /dev/ptmx
mknod -m 666 /dev/ptmx c 5 2
cp /etc/libvirt/config/*.conf /etc/libvirt/
case $VIRTUALIZATION in
    # The group that may use it has another number on each node.
    kvm) echo "group = \"+$(stat -c %g /dev/kvm)\"" >> /etc/libvirt/qemu.conf ;;
    qemu) rm -f /dev/kvm ;;
esac
exec libvirtd "$@"
