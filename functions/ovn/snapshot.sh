#!/bin/sh
# Copies databases into a bucket, and removes copies that are kept no longer. A copy is one of a moment, as the member that leads has it: a
# file of a database that is no cluster, of which ovsdb-tool makes one
# (https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#backing-up-and-restoring-a-database).
#
# Variables: those of bucket.sh, DATABASES (DATABASE=ADDRESSES …), DAYS (how long copies are kept), and TLS, a folder.
set -u
. "$(dirname "$0")/bucket.sh"

failed=0
for of in $DATABASES; do
  database=${of%%=*} addresses=${of#*=}
  file=/tmp/$database.db
  at=$(date -u +%Y%m%dT%H%M%SZ)
  # What is not whole is not kept under that name.
  if ovsdb-client --timeout=600 --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt" \
    backup "$addresses" "$database" >"$file" && [ "$(ovsdb-tool db-name "$file")" = "$database" ] && gzip -f "$file" &&
    s3 PUT "$PREFIX$database/$at.db.gz" --upload-file "$file.gz"; then
    echo "snapshot: $database at $at, $(wc -c <"$file.gz") bytes"
  else
    echo "snapshot: no copy of $database was made" >&2
    failed=1
    continue
  fi
  rm -f "$file.gz"
  # The newest stays, however old it is: it is the one of this moment, since a copy that fails removes none.
  oldest=$(date -u -d "-$DAYS days" +%Y%m%dT%H%M%SZ)
  if ! all=$(copies "$database"); then
    echo "snapshot: copies of $database cannot be listed, and none is removed" >&2
    failed=1
    continue
  fi
  for key in $all; do
    if expr "$(moment "$key")" \< "$oldest" >/dev/null; then
      echo "snapshot: removes $key"
      s3 DELETE "$key" >/dev/null || failed=1
    fi
  done
done
exit "$failed"
