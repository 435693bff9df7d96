#!/usr/bin/env bash
# Breaks the functions on purpose, and expects the upgrade of a real Keystone to notice: test/openstack/mutate.sh [NAME ...]
# It has the requirements of make test-openstack, and takes some minutes for each.
exec "$(dirname "${BASH_SOURCE[0]}")/../../hack/mutate.sh" test/openstack \
  "go test -tags openstack -count=1 -timeout 15m ./test/openstack/keystone -run TestKeystoneUpgrade/Next -ready-timeout 2m" "$@"
