# Leads from outside of the cloud to one address of this machine, and to no other.
#
# Arguments: the id of the fabric's process; the address, which the machine doesn't have yet; the one of whoever is outside.

fabric=$1 address=$2 client=$3
within() { nsenter --target "$fabric" --net -- "$@"; }

ip link add public type veth peer name internet netns "$fabric"
ip address add "$address" peer "$client" dev public
ip link set public up
within ip address add "$client" peer "$address" dev internet
within ip link set internet up
