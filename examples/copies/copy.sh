#!/bin/bash
# Copies the images of an RBD pool into a folder, or one of them, each with its snapshots and as of one moment:
#
#   copy.sh POOL FOLDER [IMAGE]
#
# Where the pool is, and who asks, is in CEPH_ARGS. What FOLDER/POOL has of an image is replaced when the next copy of it is
# whole, and stays when the image is gone. While an image is copied it has a snapshot "copy" and cannot be deleted: Cinder and
# Glance refuse that meanwhile. The snapshot of a run that was killed is removed by the next one.
set -euo pipefail
pool=$1 folder=$2/$1

# without_snapshot removes the snapshot, if there is one.
without_snapshot() {
  local names
  names=$(rbd snap ls "$1" | awk 'NR > 1 {print $2}')
  if grep -qx copy <<<"$names"; then rbd snap rm --no-progress "$1@copy"; fi
}

one() {
  local image=$pool/$1 to=$folder/$1 from=() number=0 name protected
  if [ -d "$to.old" ] && [ ! -d "$to" ]; then mv "$to.old" "$to"; fi
  rm -rf "$to.part" "$to.old"
  mkdir -p "$to.part"
  without_snapshot "$image"
  rbd snap create --no-progress "$image@copy"
  rbd info "$image" | awk '$1 == "data_pool:" {print $2}' >"$to.part/data-pool" # empty, unless its data is elsewhere
  # Names, oldest first, and whether they are protected, as those are that images were cloned from.
  rbd snap ls "$image" | awk 'NR > 1 {print $2, ($5 == "yes" ? "yes" : "no")}' >"$to.part/snapshots"
  while read -r name protected; do
    rbd export-diff --no-progress "${from[@]}" "$image@$name" "$to.part/$number" </dev/null
    from=(--from-snap "$name")
    number=$((number + 1))
  done <"$to.part/snapshots"
  without_snapshot "$image"
  if [ -d "$to" ]; then mv "$to" "$to.old"; fi
  mv "$to.part" "$to"
  rm -rf "$to.old"
}

if [ $# -eq 3 ]; then
  one "$3"
  exit
fi
images=$(rbd ls "$pool")
failed=0
for image in $images; do
  if "$BASH" "$0" "$pool" "$2" "$image"; then
    echo "$pool/$image is copied"
  elif ! rbd info "$pool/$image" >/dev/null 2>&1; then
    echo "$pool/$image is gone" # deleted meanwhile
  else
    echo "$pool/$image is not copied" >&2
    without_snapshot "$pool/$image" || true
    failed=1
  fi
done
exit "$failed"
