#!/usr/bin/env bash
# Renders one composite resource with the real crossplane CLI and the real reconciler of Crossplane's core, without Docker:
#
#   hack/render/render.sh XR COMPOSITION FUNCTION_TARGET [render flags…]
#
# FUNCTION_TARGET is host:port of a function that is already running with --insecure; it serves every function that the
# Composition names. The flags are those of `crossplane composition render`, most useful:
#
#   --xrd FILE   the definition: required for defaults, and for claimable kinds, otherwise the XR is treated as a v2 one
#   -e FILE      required resources: a PlatformConfig, and the admission policies (examples/platform/admission.yaml)
#   -o FILE      observed composed resources (each with the annotation crossplane.io/composition-resource-name)
#   -r           results as documents of kind Result
#   -x           the whole XR instead of its name and status
#
# The rendered YAML goes to stdout: the XR, then the composed resources sorted by resource name, then the results.
set -euo pipefail

fail() {
  echo "render: $*" >&2
  exit 1
}

# functions prints a Function for each function that a Composition names, to be dialled at a target instead of run in Docker.
functions() {
  local composition=$1 target=$2
  awk '/functionRef:/ {f = 1} f && match($0, /name: *[^ },]+/) {n = substr($0, RSTART, RLENGTH); sub(/name: */, "", n); print n; f = 0}' \
    "$composition" | sort -u | while read -r name; do
    cat <<YAML
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: $name
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: $target
spec:
  package: example.org/not-pulled/$name:v0.0.0
YAML
  done
}

[ $# -ge 3 ] || fail "usage: hack/render/render.sh XR COMPOSITION FUNCTION_TARGET [render flags…]"
xr=$1 composition=$2 target=$3
shift 3

for file in "$xr" "$composition"; do [ -f "$file" ] || fail "there is no file $file"; done

# The CLI waits for a function that does not respond until its own timeout, and then prints only "signal: killed".
(exec 3<>"/dev/tcp/${target%:*}/${target##*:}") 2>/dev/null ||
  fail "no function listens on $target; start it first with --insecure and --address $target"

tools=$(dirname "${BASH_SOURCE[0]}")/../tools
cli=$("$tools/build.sh" crossplane)
core=$("$tools/build.sh" crossplane-core)

exec "$cli" composition render "$xr" "$composition" <(functions "$composition" "$target") --crossplane-binary="$core" "$@"
