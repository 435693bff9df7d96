#!/bin/busybox sh
# Takes an address that DHCP has given, with its routes and the size of packets.
case $1 in bound | renew) ;; *) exit 0 ;; esac
ip addr flush dev "$interface"
ip addr add "$ip/$mask" dev "$interface"
[ -z "$mtu" ] || ip link set "$interface" mtu "$mtu"
for r in $router; do ip route add default via "$r" dev "$interface"; done
set -- $staticroutes
while [ $# -ge 2 ]; do
  [ "$1" = 0.0.0.0/0 ] || ip route add "$1" via "$2" dev "$interface"
  shift 2
done
echo "guest has the lease $ip/$mask, router $router, mtu $mtu"
