# Succeeds where libvirt answers and has no domain; what it prints is in the pod's events.
domains=$(virsh --connect qemu:///system --readonly list --all --name)
[ -z "$domains" ] || {
    echo "libvirt has domains:" $domains
    exit 1
}
