#!/usr/bin/env bash
# Builds the portal of examples/portal and tests it in Chromium, with the results in a folder:
#
#   hack/portal.sh [-build] FOLDER
#
# With -build, it builds only. It requires Node.js 20 and npm; the tests require Go and Chromium (Debian: chromium), or CHROMIUM with its
# path. Packages are installed once into ${COBALTCORE_CACHE:-~/.cache/cobaltcore}/portal.
set -euo pipefail

commands=(node npm "${CHROMIUM:-chromium}")
build=''
if [ "$1" = -build ]; then
  build=1 commands=(node npm)
  shift
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "$1")
for command in "${commands[@]}"; do
  command -v "$command" >/dev/null || {
    echo "hack/portal.sh: $command is missing; install it (Debian: nodejs, npm, chromium)" >&2
    exit 1
  }
done

hash=$({ node --version && cat "$root"/examples/portal/package-lock.json; } | git hash-object --stdin | cut -c1-12)
cache=${COBALTCORE_CACHE:-$HOME/.cache/cobaltcore}/portal/$hash
if [ ! -f "$cache/complete" ]; then
  mkdir -p "$cache"
  cp "$root"/examples/portal/{package.json,package-lock.json,.npmrc} "$cache"
  npm --prefix "$cache" ci --no-audit --no-fund
  touch "$cache/complete"
fi

# The tree stays free of packages: the sources are copied to a folder that has them.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p "$work/examples" "$work/docs/reference"
cp -r "$root/examples/portal" "$work/examples/portal"
cp -r "$root/docs/reference/form" "$work/docs/reference/form"
rm -rf "$work/examples/portal/node_modules"
ln -s "$cache/node_modules" "$work/examples/portal/node_modules"
cd "$work/examples/portal"
node build.js "$out/site"
[ -z "$build" ] || exit 0
(cd "$root" && hack/compile.sh -o "$work/cobaltcore" ./cmd/cobaltcore)
COBALTCORE=$work/cobaltcore CHROMIUM=$(command -v "${CHROMIUM:-chromium}") node test.js "$out/site" "$out"
