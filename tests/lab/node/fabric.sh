# The networks between hypervisors and beyond them, in a network namespace of their own: `underlay` carries tunnels, and
# `outside` is a physical network that has this namespace's address in it.
#
# Arguments: the file for the id of this process; the address of `outside` with its prefix.

ip link set lo up
for bridge in underlay outside; do
    ip link add $bridge type bridge
    ip link set $bridge up
done
ip address add "$2" dev outside
# Bridges forward frames as they are, whatever the machine does with its own.
if [ -e /proc/sys/net/bridge ]; then echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables; fi
echo $$ > "$1.new"
mv "$1.new" "$1"
exec sleep infinity
