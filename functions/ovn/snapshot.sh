#!/bin/sh
# Copies databases into a bucket, and removes copies that are kept no longer. A copy is one of a moment, as the member that leads has it: a
# file of a database that is no cluster, of which ovsdb-tool makes one
# (https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#backing-up-and-restoring-a-database).
#
# Variables: those of bucket.sh, DATABASES (DATABASE=ADDRESSES …), DAYS (how long copies are kept), TLS (a folder), and INSTANCE, the namespace
# and name of the OVNCluster.
set -u
. "$(dirname "$0")/bucket.sh"

# identity prints the owner of a copy: the OVNCluster, and the ID of a row that every database has once and that stays when a database is
# created from a copy. The name is not sufficient, because two management clusters can have claims of the same name.
identity() {
  case $2 in OVN_Northbound) table=NB_Global ;; *) table=SB_Global ;; esac
  id=$(ovsdb-tool query "$1" "[\"$2\", {\"op\": \"select\", \"table\": \"$table\", \"where\": [], \"columns\": [\"_uuid\"]}]" |
    sed -n 's/.*\["uuid", *"\([0-9a-f-]*\)"\].*/\1/p')
  [ -n "$id" ] || { echo "snapshot: the copy of $2 has no row in $table" >&2 && return 1; }
  echo "$INSTANCE $id"
}

# owned succeeds if the folder of a database belongs to this database. The first copy takes a folder without an owner. In a folder of another
# database, a restore could use its copies, and its copies would be removed.
owned() {
  owner=$(identity "$1" "$2") || return 1
  at=$PREFIX$2/owner
  page=$(s3 GET "?list-type=2&prefix=$(escaped "$at")") || { echo "snapshot: the owner of $PREFIX$2 cannot be read" >&2 && return 1; }
  case $page in
  *"<Key>$at</Key>"*)
    found=$(s3 GET "$at") || { echo "snapshot: the owner of $PREFIX$2 cannot be read" >&2 && return 1; }
    [ "$found" = "$owner" ] && return 0
    echo "snapshot: $PREFIX$2 in bucket $BUCKET has copies of another database ($found; this one is $owner);" \
      "set another prefix, or, if no other control plane uses it, delete the object $at" >&2
    return 1
    ;;
  esac
  echo "$owner" >/tmp/owner
  s3 PUT "$at" --upload-file /tmp/owner || return 1
}

failed=0
for of in $DATABASES; do
  database=${of%%=*} addresses=${of#*=}
  file=/tmp/$database.db
  now=$(date -u +%Y%m%dT%H%M%SZ)
  # What is not whole is not kept under that name.
  if ovsdb-client --timeout=300 --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt" \
    backup "$addresses" "$database" >"$file" && [ "$(ovsdb-tool db-name "$file")" = "$database" ] &&
    owned "$file" "$database" && gzip -f "$file" && s3 PUT "$PREFIX$database/$now.db.gz" --upload-file "$file.gz"; then
    echo "snapshot: $database at $now, $(wc -c <"$file.gz") bytes"
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
