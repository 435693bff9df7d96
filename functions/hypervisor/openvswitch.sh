#!/bin/sh
# Runs a part of Open vSwitch on a node: its database (ovsdb-server), or the switch itself (ovs-vswitchd).
set -eu

# Brings up taps of virtual machines that are down. libvirt brings a new one up at the moment in which a switch in userspace opens it. That
# writes back the flags which it read just before (netdev_linux_update_flags), and a virtual machine is without network.
# https://github.com/openvswitch/ovs/blob/main/lib/netdev-linux.c
# Other taps of the node are somebody else's: Nova's are called after the first 11 characters of the port's ID.
# https://opendev.org/openstack/nova/src/branch/master/nova/network/model.py
lift_taps() {
  while sleep 1 && kill -0 $$ 2>/dev/null; do # this process becomes the switch
    for tap in $(ip -o link show | sed -n '/[<,]UP[,>]/d; s/^[0-9]*: \(tap[0-9a-f]\{8\}-[0-9a-f]\{2\}\)[:@].*/\1/p'); do
      ip link set dev "$tap" up && echo "$tap was down" || true # it may be gone
    done
  done
}

run=/run/openvswitch
file=/etc/openvswitch/conf.db
schema=/usr/share/openvswitch/vswitch.ovsschema

case ${1:?which part} in
ovsdb-server)
  # A file that was created by halves would be kept.
  [ -e "$file" ] || { rm -f "$file.new" && ovsdb-tool create "$file.new" "$schema" && mv "$file.new" "$file"; }
  # Another version may have another schema.
  case $(ovsdb-tool needs-conversion "$file" "$schema") in yes) ovsdb-tool convert "$file" "$schema" ;; esac
  exec ovsdb-server "$file" --remote="punix:$run/db.sock" --remote=db:Open_vSwitch,Open_vSwitch,manager_options \
    --unixctl="$run/ovsdb-server.ctl" --pidfile="$run/ovsdb-server.pid" -vconsole:info -vsyslog:off
  ;;
ovsdb-server-ready)
  exec ovsdb-client --timeout=5 list-dbs "unix:$run/db.sock"
  ;;
ovs-vswitchd)
  until ovs-vsctl --no-wait --timeout=5 init; do sleep 0.2; done
  # Virtual machines leave checksums to the switch, which in userspace does nothing about them otherwise: their TCP gets no answer. A
  # datapath of the kernel does not ask for it. https://docs.openvswitch.org/en/latest/topics/userspace-tso/
  ovs-vsctl --no-wait --timeout=5 set open . other_config:userspace-tso-enable=true
  # A switch begins without flows, for which ovn-controller must not wait (ovn-controller.sh).
  ovs-vsctl --no-wait --timeout=5 remove open . external-ids ovn-ofctrl-wait-before-clear
  [ ! -e /dev/net/tun ] || lift_taps & # it has that device for a datapath in userspace alone
  exec ovs-vswitchd "unix:$run/db.sock" --unixctl="$run/ovs-vswitchd.ctl" --pidfile="$run/ovs-vswitchd.pid" -vconsole:info -vsyslog:off
  ;;
ovs-vswitchd-ready)
  exec ovs-appctl --timeout=5 --target="$run/ovs-vswitchd.ctl" version
  ;;
*)
  echo "there is no part $1" >&2
  exit 2
  ;;
esac
