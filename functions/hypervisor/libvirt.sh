#!/bin/sh
# Runs libvirt's daemon so that virtual machines outlive it and its pod: whoever ends a container ends its whole control group, so that
# the daemon leaves that before it starts any. It has the node's processes, where nobody ends with the first one of a pod.
set -eu

# QEMU, which has no capabilities, opens a terminal for each console. They are the node's, so that other pods find them; the node's own
# way to them, /dev/ptmx, is open to everybody, and leads here.
chmod 666 /dev/pts/ptmx

groups=/sys/fs/cgroup

# leave goes to a control group of virtual machines in one hierarchy. A group of cpuset takes nobody before it has processors and memory.
leave() {
  mkdir -p "$1/vms"
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$1/vms/$file" ] || [ -e "$groups/cgroup.controllers" ] || cat "$1/$file" >"$1/vms/$file"
  done
  # 0 is whoever writes it.
  echo 0 >"$1/vms/cgroup.procs"
}

if [ -e "$groups/cgroup.controllers" ]; then
  set -- "$groups"
else
  set -- "$groups"/*
fi
for hierarchy in "$@"; do
  [ -e "$hierarchy/cgroup.procs" ] && [ ! -L "$hierarchy" ] || continue
  leave "$hierarchy" || {
    echo "the node does not let libvirt leave its pod's control group in $hierarchy, so that virtual machines would end with the pod;" \
      "say virtualization.libvirt.mode Host, and let the node's operating system run libvirt" >&2
    exit 1
  }
done

exec libvirtd --config /etc/cobaltcore/libvirtd.conf --pid-file /run/libvirt/libvirtd.pid
