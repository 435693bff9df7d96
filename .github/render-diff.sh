#!/usr/bin/env bash
# Compares what every example becomes in two checkouts and prints the difference as Markdown for a comment:
#
#   .github/render-diff.sh BEFORE AFTER
#
# A claim that one of the two refuses shows up as its error.
set -euo pipefail

# A comment holds 65536 characters.
limit=60000

fail() {
  echo "render-diff: $*" >&2
  exit 1
}

# render CHECKOUT OUT writes OUT/<example>.yaml.
render() {
  local checkout=$1 out=$2 claim name
  mkdir -p "$out"
  go -C "$checkout" build -o "$out.bin" ./cmd/cobaltcore || fail "cannot build $checkout"
  for claim in "$checkout"/examples/*/*.yaml; do
    grep -q '^kind: ControlPlaneCluster$' "$claim" || continue
    name=${claim#"$checkout"/examples/}
    mkdir -p "$out/$(dirname "$name")"
    "$out.bin" preview -f "$claim" -e "$checkout/examples/platform/platformconfig.yaml" --format yaml >"$out/$name" 2>"$out/error" ||
      sed 's/^/# refused: /' "$out/error" >"$out/$name"
    rm -f "$out/error"
  done
}

[ $# -eq 2 ] || fail "usage: .github/render-diff.sh BEFORE AFTER"
before=$(cd "$1" && pwd) after=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
render "$before" "$work/before"
render "$after" "$work/after"
rm "$work"/*.bin

diff=$(cd "$work" && git diff --no-index --no-color --stat-width=100 --stat --patch before after) || true
if [ -z "$diff" ]; then
  echo "The manifests of all examples stay as they are."
  exit
fi
echo "What changes in the manifests of the examples:"
echo
# A fence that no line of the text can close.
echo '``````diff'
echo "${diff:0:limit}"
if [ ${#diff} -gt $limit ]; then echo "… and $((${#diff} - limit)) characters more"; fi
echo '``````'
