#!/bin/sh
# Runs the server that other nodes of the pool copy disks to. It listens at the node's address, by which it is found, and at that of
# networks.liveMigration.interface, which disks are sent to.
#
# Variables: NODE_IP, INTERFACE (empty: NODE_IP), and those of disk-transfer.py.
set -eu

. "$(dirname "$0")/address.sh"
LISTEN=$(address "$INTERFACE" networks.liveMigration.interface)
export LISTEN="$LISTEN $NODE_IP"
exec python3 -I "$(dirname "$0")/disk-transfer.py" "${1:-serve}"
