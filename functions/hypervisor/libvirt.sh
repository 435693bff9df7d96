#!/bin/sh
# Runs libvirt's daemon so that virtual machines outlive it and its pod: whoever ends a container ends its whole control group, so that
# the daemon leaves that before it starts any. It has the node's processes, where nobody ends with the first one of a pod.
#
# Variables: NODE_IP and INTERFACE (whose address other nodes connect to; empty: NODE_IP), URI (of the daemon).
set -eu

run=/run/libvirt
known=/tmp/certificates

certificates() { cat /etc/pki/CA/* /etc/pki/libvirt/*.pem /etc/pki/libvirt/private/* | sha256sum; }

# publish lets QEMU have the certificates that are there now: in a folder of the node, since a virtual machine sees the mounts of the pod
# that has started it, which may have gone. A link leads to those of one time.
publish() {
  fresh=$(mktemp -d "$run/pki.XXXXXX")
  cp /etc/pki/qemu/* "$fresh"
  ln -sfn "${fresh##*/}" "$run/pki-next"
  mv -T "$run/pki-next" "$run/pki"
  for old in "$run"/pki.*; do
    [ "$old" = "$fresh" ] || rm -r "$old"
  done
}

case ${1:-run} in
ready)
  # Certificates are replaced regularly. QEMU reads them as a migration begins, the daemon when it is told to.
  now=$(certificates)
  if [ "$now" != "$(cat "$known")" ]; then
    publish
    virt-admin --connect libvirtd:///system server-update-tls libvirtd
    echo "$now" >"$known"
  fi
  exec virsh --quiet --connect "$URI" version
  ;;
esac

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

. "$(dirname "$0")/address.sh"
listen=$(address "$INTERFACE" networks.liveMigration.interface)
{
  cat /etc/cobaltcore/libvirtd.conf
  echo "listen_addr = \"$listen\""
} >/tmp/libvirtd.conf
certificates >"$known"
publish

exec libvirtd --listen --config /tmp/libvirtd.conf --pid-file "$run/libvirtd.pid"
