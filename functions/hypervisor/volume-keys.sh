#!/bin/sh
# Keeps libvirt on the node told of the keys by which virtual machines open volumes and disks in a Ceph. It tells a key when libvirt does not have it,
# as after a restart, and when it is another one than before; what runs keeps the key that it has begun with. libvirt keeps keys in memory,
# and hands none out again.
#
# Variables: LIBVIRT (where it answers), KEYS (a folder with the keyring of each backend, or the key alone), VOLUMES (BACKEND:USER:UUID of
# each), TOLD (a folder for hashes of what libvirt has been told).
set -eu

libvirt() { timeout 5 virsh --quiet --connect "$LIBVIRT" "$@"; }

# pick takes a volume apart, and finds its key.
pick() {
  backend=${1%%:*} uuid=${1##*:} user=${1#*:} user=${user%:*}
  key=$(sed -n "/^\[client\.$user\]/,/^\[/s/^[[:space:]]*key[[:space:]]*=[[:space:]]*//p" "$KEYS/$backend" | head -n 1 | tr -d '[:space:]')
  grep -q '^\[' "$KEYS/$backend" || key=$(tr -d '[:space:]' <"$KEYS/$backend")
  [ -n "$key" ] || { echo "the keyring of $backend has no key of client.$user" >&2; return 1; }
}

digest() { printf %s "$key" | sha256sum; }

# known says that libvirt has the key as it is now.
known() {
  [ "$(digest)" = "$(cat "$TOLD/$uuid" 2>/dev/null)" ] && libvirt secret-list | grep -q "$uuid"
}

# tell gives libvirt the key. A key that it has is replaced, so that there is never none. Backends may have one key together, whose use has
# one name.
tell() {
  rm -f "$TOLD/$uuid"
  libvirt secret-define /dev/stdin <<END || return 1
<secret ephemeral='yes' private='yes'><uuid>$uuid</uuid><usage type='ceph'><name>client.$user $uuid</name></usage></secret>
END
  printf %s "$key" | libvirt secret-set-value "$uuid" --file /dev/stdin || return 1
  digest >"$TOLD/$uuid"
  echo "libvirt has the key of client.$user for $backend"
}

case ${1:-run} in
ready)
  for volume in $VOLUMES; do pick "$volume" && known || exit 1; done
  exit
  ;;
esac

mkdir -p "$TOLD"
trap 'exit 0' TERM INT
while :; do
  for volume in $VOLUMES; do
    pick "$volume" || continue
    known || tell || echo "libvirt does not take the key of client.$user for $backend" >&2
  done
  # A shell hears of a signal when its child has ended, unless it waits for it.
  sleep 5 & wait $!
done
