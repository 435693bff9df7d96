#!/bin/sh
# Boots a server, with all missing prerequisites, and prints its address. It runs inside of FOLDER/enter.
#
# Variables: KERNEL and INITRD (files), OUTSIDE (three numbers of the addresses of the external network), PHYSICAL (its name in the claim),
# STACK (a Heat template that creates the server from an image, with a volume; empty: a server without a stack and a volume).
set -eu

began=$(date +%s)
lap() { printf '%4d s: %s\n' $(($(date +%s) - began)) "$1"; }
there() { openstack "$@" -f value -c id 2>/dev/null; }

# within DESCRIPTION COMMAND… retries a command until it succeeds.
within() {
  what=$1 tries=150
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "cannot go on: there is no $what" >&2 && exit 1; }
    sleep 2
  done
  lap "$what"
}

image=$(there image show guest) || {
  kernel=$(openstack image create kernel --disk-format aki --container-format aki --file "$KERNEL" -f value -c id)
  root=$(openstack image create root --disk-format ari --container-format ari --file "$INITRD" -f value -c id)
  empty=$(mktemp)
  truncate -s 1M "$empty"
  # A raw one is cloned where it is in a pool.
  image=$(openstack image create guest --disk-format raw --container-format bare --file "$empty" --property kernel_id="$kernel" \
    --property ramdisk_id="$root" --property os_command_line="console=ttyS0 panic=-1" -f value -c id)
  rm "$empty"
  lap "an image"
}
there network show outside >/dev/null || {
  openstack network create outside --external --provider-network-type flat --provider-physical-network "$PHYSICAL" -f value -c id >/dev/null
  openstack subnet create outside --network outside --subnet-range "$OUTSIDE.0/24" --gateway "$OUTSIDE.1" --no-dhcp \
    --allocation-pool "start=$OUTSIDE.10,end=$OUTSIDE.200" -f value -c id >/dev/null
  lap "a network outside"
}
name=guest-$(date +%s)

# by_stack lets Heat make everything.
by_stack() {
  openstack stack create "$name" --template "$STACK" --parameter image="$image" --wait -f value -c stack_status || {
    openstack stack failures list "$name"
    exit 1
  }
  output() { openstack stack output show "$name" "$1" -f value -c output_value; }
  server=$(output server) address=$(output address) volume=$(output volume)
  lap "the stack $name"
}

# by_hand creates the resources one by one, in a common network.
by_hand() {
  there flavor show guest >/dev/null || openstack flavor create guest --ram 128 --vcpus 1 --disk 0 -f value -c id >/dev/null
  there network show inside >/dev/null || {
    openstack network create inside -f value -c id >/dev/null
    openstack subnet create inside --network inside --subnet-range 192.0.2.0/24 -f value -c id >/dev/null
    openstack router create router --external-gateway outside -f value -c id >/dev/null
    openstack router add subnet router inside
  }
  group=$(openstack security group list --project admin -f value -c ID -c Name | awk '$2 == "default" { print $1; exit }')
  openstack security group rule create "$group" --protocol icmp -f value -c id >/dev/null 2>&1 || true
  openstack security group rule create "$group" --protocol tcp --dst-port 80 -f value -c id >/dev/null 2>&1 || true
  port=$(openstack port create "$name" --network inside -f value -c id)
  address=$(openstack floating ip create outside --port "$port" -f value -c floating_ip_address)
  server=$(openstack server create "$name" --image "$image" --flavor guest --port "$port" --wait -f value -c id)
  volume=
  lap "the virtual machine $name"
}

if [ -n "$STACK" ]; then by_stack; else by_hand; fi
within "its answer by HTTP" curl -fsS -m 5 "http://$address/seconds"
cat <<END
$name answers at $address:
  enter ping $address
  enter curl http://$address/seconds
  enter openstack console log show $server
  enter openstack console url show $server --novnc
END
if [ -z "$volume" ]; then
  echo "  enter openstack server delete $name"
  exit
fi

# Of a volume the virtual machine sees the beginning of its ID, and its content.
disk=$(printf %.20s "$volume")
reads() { curl -fsS -m 5 "http://$address/cgi-bin/disks$1" | grep -q "^$disk $2"; }
within "what it has written on its volume" reads "?$disk=written-by-$name" "written-by-$name"
cat <<END
  enter curl http://$address/cgi-bin/disks
  enter openstack volume show $volume
  enter openstack stack delete --wait $name
END
