# Connects a hypervisor: eth0 is in the cluster's network, `underlay` and `external` are in those of the fabric.
#
# Arguments: the ids of the hypervisor's and the fabric's process; the hypervisor's number; its address, its pods, its
# address for tunnels; the first node's address.

hypervisor=$1 fabric=$2 number=$3 address=$4 pods=$5 tunnels=$6 gateway=$7
within() { nsenter --target "$1" --net -- "${@:2}"; }

ip link add "cluster-$number" type veth peer name eth0 netns "$hypervisor"
ip link set "cluster-$number" master node up
ip route add "$pods" via "$address"
for link in underlay:underlay external:outside; do
    name=${link%:*}
    within "$fabric" ip link add "$name-$number" type veth peer name "$name" netns "$hypervisor"
    within "$fabric" ip link set "$name-$number" master "${link#*:}" up
    within "$hypervisor" ip link set "$name" up
done
within "$hypervisor" ip link set lo up
within "$hypervisor" ip address add "$address/24" dev eth0
within "$hypervisor" ip link set eth0 up
within "$hypervisor" ip route add default via "$gateway"
within "$hypervisor" ip address add "$tunnels/24" dev underlay
within "$hypervisor" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
