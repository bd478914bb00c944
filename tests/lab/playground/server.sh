# Boots a server as the tenant of a claim, gives it a floating IP, and writes this address to a file.
#
# Arguments: the folder with kernel, ramdisk and disk of the server; the file.

guest=$1 address=$2

openstack image create --disk-format aki --container-format aki --file "$guest/kernel" kernel
openstack image create --disk-format ari --container-format ari --file "$guest/ramdisk" ramdisk
openstack image create --disk-format raw --container-format bare --file "$guest/disk" \
    --property "kernel_id=$(openstack image show --format value --column id kernel)" \
    --property "ramdisk_id=$(openstack image show --format value --column id ramdisk)" guest
# A project's own group, not that of another one that the tenant has.
project=$(openstack token issue --format value --column project_id)
group=$(openstack security group list --project "$project" --format value --column ID --column Name |
    while read -r id name; do if [ "$name" = default ]; then echo "$id"; fi; done)
openstack security group rule create --ingress --protocol icmp "$group"
openstack security group rule create --ingress --protocol tcp --dst-port 80 "$group"
openstack server create --image guest --flavor small --network default --wait hello
openstack floating ip create --format value --column floating_ip_address outside > "$address.new"
openstack server add floating ip hello "$(cat "$address.new")"
mv "$address.new" "$address"
