#!/usr/bin/env bash
# Introduces one defect after another into a copy of the code, and expects that a test reports each with its own message:
#
#   hack/mutate.sh FOLDER "TEST COMMAND" [NAME ...]
#
# The first line of each patch in FOLDER/mutations describes the defect, the second the expected message. The test runs at the root of the
# copy.
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
