#!/usr/bin/env bash
# Builds the archives of the command line for the plugin manager krew: hack/krew/build.sh FOLDER. The files do not depend on the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

platforms="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"

folder=${1:?name a folder}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp LICENSE "$work/"
for platform in $platforms; do
  os=${platform%/*} arch=${platform#*/}
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -ldflags "-s -w" -o "$work/kubectl-cobaltcore" ./cmd/cobaltcore
  tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$work" LICENSE kubectl-cobaltcore |
    gzip --no-name >"$folder/kubectl-cobaltcore_${os}_${arch}.tar.gz"
done
