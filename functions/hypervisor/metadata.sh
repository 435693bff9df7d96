#!/bin/sh
# Runs the agent that answers virtual machines which ask for metadata. Its logs, and those of its haproxies, go where everything goes.
#
# Variables: PROGRAM, and TLS (the folder of the certificate for OVN).
set -eu

case ${1:-run} in
ready)
  # It has a connection to OVN's southbound database, at the port that is given, and listens for its haproxies.
  port=$(printf ':%04X 01 ' "${2:?a port}")
  [ -S /var/lib/neutron/metadata_proxy ] && grep -q "$port" /proc/net/tcp /proc/net/tcp6
  exit
  ;;
esac

# dump writes columns of a table of the switch, a row in a line.
dump() {
  ovsdb-client --timeout=10 --format=csv --no-headings dump unix:/run/openvswitch/db.sock Open_vSwitch "$@" 2>/dev/null
}

# The agent wants to know which node this is, which ovn-controller's pod says.
trap 'exit 143' TERM INT
until dump Open_vSwitch external_ids | grep -q system-id; do sleep 1; done
# The certificate may come from another container of the pod (certificate.sh).
until [ -s "$TLS/tls.crt" ]; do sleep 1; done

# The namespaces of an agent before this one have gone, and with them the devices that it has plugged in: those of an iface-id that no
# virtual machine has, by the names that Neutron gives. A switch in userspace would keep such a device, whatever is plugged in by its name.
dump Interface external_ids name | grep iface-id | grep -v attached-mac | sed -n 's/.*,\(tap[^,]*\)$/\1/p' | while read -r name; do
  port=$(dump Port _uuid name | grep ",$name\$" | cut -d, -f1)
  ovsdb-client --timeout=10 transact unix:/run/openvswitch/db.sock "[\"Open_vSwitch\", {\"op\": \"mutate\", \"table\": \"Bridge\",
    \"where\": [[\"name\", \"==\", \"br-int\"]], \"mutations\": [[\"ports\", \"delete\", [\"uuid\", \"$port\"]]]}]"
done

# It sets a variable of the kernel in each network's namespace, and a container has them all to read only.
mount -o remount,bind,rw /proc/sys
exec "$PROGRAM" --config-file /etc/cobaltcore/neutron.conf
