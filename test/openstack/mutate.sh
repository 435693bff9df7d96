#!/usr/bin/env bash
# Breaks the functions in one way after another, in a copy, and expects the upgrade of a real Keystone to notice each:
#
#   test/openstack/mutate.sh [NAME ...]
#
# Each patch of mutations/ says in its first line what is broken, and in its second which message is expected. Needs what
# make test-openstack needs, and some minutes for each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
here=$PWD
root=$(cd ../.. && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$root" --exclude=./.git --exclude=./out --exclude=./bin -c . | tar -C "$work" -x

[ $# -gt 0 ] || set -- $(cd mutations && ls -- *.patch)
missed=0
for name in "$@"; do
  name=${name%.patch}
  patch=$here/mutations/$name.patch
  what=$(sed -n 1p "$patch")
  expect=$(sed -n 's/^expect: //p' "$patch")
  patch -d "$work" -p1 -s <"$patch"
  output=$(cd "$work" && go test -tags openstack -count=1 -timeout 15m ./test/openstack -run TestUpgrade/Next 2>&1) && passed=yes || passed=no
  patch -d "$work" -p1 -s -R <"$patch"
  message=$(grep -Eom1 -- "$expect.{0,80}" <<<"$output" || true)
  if [ "$passed" = no ] && [ -n "$message" ]; then
    echo "caught  $name: $what"
    echo "        ${message}"
  else
    echo "MISSED  $name: $what (want: $expect)"
    tail -n 5 <<<"$output" | sed 's/^/        /'
    missed=$((missed + 1))
  fi
done
echo "$(($# - missed)) of $# were caught"
[ "$missed" -eq 0 ]
