#!/bin/sh
# Runs libvirt's daemon so that virtual machines outlive it and its pod: whoever ends a container ends its whole control group, so that
# the daemon leaves that before it starts any. It has the node's processes, where nobody ends with the first one of a pod.
#
# Variables: NODE_IP and INTERFACE (whose address other nodes connect to; empty: NODE_IP), URI (of the daemon), SWTPM_USER (the number of
# the user that emulators of TPMs run as, in qemu.conf, too), CERTIFICATE (a folder with the certificate of the node, which another
# container of the pod gets; empty: /etc/pki has the one of the pool), EMULATOR_CERTIFICATE (the same for QEMU; empty: QEMU has the
# certificate of libvirt, in a pod of an earlier version).
set -eu

run=/run/libvirt
# QEMU has the mounts of this container, and another user. It writes neither to this folder nor to files that this script or the daemon
# read. A pod of an earlier version runs this script's probes, and has its files elsewhere.
private=/tmp/private
if [ "${1:-run}" = run ]; then
  # Others may not remove files of root.
  chmod 1777 /tmp/.
  [ -d "$private" ] || mkdir -m 700 "$private"
fi
[ -d "$private" ] || private=/tmp/.
known=$private/certificates
# This file exists until the node has a certificate.
waiting=$private/waiting
# The certificate of VNC servers. A pod of an earlier version has no such folder, and it is empty if servers have other consoles now.
vnc=/etc/pki-vnc
# The hash of the published certificate of VNC servers, and the servers whose QEMU has not read it yet. "all" stands for all running servers.
published=$private/vnc-certificate
# The hash of QEMU's published certificate.
emulated=$private/emulator-certificate
reloads=$private/reloads
# This file exists if virtlogd was started before the daemon. A pod of an earlier version runs this script's probes, and has no virtlogd.
logger=$private/logger
# The number of QEMU's user, which is that of its group, too. It is empty if QEMU runs as root, in a pod of an earlier version.
user=$(sed -n 's/^user = "+\([0-9]*\)"$/\1/p' /etc/libvirt/qemu.conf)

certificates() { cat /etc/pki/CA/* /etc/pki/libvirt/*.pem /etc/pki/libvirt/private/* | sha256sum; }
emulator_certificate() { cat /etc/pki/qemu/* | sha256sum; }
vnc_certificate() { [ ! -e "$vnc/server-cert.pem" ] || cat "$vnc"/* | sha256sum; }

# publish lets QEMU have the certificates that are there now: in a folder of the node, since a virtual machine sees the mounts of the pod
# that has started it, which may have gone. A link leads to those of one time.
publish() {
  fresh=$(mktemp -d "$run/pki.XXXXXX")
  # Before the copy: if the certificate changes meanwhile, the next probe copies it again.
  emulator_certificate >"$emulated"
  cp /etc/pki/qemu/* "$fresh"
  # libvirtd does not start without this folder, if qemu.conf names it.
  mkdir "$fresh/vnc"
  if [ -e "$vnc/server-cert.pem" ]; then
    vnc_certificate >"$published"
    cp "$vnc"/* "$fresh/vnc"
    echo all >"$reloads"
  fi
  # QEMU of a server that was started by an earlier version runs as root without capabilities, and so reads these files as their owner.
  [ -z "$user" ] || { chgrp -R "$user" "$fresh" && chmod -R u=rwX,g=rX,o= "$fresh"; }
  ln -sfn "${fresh##*/}" "$run/pki-next"
  mv -T "$run/pki-next" "$run/pki"
  for old in "$run"/pki.*; do
    [ "$old" = "$fresh" ] || rm -r "$old"
  done
}

# Each call of a daemon has a timeout. Together they are shorter than the timeout of a probe (10 s), so that the log names the daemon that
# does not respond.
logged() { timeout 3 virt-admin --connect virtlogd:///system server-list >/dev/null || { echo "virtlogd does not respond" >&2; return 1; }; }
responds() { timeout 3 virsh --quiet --connect "$URI" version || { echo "libvirtd does not respond" >&2; return 1; }; }

# reload lets QEMU of running servers read the renewed certificate for VNC, which it reads only once otherwise. Connections stay open. Each
# call does a part within 3 s: the first one lists the servers. A server whose QEMU does not respond, for example because another operation
# is in progress, goes to the end of the list. QEMU of a server without TLS returns an error, which changes nothing and is logged.
reload() {
  [ -s "$reloads" ] || return 0
  if [ "$(cat "$reloads")" = all ]; then
    servers=$(timeout 3 virsh --quiet --connect "$URI" list --uuid) || return 0
    echo "$servers" >"$reloads"
    return 0
  fi
  start=$(date +%s)
  for server in $(cat "$reloads"); do
    [ "$(date +%s)" = "$start" ] || break
    code=0
    answer=$(timeout 2 virsh --quiet --connect "$URI" qemu-monitor-command "$server" \
      '{"execute": "display-reload", "arguments": {"type": "vnc", "tls-certs": true}}') || code=$?
    case $answer in *'"error"'*) echo "QEMU of server $server keeps its certificate for VNC: $answer" >&2 ;; esac
    rest=$(grep -vxF "$server" "$reloads" || true)
    # 124 is the status of a timeout. Other errors mean that the server has stopped.
    [ "$code" != 124 ] || rest="$rest
$server"
    echo "$rest" >"$reloads"
  done
}

case ${1:-run} in
alive)
  [ ! -e "$waiting" ] || exit 0
  # Without virtlogd no server starts. When the container is restarted, virtlogd is started again.
  [ ! -e "$logger" ] || logged
  responds
  exit
  ;;
