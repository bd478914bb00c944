# Runs a command of the nova-compute of another host. It is one of those that Nova's driver of libvirt runs over SSH
# (nova/virt/libvirt/volume/remotefs.py, SshDriver) in the folder of one server, or it isn't run.
export LC_ALL=C
command=${SSH_ORIGINAL_COMMAND:-}
instances=/var/lib/nova/instances
refuse() {
    echo "$1" >&2
    exit 1
}
is() { printf '%s\n' "$command" | grep -Eqx "$1"; }

# Nothing that a shell or a pattern takes for more than a letter, and no second line.
case $command in
    '' | *[!A-Za-z0-9\ ./_-]*) refuse "this command is not allowed: only Nova's, for resizes and cold migrations" ;;
esac
folder="$instances/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
if is "(touch|rm) $folder/[0-9a-f]{32}[.]tmp"; then
    path=${command##* }
    path=${path%/*}
elif is "(mkdir -p|rm -rf) $folder"; then
    path=${command##* }
elif is "scp -r -t $folder(/[a-z0-9][a-z0-9._-]*)?"; then
    path=${command##* }
    path=$instances/$(echo "${path#"$instances/"}" | cut -d / -f 1)
else
    refuse "this command is not allowed: only Nova's, for resizes and cold migrations"
fi

# This user may not see what nova-compute has written on a file system that hosts share: Nova would copy a server's files over
# themselves, and delete them when that fails.
type=$(stat --file-system --format %T "$instances")
case $type in
    btrfs | ext2/ext3 | overlayfs | tmpfs | xfs | zfs) ;;
    *) refuse "$instances is on a file system of the type $type, which other hosts may use: servers can't move between these hosts" ;;
esac
# Once nova-compute of this host has written into the folder, the server is here, and no other host touches its files.
if [ -e "$path" ] && [ -n "$(find "$path" ! -user "$(id -u)" -print -quit)" ]; then
    refuse "$path has files of this host's nova-compute: if the server isn't on this host, delete the folder there"
fi

set -f
# shellcheck disable=SC2086
set -- $command
exec "$@"
