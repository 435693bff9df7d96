#!/bin/sh
# Writes the keys of /etc/barbican/keys down as Barbican wants them, and becomes the command that it is given. The highest number encrypts, and
# Barbican encrypts with the first that it reads; the others decrypt.
set -eu
umask 077
keys=/etc/barbican/keys
file=/etc/barbican/barbican.conf.d/keys.conf

{
  echo '[simple_crypto_plugin]'
  found=
  for name in $(ls "$keys" | grep -x '[0-9][0-9]*' | sort -rn); do
    # An assignment of its own: only so does a failure end the script.
    key=$(cat "$keys/$name")
    printf 'kek = %s\n' "$key"
    found=yes
  done
  # Without any, 2025.1 would encrypt with a key that everybody knows.
  if [ -z "$found" ]; then
    echo "There are no keys in $keys." >&2
    exit 1
  fi
} > "$file.new"
mv "$file.new" "$file"
exec "$@"
