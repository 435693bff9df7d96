# Looks whether a user of a Ceph that somebody else runs gets what it is for: $FSID, and each of its pools. What is wrong is the last line.
set -eu
export CEPH_ARGS="--conf=/etc/ceph/ceph.conf --id=$CEPH_USER --keyring=/tmp/keyring"
umask 077
printf '[client.%s]\nkey = %s\n' "$CEPH_USER" "$(cat /keys/userKey)" >/tmp/keyring

is=$(timeout 4 ceph fsid 2>/tmp/said) || { echo "client.$CEPH_USER does not reach the monitors: $(tail -n 1 /tmp/said)"; exit 1; }
[ "$is" = "$FSID" ] || { echo "the cluster is $is, and not $FSID"; exit 1; }
for pool; do
  timeout 4 rbd ls "$pool" >/dev/null 2>/tmp/said || { echo "client.$CEPH_USER cannot read pool $pool: $(tail -n 1 /tmp/said)"; exit 1; }
done
