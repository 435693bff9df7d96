#!/bin/sh
# Boots a virtual machine, with all that it needs and that is not there yet, and says how it is reached. It runs inside of FOLDER/enter.
#
# Variables: KERNEL and INITRD (files), OUTSIDE (three numbers of the addresses of the network outside), PHYSICAL (its name in the claim).
set -eu

there() { openstack "$@" -f value -c id 2>/dev/null; }

image=$(there image show guest) || {
  kernel=$(openstack image create kernel --disk-format aki --container-format aki --file "$KERNEL" -f value -c id)
  root=$(openstack image create root --disk-format ari --container-format ari --file "$INITRD" -f value -c id)
  empty=$(mktemp)
  truncate -s 1M "$empty"
  image=$(openstack image create guest --disk-format ami --container-format ami --file "$empty" --property kernel_id="$kernel" \
    --property ramdisk_id="$root" --property os_command_line="console=ttyS0 panic=-1" -f value -c id)
  rm "$empty"
}
there flavor show guest >/dev/null || openstack flavor create guest --ram 128 --vcpus 1 --disk 0 -f value -c id >/dev/null
there network show outside >/dev/null || {
  openstack network create outside --external --provider-network-type flat --provider-physical-network "$PHYSICAL" -f value -c id >/dev/null
  openstack subnet create outside --network outside --subnet-range "$OUTSIDE.0/24" --gateway "$OUTSIDE.1" --no-dhcp \
    --allocation-pool "start=$OUTSIDE.10,end=$OUTSIDE.200" -f value -c id >/dev/null
}
there network show inside >/dev/null || {
  openstack network create inside -f value -c id >/dev/null
  openstack subnet create inside --network inside --subnet-range 192.0.2.0/24 -f value -c id >/dev/null
  openstack router create router --external-gateway outside -f value -c id >/dev/null
  openstack router add subnet router inside
}
group=$(openstack security group list --project admin -f value -c ID -c Name | awk '$2 == "default" { print $1; exit }')
openstack security group rule create "$group" --protocol icmp -f value -c id >/dev/null 2>&1 || true
openstack security group rule create "$group" --protocol tcp --dst-port 80 -f value -c id >/dev/null 2>&1 || true

name=guest-$(date +%s)
port=$(openstack port create "$name" --network inside -f value -c id)
address=$(openstack floating ip create outside --port "$port" -f value -c floating_ip_address)
openstack server create "$name" --image "$image" --flavor guest --port "$port" --wait -f value -c status
printf 'waits for %s' "$address"
until ping -c 1 -W 1 "$address" >/dev/null 2>&1; do printf .; done
echo
cat <<END
$name answers at $address:
  enter ping $address
  enter curl http://$address/meta_data.json
  enter openstack console log show $name
  enter openstack console url show $name --novnc
  enter openstack server delete $name
END
