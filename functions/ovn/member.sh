#!/bin/sh
# Runs one member of a database's cluster (https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#clustered-database-service-model).
#
# A cluster is created once, by its first member, as long as nobody knows of one. From then on a member whose file is missing joins, and
# never creates: a second cluster would be an empty one that clients take for the first. A restart is no leave: only a member whose number
# is beyond those that are wanted leaves, and its file with it, since a cluster takes no member back.
#
# Variables say what stays: DATABASE, SCHEMA, NAME (of the StatefulSet), DOMAIN (of its pods), PORT (of clients), CHASSIS_PORT (of nodes, whose
# writes CHASSIS_ROLE limits; empty: none), RAFT_PORT, BACKLOG_BYTES, POD_NAME, POD_IP, and the folders DATA, STATE and TLS. What changes while a member runs are files in STATE: cluster-id, which is empty as
# long as nobody knows of a cluster; members, how many are wanted; and, in milliseconds, election-timer and inactivity-probe.
#
# With the variables of bucket.sh, the cluster is created of a copy.
set -u
. "$(dirname "$0")/bucket.sh"

file=$DATA/$DATABASE.db
control=/tmp/control
local=unix:/tmp/database
waiting=/tmp/waiting
number=${POD_NAME##*-}

say() { echo "member: $*"; }
wanted() { cat "$STATE/members"; }
timer() { cat "$STATE/election-timer"; }
probe() { cat "$STATE/inactivity-probe"; }
address() { echo "ssl:$NAME-$1.$DOMAIN:$RAFT_PORT"; }
control() { ovs-appctl --timeout=5 --target="$control" "$@"; }

# others are the addresses of all other members.
others() {
  i=0
  while [ "$i" -lt "$(wanted)" ]; do
    [ "$i" = "$number" ] || address "$i"
    i=$((i + 1))
  done
}

# left reports whether the file is that of a member that is none any more: the last record says so.
left() { [ -e "$file" ] && tail -c 1024 "$file" | grep -qaE '"note": ?"left"'; }

# prepare makes the file, if it can be made now.
prepare() {
  [ -s "$STATE/inactivity-probe" ] || return 1
  if left; then
    say "removes the file of a member that has left"
    rm -f "$file"
  fi
  [ ! -e "$file" ] || return 0
  # What is not whole has another name.
  rm -f "$file.new" "$DATA/.$DATABASE.db.new.~lock~"
  id=$(cat "$STATE/cluster-id")
  if [ "$number" -ge "$(wanted)" ]; then
    # It serves nothing, so that others can see that it is no member.
    return 0
  elif [ -n "$id" ] && [ -n "$(others)" ]; then
    say "joins cluster $id"
    # shellcheck disable=SC2046 # each is a word
    ovsdb-tool --cid="$id" join-cluster "$file.new" "$DATABASE" "$(address "$number")" $(others) || return 1
  elif [ -n "$id" ]; then
    say "has no file of cluster $id, of which it is the only member: the data is lost; restore it from a backup"
    return 1
  elif [ "$number" = 0 ]; then
    from=$SCHEMA
    if [ -n "${BUCKET:-}" ]; then
      # The Secret may be younger than the pod. Only a container that starts anew sees it.
      if [ -z "${ACCESS_KEY_ID:-}" ] || [ -z "${SECRET_ACCESS_KEY:-}" ] || ! [ -e "${BUCKET_CA:-/}" ]; then
        say "has no credentials of bucket $BUCKET yet, and creates no database without the copy"
        exit 1
      fi
      # Nothing is created without the copy: an empty database would be taken for the one that is missed.
      from=$DATA/restored.db
      fetch "$DATABASE" "$from" || { say "cannot restore the database, and creates none" && return 1; }
    fi
    say "creates the cluster"
    ovsdb-tool --election-timer="$(timer)" create-cluster "$file.new" "$from" "$(address "$number")" || return 1
    rm -f "$DATA/restored.db"
  else
    say "waits until the first member's cluster is known"
    return 1
  fi
  mv "$file.new" "$file"
}

# forget removes from the cluster who has the address of a number, is not this member, and was not heard of for so many milliseconds: at its
# own address that is itself, before it lost its file. At one beyond those that are wanted, it may have lost its file and cannot leave.
forget() {
  for id in $(echo "$1" | awk -v at="at $(address "$2"))" -v silent="$3" '
    /^Servers:/ { in_list = 1 }
    in_list && index($0, at) && !/\(self\)/ {
      heard = silent + 1
      for (i = 1; i < NF; i++) if ($i == "msg") heard = $(i + 1) + 0
      if (silent == 0 || heard > silent) print $1
    }'); do
    say "removes $id at the address of member $2"
    control cluster/kick "$DATABASE" "$id"
  done
}

# convert brings the database to this image's schema if that is a later one. An earlier one would take columns away, with what is in them.
convert() {
  is=$(ovsdb-client --timeout=10 get-schema-version "$local" "$DATABASE") || return 0
  here=$(ovsdb-tool schema-version "$SCHEMA")
  if [ "$is" != "$here" ] && [ "$(printf '%s\n' "$is" "$here" | sort -V | tail -n 1)" = "$here" ]; then
    say "converts the database from schema $is to $here"
    ovsdb-client --timeout=60 convert "$local" "$SCHEMA" || return 0
  fi
  converted=1
}

# pace brings the election timer to the one that is wanted, by no more than doubling it at a time: the server takes no larger step.
pace() {
  is=$(echo "$1" | sed -n 's/^Election timer: \([0-9]*\).*/\1/p')
  want=$(timer)
  [ -n "$is" ] && [ -n "$want" ] && [ "$is" != "$want" ] || return 0
  [ "$want" -le $((is * 2)) ] || want=$((is * 2))
  say "changes the election timer from $is to $want milliseconds"
  control cluster/change-election-timer "$DATABASE" "$want" || true
}

# settings writes what the server serves, and after how long a client is asked whether it is there.
settings() {
  probed=$(probe)
  chassis=
  [ -z "$CHASSIS_PORT" ] || chassis="\"pssl:$CHASSIS_PORT:$ip\": {\"role\": \"$CHASSIS_ROLE\", \"inactivity-probe\": $probed}, "
  databases={}
  [ ! -e "$file" ] || databases="{\"$file\": {}}"
  cat >/tmp/server.json <<EOF
{
  "remotes": {"pssl:$PORT:$ip": {"inactivity-probe": $probed}, $chassis"p$local": {}},
  "databases": $databases
}
EOF
}

# tell lets northd ask the databases as seldom as they ask it (northd_probe_interval in ovn-nb(5)). The row is northd's, once it has run.
tell() {
  [ "$DATABASE" = OVN_Northbound ] || { told=$probed && return 0; }
  ovsdb-client --timeout=10 transact "$local" "[\"$DATABASE\", {
    \"op\": \"mutate\", \"table\": \"NB_Global\", \"where\": [], \"mutations\": [
    [\"options\", \"delete\", [\"set\", [\"northd_probe_interval\"]]],
    [\"options\", \"insert\", [\"map\", [[\"northd_probe_interval\", \"$probed\"]]]]]}]" | grep -q '"count":1' && told=$probed
}

# tend looks after the member that runs. It ends with 1 if it has to be started again.
tend() {
  status=$(control cluster/status "$DATABASE" 2>/dev/null)
  case $status in
  *"Status: cluster member"*)
    [ "$(probe)" = "$probed" ] || { settings && control ovsdb-server/reload; }
    # Of what waits for a member that is slow or away, no more is kept than memory has room for: beyond it the connection is closed, and the
    # member gets a snapshot instead.
    [ -n "$bounded" ] || ! control cluster/set-backlog-threshold "$DATABASE" 500 "$BACKLOG_BYTES" 2>/dev/null || bounded=1
    if [ "$number" -ge "$(wanted)" ]; then
      say "leaves"
      control cluster/leave "$DATABASE"
    else
      forget "$status" "$number" 0
      case $status in
      *"Role: leader"*)
        [ -n "$converted" ] || convert
        [ "$told" = "$probed" ] || tell
        pace "$status"
        for i in $(seq "$(wanted)" 8); do forget "$status" "$i" 20000; done
        ;;
      *) converted= told= ;;
      esac
    fi
    ;;
  *)
    # Whoever has left stays until its pod goes, so that others can see that it has, or until it is wanted again.
    [ "$number" -ge "$(wanted)" ] || { [ -e "$file" ] && ! left; } || return 1
    ;;
  esac
}

stop() {
  stopping=1
  # A leader hands over before it ends.
  control exit || kill "$server"
}

case ${1:-run} in
ready)
  status=$(control cluster/status "$DATABASE") || exit 1
  echo "$status" | grep -q '^Status: cluster member$' && ! echo "$status" | grep -q '^Leader: unknown$'
  exit
  ;;
alive)
  [ -e "$waiting" ] || control version >/dev/null
  exit
  ;;
esac

trap 'exit 0' TERM INT
until prepare; do
  touch "$waiting"
  sleep 2 &
  wait $!
done
rm -f "$waiting"

case $POD_IP in *:*) ip="[$POD_IP]" ;; *) ip=$POD_IP ;; esac
settings
ovsdb-server --config-file=/tmp/server.json --unixctl="$control" -vconsole:info -vsyslog:off \
  --private-key="$TLS/tls.key" --certificate="$TLS/tls.crt" --ca-cert="$TLS/ca.crt" &
server=$!
stopping= converted= told= bounded=
trap stop TERM INT
while kill -0 "$server" 2>/dev/null; do
  sleep 2 &
  wait $!
  [ -n "$stopping" ] || tend || stop
done
wait "$server"