ready)
  [ ! -e "$waiting" ] || { echo "the node has no certificate yet"; exit 1; }
  [ ! -e "$logger" ] || logged
  # Certificates are replaced regularly. QEMU reads them as a migration begins, the daemon when it is told to.
  now=$(certificates)
  if [ "$now" != "$(cat "$known")" ]; then
    publish
    timeout 3 virt-admin --connect libvirtd:///system server-update-tls libvirtd
    echo "$now" >"$known"
  elif [ "$(emulator_certificate)" != "$(cat "$emulated" 2>/dev/null || true)" ] ||
    [ "$(vnc_certificate)" != "$(cat "$published" 2>/dev/null || true)" ]; then
    publish
  else
    reload
  fi
  responds
  exit
  ;;
esac

# wait_for_certificate waits until the node has a certificate, and puts it where libvirt expects it as a server and as a client, and under
# the names that QEMU expects (https://libvirt.org/kbase/tlscerts.html, https://www.qemu.org/docs/master/system/tls.html). A link stays
# correct when the certificate is renewed.
wait_for_certificate() {
  [ -n "${CERTIFICATE:-}" ] || return 0
  of_emulator=${EMULATOR_CERTIFICATE:-$CERTIFICATE}
  : >"$waiting"
  trap 'exit 143' TERM INT
  until [ -s "$CERTIFICATE/tls.crt" ] && [ -s "$of_emulator/tls.crt" ]; do
    sleep 1 &
    wait $!
  done
  trap - TERM INT
  mkdir -p /etc/pki/CA /etc/pki/libvirt/private /etc/pki/qemu
  chmod 755 /etc/pki
  for pair in CA/cacert.pem=ca.crt libvirt/servercert.pem=tls.crt libvirt/private/serverkey.pem=tls.key libvirt/clientcert.pem=tls.crt \
    libvirt/private/clientkey.pem=tls.key; do
    ln -sf "$CERTIFICATE/${pair#*=}" "/etc/pki/${pair%%=*}"
  done
  for pair in ca-cert.pem=ca.crt server-cert.pem=tls.crt server-key.pem=tls.key client-cert.pem=tls.crt client-key.pem=tls.key; do
    ln -sf "$of_emulator/${pair#*=}" "/etc/pki/qemu/${pair%%=*}"
  done
  rm "$waiting"
}

# libvirt starts QEMU without a filter of system calls if QEMU has none, even with seccomp_sandbox = 1. A QEMU without seccomp ends at the
# first option.
for emulator in /usr/bin/qemu-system-* /usr/bin/qemu-kvm /usr/libexec/qemu-kvm; do
  [ -x "$emulator" ] || continue
  "$emulator" -sandbox on -version >/dev/null || {
    echo "$emulator of the image has no filter of system calls; use an image whose QEMU is built with seccomp (virtualization.libvirt.image)" >&2
    exit 1
  }
done

# QEMU, which has no capabilities, opens a terminal for each console. They are the node's, so that other pods find them; the node's own
# way to them, /dev/ptmx, is open to everybody, and leads here.
chmod 666 /dev/pts/ptmx

# QEMU opens these devices itself. Every user may open /dev/kvm by systemd's default, which some distributions change: it grants nothing
# but the creation of virtual machines. Nothing else on the node uses the other one unless it is root. libvirt gives QEMU all other devices.
if [ -n "$user" ]; then
  [ ! -e /dev/kvm ] || chmod o+rw /dev/kvm
  if [ -e /dev/userfaultfd ]; then
    chgrp "$user" /dev/userfaultfd
    chmod g+rw /dev/userfaultfd
  fi
fi

# Volumes of the pod are writable for every user at first, and folders of the node readable.
chmod 700 /etc/libvirt/secrets /etc/libvirt/qemu
chmod 755 /var/cache/libvirt

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
} >"$private/libvirtd.conf"
wait_for_certificate
certificates >"$known"
publish

# swtpm emulates TPMs. Its user owns the authority that signs their certificates. nova-compute offers TPMs as long as this file exists, which
# a pod without swtpm removes.
offered=$run/vtpm
if command -v swtpm >/dev/null && command -v swtpm_setup >/dev/null && command -v swtpm_ioctl >/dev/null; then
  chown "$SWTPM_USER:$SWTPM_USER" /var/lib/swtpm-localca
  chmod 700 /var/lib/swtpm-localca
  # Logs of servers that are gone, as virtlogd does it with QEMU's.
  find /var/log/swtpm -name '*-swtpm.log' -mtime +30 -delete
  echo "$SWTPM_USER" >"$offered.next"
  mv "$offered.next" "$offered"
else
  rm -f "$offered"
fi

# virtlogd writes what servers print to their consoles, up to the sizes in its configuration. It outlives the pod as servers do, because it
# reads their output from pipes: once it has ended, servers run on, and their output is lost until they are started again. If it hangs, it
# slows servers down, and is replaced. If the number in its file belongs to another process by now, that process is left alone.
if ! logged 2>/dev/null; then
  command -v virtlogd >/dev/null || {
    echo "the image has no virtlogd, without which a server fills the node's disk by its console; use an image with it" \
      "(virtualization.libvirt.image; Debian has it in libvirt-daemon-log)" >&2
    exit 1
  }
  pid=$(cat "$run/virtlogd.pid" 2>/dev/null || echo none)
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = virtlogd ]; then
    kill -9 "$pid"
    sleep 1
  fi
  virtlogd --daemon --config /etc/cobaltcore/virtlogd.conf --pid-file "$run/virtlogd.pid"
fi
: >"$logger"

exec libvirtd --listen --config "$private/libvirtd.conf" --pid-file "$run/libvirtd.pid"
