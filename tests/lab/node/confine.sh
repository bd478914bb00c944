# A node: what runs on it has processes, mounts and control groups of its own, and when this ends, nothing of it is left.
# It ends when it is asked to, and when whoever started it is gone.
#
# Arguments: the name of its control group; the folder for what goes with it; the number of a hypervisor, or 0. Once it is
# there, `init` in that folder has the id of a process to enter it by.

group=$1 folder=$2 hypervisor=$3

# The second version of control groups has one hierarchy for everything, the first one for each controller.
hierarchies() {
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        echo /sys/fs/cgroup
    else
        ls -d /sys/fs/cgroup/*/
    fi
}

leave() {
    trap '' TERM
    if init=$(cat "$folder/init"); then
        kill -KILL "$init"
        # It is the last to go of all that run there.
        while [ -e "/proc/$init" ]; do sleep 0.05; done
    fi
    for hierarchy in $(hierarchies); do
        find "$hierarchy/$group" -depth -type d -exec rmdir {} \;
    done
    rm -rf "$folder"
    exit 0
}
trap leave TERM

for hierarchy in $(hierarchies); do
    mkdir -p "$hierarchy/$group"
    for set in cpuset.cpus cpuset.mems; do
        if [ -e "$hierarchy/$set" ]; then cat "$hierarchy/$set" > "$hierarchy/$group/$set"; fi
    done
done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
        echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control
    done
fi

# shellcheck disable=SC2016
setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child bash -euc '
    # Still the id outside, as /proc is still the one outside.
    read -r id rest < /proc/self/stat
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /var/log
    # Every kubelet listens here, wherever its own folder is.
    mkdir -p /var/lib/kubelet/device-plugins
    mount -t tmpfs tmpfs /var/lib/kubelet/device-plugins
    # These are the whole machine'"'"'s, and a kubelet changes them: let it change copies.
    mkdir /run/machine
    for flag in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
        kernel/keys/root_maxkeys kernel/keys/root_maxbytes
    do
        copy=/run/machine/$(basename $flag)
        cat /proc/sys/$flag > $copy
        mount --bind $copy /proc/sys/$flag
    done
    # A hypervisor has devices and state of its own. KVM is hidden: whether it works differs from machine to machine.
    if [ "$2" != 0 ]; then
        echo "hypervisor-$2" > /proc/sys/kernel/hostname
        mkdir "$1/state"
        mount --bind "$1/state" /var/lib
        mount -t tmpfs -o mode=755 devices /dev
        mkdir /dev/net /dev/pts /dev/shm
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts
        mount -t tmpfs shm /dev/shm
        while read -r name major minor; do mknod -m 666 /dev/$name c $major $minor; done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
kmsg 1 11
tty 5 0
net/tun 10 200
DEVICES
        ln -s pts/ptmx /dev/ptmx
        ln -s /proc/self/fd /dev/fd
        ln -s fd/0 /dev/stdin
        ln -s fd/1 /dev/stdout
        ln -s fd/2 /dev/stderr
    fi
    # What a pod mounts for others to see appears on its node.
    mount --make-rshared /
    echo $id > "$1/init.new"
    mv "$1/init.new" "$1/init"
    # Processes whose parents are gone end without becoming zombies. A POSIX shell may ignore this trap.
    trap "" CHLD
    exec sleep infinity
' node "$folder" "$hypervisor" &
wait
leave
