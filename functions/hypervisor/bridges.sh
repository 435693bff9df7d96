#!/bin/sh
# Makes the bridges of a node that carry physical networks, for an agent that wants them to be there. It makes its own ones itself.
#
# Variables: DATAPATH (system or netdev), BRIDGES (bridge=interface ..., where the interface may be missing).
set -eu

vsctl() { ovs-vsctl --timeout=10 "$@"; }

until vsctl --no-wait show >/dev/null; do sleep 1; done
for pair in $BRIDGES; do
  bridge=${pair%%=*} interface=${pair#*=}
  vsctl -- --may-exist add-br "$bridge" -- set bridge "$bridge" datapath_type="$DATAPATH"
  [ -z "$interface" ] || vsctl -- --may-exist add-port "$bridge" "$interface"
done
