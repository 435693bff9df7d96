#!/bin/sh
# Encrypts the keys of all projects with the primary key. Each is a transaction of its own, and one that is encrypted with it already is so
# again, so that this may end anywhere and begin anew. Of a key that it could not encrypt, Barbican's tool only prints that, and succeeds.
set -eu
if said=$(barbican-manage simple_crypto rewrap_pkek 2>&1); then
  echo "$said"
else
  echo "$said"
  exit 1
fi
case $said in
  *'Error occurred'*)
    echo 'barbican-manage could not encrypt the keys of some projects, see its errors above. The Job is retried, and old keys are kept.' >&2
    exit 1
    ;;
esac
