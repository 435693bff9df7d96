#!/usr/bin/env bash
# Builds developer tools from the Go modules that are pinned in this folder, and prints one path per name:
#
#   hack/tools/build.sh NAME…
#
# Every folder here is one tool, so that the dependencies of tools are independent. The name of a binary contains the hash of its inputs;
# it is stored outside the tree, in ${COBALTCORE_CACHE:-~/.cache/cobaltcore}/bin. Progress goes to stderr.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${COBALTCORE_CACHE:-$HOME/.cache/cobaltcore}/bin

fail() {
  echo "hack/tools: $*" >&2
  exit 1
}

# version prints the version of a module that a tool is built from, as its go.mod says.
version() {
  awk -v module="$2" '$1 == module && $2 ~ /^v/ { print $2; found = 1; exit } END { exit !found }' "$here/$1/go.mod" ||
    fail "hack/tools/$1/go.mod does not require $2"
}

# settings and options of every build.
settings=(CGO_ENABLED=0 GOWORK=off)
options=(-mod=readonly -buildvcs=false -trimpath)

# linker_flags prints the -ldflags of a tool that needs more than smaller binaries.
linker_flags() {
  local version
  echo -n "-s -w"
  case $1 in
  crossplane-core*)
    # Crossplane compares a package's version constraint with this variable; unset, it refuses every constraint.
    version=$(version "$1" github.com/crossplane/crossplane/v2)
    echo -n " -X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=$version"
    # The RBAC manager serves metrics on a port that no flag changes, and exits where something else has it.
    echo -n " -X sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0"
    ;;
  kubernetes | kubernetes-node)
    # Clients and charts ask the API server for its version, and a node says that of its kubelet.
    version=$(version "$1" k8s.io/kubernetes)
    echo -n " -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version"
    version=${version#v}
    echo -n " -X k8s.io/component-base/version.gitMajor=${version%%.*} -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
    ;;
  esac
}

# fingerprint prints what decides the binary: sources, settings, and toolchain (a linter understands only the Go it is built with). What
# concerns other tools alone is none of it.
fingerprint() {
  {
    echo "${settings[@]}" "${options[@]}" "$2"
    go env GOVERSION GOOS GOARCH
    cd "$here/$1" && find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum \) -print0 | LC_ALL=C sort -z | xargs -0 cat
  } | git hash-object --stdin | cut -c1-12
}

build() {
  local name=$1 out flags started=$SECONDS
  [ -f "$here/$name/go.mod" ] || fail "there is no tool \"$name\"; choose from: $(cd "$here" && dirname */go.mod | xargs)"
  flags=$(linker_flags "$name")
  out=$bin/$name-$(fingerprint "$name" "$flags")
  if [ ! -x "$out" ]; then
    mkdir -p "$bin"
    # The lock saves a second caller the build; the rename below keeps both correct where there is no flock.
    exec 9>"$bin/.$name.lock"
    if command -v flock >/dev/null; then flock 9; fi
    if [ ! -x "$out" ]; then
      echo "hack/tools: building $name (once; kept in $bin)" >&2
      (cd "$here/$name" && env "${settings[@]}" nice \
        go build "${options[@]}" -ldflags "$flags" -o "$out.$$" tool 9>&-) >&2 ||
        fail "cannot build $name; Go's message is above. The build needs Go 1.26 or newer and a Go module proxy (go env GOPROXY)"
      mv "$out.$$" "$out"
      echo "hack/tools: built $name in $((SECONDS - started)) s" >&2
    fi
    exec 9>&-
  fi
  echo "$out"
}

[ $# -gt 0 ] || fail "usage: hack/tools/build.sh NAME…"
command -v go >/dev/null || fail "Go is not installed; install Go 1.26 or newer"
for name in "$@"; do build "$name"; done
