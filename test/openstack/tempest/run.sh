#!/usr/bin/env bash
# Runs Tempest's identity tests against the cloud that `make openstack-up` has left running:
#
#   test/openstack/tempest/run.sh [REGEX]
#
# Tempest is the release's own, of the virtual environment beside its Keystone. What it wrote is in out/openstack/tempest, until
# `make openstack-down`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cloud=$(cd "$here/../../.." && pwd)/out/openstack

[ -x "$cloud/enter" ] || {
  echo "no cloud runs here; start one with: make openstack-up CLAIM=test/openstack/testdata/tempest.yaml" >&2
  exit 1
}
mkdir -p "$cloud/tempest"
cd "$cloud/tempest"
(umask 077 && "$cloud/enter" python "$here/configure.py" "$cloud" >tempest.conf)
"$cloud/enter" tempest --version
grep -v '^ *\(#\|$\)' "$here/exclude.txt" | sed 's/^/excluded: /' || true
"$cloud/enter" tempest run --config-file tempest.conf --concurrency 2 --exclude-list "$here/exclude.txt" \
  --regex "${1:-^tempest\.api\.identity\.}"
