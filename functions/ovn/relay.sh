#!/bin/sh
# Runs a relay: a copy of a database in memory, which nodes read in place of the members. What they write goes on to the member that leads
# (https://docs.openvswitch.org/en/latest/topics/ovsdb-relay/).
#
# A relay forwards with its own certificate, to a port without a role. It checks the role of its client before that
# (ovsdb_trigger_try in https://github.com/openvswitch/ovs/blob/v3.5.0/ovsdb/trigger.c).
#
# Variables: DATABASE, SOURCE (the addresses of all members), PORT, CHASSIS_PORT (of nodes, whose writes CHASSIS_ROLE limits), POD_IP, PROBE_MILLISECONDS, and TLS, a folder.
set -u

control=/tmp/control
local=unix:/tmp/database

case ${1:-run} in
ready)
  # One that has lost its source answers from what it has. It counts as connected for half a minute, so an election takes no node away.
  ovsdb-client --timeout=5 wait "$local" "$DATABASE" connected
  exit
  ;;
alive)
  ovs-appctl --timeout=5 --target="$control" version >/dev/null
  exit
  ;;
esac

case $POD_IP in *:*) ip="[$POD_IP]" ;; *) ip=$POD_IP ;; esac
cat >/tmp/server.json <<EOF
{
  "remotes": {
    "pssl:$PORT:$ip": {"inactivity-probe": $PROBE_MILLISECONDS},
    "pssl:$CHASSIS_PORT:$ip": {"role": "$CHASSIS_ROLE", "inactivity-probe": $PROBE_MILLISECONDS},
    "p$local": {}
  },
  "databases": {"$DATABASE": {"service-model": "relay", "source": {"$SOURCE": {"inactivity-probe": $PROBE_MILLISECONDS}}}}
}
EOF
exec ovsdb-server --config-file=/tmp/server.json --unixctl="$control" -vconsole:info -vsyslog:off \
  --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt"
