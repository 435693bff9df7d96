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

exec "$PROGRAM" --config-file /etc/cobaltcore/neutron.conf
