# Functions for probes of a process whose login is replaced regularly. The script that includes this file defines logins, which prints the
# current login.
#
# Variables: NODE_NAME and, if set, PROGRAM; QUEUE_PORT; STARTED (a file with the hash of the login that the process started with), TAKEN (a
# file that exists if the process started with the login of its pod template) and AGENT (a file with the ID of the process).

# connected succeeds if the process or one of its children has a connection to the message queue. Pods of nodes share the connections of
# the node with other processes.
connected() {
  pid=$(cat "$AGENT")
  {
    for process in "$pid" $(ps -o pid= --ppid "$pid"); do
      ls -l "/proc/$process/fd" 2>/dev/null || true # it may have ended
    done | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p' | sort -u
    awk -v port=":$(printf %04X "$QUEUE_PORT")\$" '$4 == "01" && $3 ~ port { print $10 }' /proc/net/tcp /proc/net/tcp6 | sort -u
  } | sort | uniq -d | grep -q .
}

# delay prints a number of seconds below a maximum. It differs between nodes and programs, and is always the same for one of them.
delay() {
  number=$(printf '%s %s' "$NODE_NAME" "${PROGRAM:-}" | cksum | cut -d ' ' -f 1)
  echo "$((number % $1))"
}

# replaced succeeds if the process must restart, because its login was replaced. Normally the rolling update of the DaemonSet gives nodes the
# next login: maxUnavailable nodes at a time. A restart of the container is for nodes that the rolling update does not reach, for example
# because too many others are down. The previous login works for days, so these nodes restart over three hours, beginning an hour after the
# login was replaced. Without a connection the previous login may be revoked, so the process restarts within five minutes. A process
# that started before the login of its pod template was available restarts immediately: the rolling update limits their number.
replaced() {
  if [ "$(logins | sha256sum)" = "$(cat "$STARTED")" ]; then
    rm -f "$STARTED.replaced"
    return 1
  fi
  [ -e "$STARTED.replaced" ] || date +%s >"$STARTED.replaced"
  if [ ! -e "$TAKEN" ]; then
    wait=0
  elif connected; then
    wait=$((3600 + $(delay 10800)))
  else
    wait=$(delay 300)
  fi
  [ "$(($(date +%s) - $(cat "$STARTED.replaced")))" -ge "$wait" ]
}

# start records the process, which replaces this shell, and its login. Call it before the login is read: if it is replaced in between, the
# process restarts once more than necessary.
start() {
  logins | sha256sum >"$STARTED"
  rm -f "$STARTED.replaced"
  echo $$ >"$AGENT"
}

# uses records that the process has the login of its pod template. The arguments are pairs of a required and the actual identity; an empty
# one is not required.
uses() {
  while [ $# -gt 0 ]; do
    [ "${1:-$2}" = "$2" ] || return 0
    shift 2
  done
  : >"$TAKEN"
}
