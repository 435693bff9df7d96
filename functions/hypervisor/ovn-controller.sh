#!/bin/sh
# Tells a node's switch which node it is, and runs ovn-controller.
#
# Variables: NODE_NAME, NODE_IP; SOUTHBOUND (the addresses of the database), PROBE_MILLISECONDS (idle time after which it is probed), TLS
# (a folder); ENCAPSULATION (geneve or vxlan) and INTERFACE (whose address tunnels end at; empty: NODE_IP); DATAPATH (system or netdev);
# MAPPINGS (network:bridge,...), BRIDGES (bridge=interface ..., where the interface may be missing) and OPTIONS (OVN's options of the node).
set -eu

run=/run/openvswitch
control=/run/ovn/ovn-controller.ctl
vsctl() { ovs-vsctl --timeout=10 "$@"; }

case ${1:-run} in
ready)
  # It says "connected" or "not connected", and ends with 0 either way.
  [ "$(ovn-appctl --timeout=5 --target="$control" connection-status)" = connected ]
  exit
  ;;
alive)
  ovn-appctl --timeout=5 --target="$control" version >/dev/null
  exit
  ;;
esac

. "$(dirname "$0")/address.sh"
ip=$(address "$INTERFACE" networks.encapsulation.interface)

# The certificate may come from another container of the pod (certificate.sh).
trap 'exit 143' TERM INT
until [ -s "$TLS/tls.crt" ]; do sleep 1; done
until vsctl --no-wait show >/dev/null; do sleep 1; done
vsctl -- --may-exist add-br br-int -- set bridge br-int datapath_type="$DATAPATH" fail-mode=secure
for pair in $BRIDGES; do
  bridge=${pair%%=*} interface=${pair#*=}
  vsctl -- --may-exist add-br "$bridge" -- set bridge "$bridge" datapath_type="$DATAPATH"
  [ -z "$interface" ] || vsctl -- --may-exist add-port "$bridge" "$interface"
done
# Existing flows stay for 8 s (in milliseconds) while ovn-controller computes its own: it cannot tell when it has all of them. A switch without
# flows gets them at once (ovn-controller(8), ovn-ofctrl-wait-before-clear).
case $(ovs-ofctl --timeout=5 dump-aggregate br-int 2>/dev/null) in
*flow_count=[1-9]*) keep=8000 ;;
*) keep=0 ;;
esac
vsctl -- set open . external-ids:ovn-ofctrl-wait-before-clear="$keep" external-ids:system-id="$NODE_NAME" external-ids:hostname="$NODE_NAME" \
  external-ids:ovn-remote="\"$SOUTHBOUND\"" external-ids:ovn-remote-probe-interval="$PROBE_MILLISECONDS" \
  external-ids:ovn-encap-type="$ENCAPSULATION" external-ids:ovn-encap-ip="\"$ip\"" \
  external-ids:ovn-bridge=br-int external-ids:ovn-bridge-datapath-type="$DATAPATH"
for setting in ovn-bridge-mappings="$MAPPINGS" ovn-cms-options="$OPTIONS"; do
  name=${setting%%=*} value=${setting#*=}
  if [ -n "$value" ]; then
    vsctl set open . external-ids:"$name"="\"$value\""
  else
    vsctl remove open . external-ids "$name"
  fi
done

# It is told that another one comes, so that the node stays in the database, and its flows in the switch.
trap 'ovn-appctl --timeout=10 --target="$control" exit --restart; wait' TERM INT
ovn-controller "unix:$run/db.sock" --unixctl="$control" --pidfile=/run/ovn/ovn-controller.pid \
  --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt" -vconsole:info -vsyslog:off &
wait "$!"
