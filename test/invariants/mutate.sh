#!/usr/bin/env bash
# Breaks the code on purpose, and expects the property test to notice: test/invariants/mutate.sh [NAME ...]
exec "$(dirname "${BASH_SOURCE[0]}")/../../hack/mutate.sh" test/invariants \
  "go test ./test/invariants -run TestInvariantsHoldInRandomHistories -rapid.nofailfile -rapid.shrinktime=0s" "$@"
