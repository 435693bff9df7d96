#!/usr/bin/env bash
# Breaks the code in one way after another, in a copy, and expects a test to notice each by its own words:
#
#   hack/mutate.sh FOLDER "TEST COMMAND" [NAME ...]
#
# Each patch of FOLDER/mutations says in its first line what is broken, and in its second which message is expected. The test
# runs at the root of the copy.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mutations=$root/$1/mutations
test=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$root" --exclude=./.git --exclude=./out --exclude=./bin -c . | tar -C "$work" -x

[ $# -gt 0 ] || set -- $(cd "$mutations" && ls -- *.patch)
missed=0
for name in "$@"; do
  name=${name%.patch}
  patch=$mutations/$name.patch
  what=$(sed -n 1p "$patch")
  expect=$(sed -n 's/^expect: //p' "$patch")
  patch -d "$work" -p1 -s <"$patch"
  output=$(cd "$work" && bash -c "$test" 2>&1) && passed=yes || passed=no
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
