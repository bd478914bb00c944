# A node: what runs on it has processes, mounts and control groups of its own, and when this ends, nothing of it is left.
# It ends when it is asked to, and when whoever started it is gone.
#
# Arguments: the name of its control group; the folder for what goes with it. Once it is there, `init` in that folder has
# the id of a process to enter it by.

group=$1 folder=$2

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
setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child sh -euc '
    # Still the id outside, as /proc is still the one outside.
    read -r id rest < /proc/self/stat
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /var/log
    # These are the whole machine'"'"'s, and a kubelet changes them: let it change copies.
    mkdir /run/machine
    for flag in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
        kernel/keys/root_maxkeys kernel/keys/root_maxbytes
    do
        copy=/run/machine/$(basename $flag)
        cat /proc/sys/$flag > $copy
        mount --bind $copy /proc/sys/$flag
    done
    echo $id > "$1/init.new"
    mv "$1/init.new" "$1/init"
    # Nobody waits for what ends here.
    trap "" CHLD
    exec sleep infinity
' node "$folder" &
wait
leave
