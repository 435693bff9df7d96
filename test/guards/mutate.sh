#!/usr/bin/env bash
# Introduces defects into the guards of pools, and expects that the model detects each: test/guards/mutate.sh [NAME ...]
exec "$(dirname "${BASH_SOURCE[0]}")/../../hack/mutate.sh" test/guards \
  "go test ./test/guards -failfast -timeout 3h -rapid.nofailfile -rapid.shrinktime=0s -rapid.checks=20000" "$@"
