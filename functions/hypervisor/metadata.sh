#!/bin/sh
# Runs the agent that answers virtual machines which ask for metadata. Its logs, and those of its haproxies, go where everything goes.
#
# Variables: PROGRAM.
set -eu

case ${1:-run} in
ready)
  # It has a connection to OVN's southbound database, at the port that is given, and listens for its haproxies.
  port=$(printf ':%04X 01 ' "${2:?a port}")
  [ -S /var/lib/neutron/metadata_proxy ] && grep -q "$port" /proc/net/tcp /proc/net/tcp6
  exit
  ;;
esac

# It sets a variable of the kernel in each network's namespace, and a container has them all to read only.
mount -o remount,bind,rw /proc/sys
# The agent wants to know which node this is, which ovn-controller's pod says.
trap 'exit 143' TERM INT
until ovsdb-client --timeout=10 dump unix:/run/openvswitch/db.sock Open_vSwitch Open_vSwitch external_ids 2>/dev/null | grep -q system-id; do
  sleep 1
done
exec "$PROGRAM" --config-file /etc/cobaltcore/neutron.conf
