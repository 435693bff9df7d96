#!/bin/sh
# Runs an agent of Neutron with the login of the queue that is mounted when it starts. The login is replaced regularly (login.sh). Networks
# stay while the agent restarts.
#
# Variables: PROGRAM; QUEUE_HOST, QUEUE_PORT, QUEUE_VHOST, QUEUE_CA, LOGIN (a folder), STARTED and AGENT (files); QUEUE_USER (the identity of
# the login that its pod was made for; empty: any) and TAKEN (a file); KEEPER (a file of the node; empty: it makes no network namespaces),
# TUNNELS (yes: it is where they end) and INTERFACE (at whose address; empty: NODE_IP); WATCHER (the program by which it hears of the switch;
# empty: it does not).
set -eu

. "$(dirname "$0")/login.sh"

logins() { cat "$LOGIN/username" "$LOGIN/password"; }

# watches fails where the agent hears nothing of the switch: one whose main thread has died, as it may at its start, reports to Neutron for
# ever that it is alive.
watches() {
  [ -z "${WATCHER:-}" ] || ps -o comm= --ppid "$(cat "$AGENT")" | grep -qxF "$WATCHER" || {
    echo "it does not watch the switch"
    return 1
  }
}

# serves fails where the switch answers, and has no flow in table 23: the agent makes one there with all others, by which it finds out itself
# whether the switch was restarted. One that has asked the switch in that moment waits for the answer without end (_send_msg of 2025.2 and
# 2026.1, https://opendev.org/openstack/neutron/src/tag/27.0.0/neutron/plugins/ml2/drivers/openvswitch/agent/openflow/native/ofswitch.py).
# Where the switch is away, another agent would do no better.
serves() {
  [ -n "${WATCHER:-}" ] || return 0
  flows=$(ovs-ofctl --timeout=3 -O OpenFlow13 dump-flows unix:/run/openvswitch/br-int.mgmt table=23 2>/dev/null) || return 0
  case $flows in *actions=*) return 0 ;; esac
  echo "the switch has no flows of it"
  return 1
}

case ${1:-run} in
ready)
  # A roll-out for another login goes on when it is here, which the control plane counts on. Later ones its pod need not be made for.
  [ -e "$TAKEN" ] || { echo "the login has not come that the pod was made for"; exit 1; }
  connected || { echo "it has no connection to the queue"; exit 1; }
  watches && serves
  exit
  ;;
started)
  watches && serves
  exit
  ;;
alive)
  ! replaced || { echo "the login was replaced"; exit 1; }
  serves
  exit
  ;;
esac

# restore gets the network namespaces of the agent before this one. They are mounts, of which each container has its own: a process that
# outlives the container keeps its view of them. Names without a namespace would be taken for namespaces, so they are removed. A namespace
# that exists and cannot be mounted stays: the agent does not start, and tries again when its container restarts. Without it, the agent would
# create another one, and the addresses of a router would be in both.
restore() {
  before=$(cat "$KEEPER" 2>/dev/null || true)
  [ -n "$before" ] && tr '\0' ' ' <"/proc/$before/cmdline" 2>/dev/null | grep -qF "$KEEPER" || before=
  for place in /run/netns/*; do
    [ -e "$place" ] || continue
    if [ -z "$before" ] || ! grep -qF " $place " "/proc/$before/mountinfo"; then
      rm -f "$place"
    elif ! mount --no-canonicalize --bind "/proc/$before/root$place" "$place"; then
      echo "the network namespace ${place##*/} cannot be mounted; the agent does not start without it" >&2
      exit 1
    fi
  done
  outlive=$(dirname "$0")/outlive.sh
  sh "$outlive" true || {
    echo "the node does not let agents leave their pod's control group, so that routers and DHCP would end with the pod" >&2
    exit 1
  }
  sh "$outlive" setsid sh -c 'while :; do sleep 86400; done' "$KEEPER" </dev/null >/dev/null 2>&1 &
  echo "$!" >"$KEEPER"
  [ -z "$before" ] || kill -- "-$before" || true # it may have ended
}

start
user=$(cat "$LOGIN/username")
uses "${QUEUE_USER:-}" "$user"
case $QUEUE_HOST in *:*) QUEUE_HOST="[$QUEUE_HOST]" ;; esac
# Names and passwords that are generated have letters, digits and hyphens, which nobody has to escape.
OS_DEFAULT__TRANSPORT_URL="rabbit://$user:$(cat "$LOGIN/password")@$QUEUE_HOST:$QUEUE_PORT/$QUEUE_VHOST?ssl=true&ssl_ca_file=$QUEUE_CA"
export OS_DEFAULT__TRANSPORT_URL

if [ "${TUNNELS:-}" = yes ]; then
  . "$(dirname "$0")/address.sh"
  OS_OVS__LOCAL_IP=$(address "$INTERFACE" networks.encapsulation.interface)
  export OS_OVS__LOCAL_IP
fi
if [ -n "${KEEPER:-}" ]; then
  # It sets variables of the kernel in each namespace, and a container has them all to read only.
  mount -o remount,bind,rw /proc/sys
  restore
fi
exec "$PROGRAM" --config-file /etc/cobaltcore/neutron.conf
