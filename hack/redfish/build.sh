#!/usr/bin/env bash
# Installs sushy-emulator, the Redfish service of OpenStack's sushy-tools, and prints its path. The packages of requirements.txt are installed
# once into a virtual environment in ${COBALTCORE_CACHE:-~/.cache/cobaltcore}/redfish. It requires Python 3.11.
#
#   hack/redfish/build.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hash=$({ python3 --version && cat "$here/requirements.txt"; } | git hash-object --stdin | cut -c1-12)
env=${COBALTCORE_CACHE:-$HOME/.cache/cobaltcore}/redfish/$hash

if [ ! -f "$env/complete" ]; then
  echo "hack/redfish: installing sushy-tools (once; kept in $env)" >&2
  python3 -m venv --clear "$env" || {
    echo "hack/redfish: cannot create a virtual environment; install Python 3.11 with venv (Debian: python3-venv)" >&2
    exit 1
  }
  "$env/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.txt" >&2
  touch "$env/complete"
fi
echo "$env/bin/sushy-emulator"
