#!/usr/bin/env bash
# Builds the site of the documentation (mkdocs.yml), and fails at any warning of mkdocs. With a version, it also commits the site to the
# local branch gh-pages, in a folder of the version next to earlier versions; the newest has the alias latest.
#
#   hack/site/build.sh FOLDER [VERSION]
#
# It requires Python 3.11. The packages of requirements.txt and mermaid.txt are installed once into a virtual environment in
# ${COBALTCORE_CACHE:-~/.cache/cobaltcore}/site. The site loads no files from other sites.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(realpath -m "$1")
hash=$({ python3 --version && cat "$here"/{requirements,mermaid}.txt; } | git hash-object --stdin | cut -c1-12)
env=${COBALTCORE_CACHE:-$HOME/.cache/cobaltcore}/site/$hash

if [ ! -f "$env/complete" ]; then
  echo "hack/site: installing mkdocs-material (once; kept in $env)" >&2
  python3 -m venv --clear "$env" || {
    echo "hack/site: cannot create a virtual environment; install Python 3.11 or newer with venv (Debian: python3-venv)" >&2
    exit 1
  }
  "$env/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.txt" -r "$here/mermaid.txt"
  touch "$env/complete"
fi

cd "$here/../.."
NO_MKDOCS_2_WARNING=1 "$env/bin/mkdocs" build --strict --clean --site-dir "$out"
echo "hack/site: open $out/index.html" >&2
if [ -n "${2:-}" ]; then
  export NO_MKDOCS_2_WARNING=1 PATH=$env/bin:$PATH # mike runs mkdocs.
  mike --quiet deploy --update-aliases --branch gh-pages "$2" latest
  mike --quiet set-default --branch gh-pages latest
fi
