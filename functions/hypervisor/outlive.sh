#!/bin/sh
# Runs a command outside of its pod's control group: whoever ends a container ends all that is in there. What agents start for routers and
# networks has to outlive them, as it does on a node without containers: Neutron starts it by this (root_helper).
set -eu

groups=/sys/fs/cgroup

# leave goes to a control group of networks in one hierarchy. A group of cpuset takes nobody before it has processors and memory.
leave() {
  mkdir -p "$1/neutron"
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$1/neutron/$file" ] || [ -e "$groups/cgroup.controllers" ] || cat "$1/$file" >"$1/neutron/$file"
  done
  # 0 is whoever writes it.
  echo 0 >"$1/neutron/cgroup.procs"
}

if [ -e "$groups/cgroup.controllers" ]; then
  leave "$groups"
else
  for hierarchy in "$groups"/*; do
    [ ! -e "$hierarchy/cgroup.procs" ] || [ -L "$hierarchy" ] || leave "$hierarchy"
  done
fi
# Virtual machines talk to what is started, which has no business with the queue: another user reads its own environment.
unset OS_DEFAULT__TRANSPORT_URL
exec "$@"
