#!/bin/bash
# Makes an image of an RBD pool again, with its snapshots, from what copy.sh has written:
#
#   restore.sh FOLDER POOL IMAGE
#
# Where the pool is, and who asks, is in CEPH_ARGS. An image that is there is not touched. An image is there when it is whole:
# what a run left which was killed is called IMAGE.restoring, and is removed by the next one.
set -euo pipefail
from=$1/$2/$3 pool=$2 image=$3
[ -f "$from/snapshots" ] || { echo "there is no copy $from" >&2; exit 1; }
if rbd info "$pool/$image" >/dev/null 2>&1; then
  echo "$pool/$image is there: rename or remove it first" >&2
  exit 1
fi
new=$pool/$image.restoring

protected() { rbd snap ls "$new" | awk '$5 == "yes" {print $2}'; }

if rbd info "$new" >/dev/null 2>&1; then
  for name in $(protected); do rbd snap unprotect "$new@$name"; done
  rbd snap purge --no-progress "$new"
  rbd rm --no-progress "$new"
fi
read -r data <"$from/data-pool" || true
rbd create --size 1 ${data:+--data-pool "$data"} "$new" # each of the files says how large the image was
number=0
while read -r name is_protected; do
  rbd import-diff --no-progress "$from/$number" "$new" </dev/null
  if [ "$is_protected" = yes ] && ! protected | grep -qx "$name"; then rbd snap protect "$new@$name"; fi
  number=$((number + 1))
done <"$from/snapshots"
rbd snap rm --no-progress "$new@copy"
rbd rename "$new" "$pool/$image"
echo "$pool/$image is restored"
