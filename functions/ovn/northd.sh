#!/bin/sh
# Runs ovn-northd, which makes the southbound database of the northbound one. One of several is active, by a lock in the southbound database.
#
# Variables: NORTHBOUND and SOUTHBOUND, the addresses of all members, and TLS, a folder.
set -u

control=/tmp/northd

# connected reports whether it is, to both databases.
connected() {
  for database in nb sb; do
    [ "$(ovs-appctl --timeout=5 --target="$control" "$database-connection-status")" = connected ] || return 1
  done
}

case ${1:-run} in
ready)
  connected
  exit
  ;;
alive)
  ovs-appctl --timeout=5 --target="$control" version >/dev/null
  exit
  ;;
esac
exec ovn-northd --ovnnb-db="$NORTHBOUND" --ovnsb-db="$SOUTHBOUND" --unixctl="$control" -vconsole:info -vsyslog:off \
  --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt"
