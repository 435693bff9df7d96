#!/bin/sh
# Runs nova-compute with the logins that are mounted when it starts. They are replaced regularly (login.sh). Servers keep running.
#
# Variables: QUEUE_HOST, QUEUE_PORT, QUEUE_VHOST, QUEUE_CA, INSTANCES, LOGINS (a folder with queue and credential), STARTED (a file);
# QUEUE_USER and CREDENTIAL (the identities of the logins that its pod was made for; empty: any), TAKEN and AGENT (files); RPC (a file with
# the result of calls to nova-compute; empty: it is not called);
# HUGE_PAGES (KiB:pages ..., how many of each size virtual machines get; empty: all), CELLS (a folder with the node's NUMA cells), RESERVED (a
# file), RESERVE_DISK (empty: none of the disk), NODE_IP and INTERFACE (whose address other nodes move virtual machines to; empty: NODE_IP), DOMAIN (of the names of nodes),
# LIVE_MIGRATION (empty: libvirt has no certificate for it), PROGRAMS (a folder that is made), VTPM (the file by which libvirt.sh offers
# TPMs; empty: servers have none), VTPM_STARTED (a file), and those of disk-transfer.py.
set -eu
. "$(dirname "$0")/login.sh"

logins() { cat "$LOGINS"/queue/username "$LOGINS"/queue/password "$LOGINS"/credential/*; }

# reserve SIZE PAGES says how many huge pages of each cell virtual machines do not get: Nova finds all that there are, and has no word for
# how many it gets. All cells give alike, as far as they have as many; those with the fewest come first, so that others make up for them.
reserve() {
  cells=$(for file in "$CELLS"/node[0-9]*/hugepages/"hugepages-$1kB"/nr_hugepages; do
    [ -e "$file" ] || continue
    cell=${file#"$CELLS"/node}
    echo "$(cat "$file") ${cell%%/*}"
  done | sort -n)
  left=$2 others=$(echo "$cells" | wc -l)
  echo "$cells" | while read -r there cell; do
    [ -n "$cell" ] || continue
    given=$(((left + others - 1) / others))
    [ "$given" -le "$there" ] || given=$there
    echo "reserved_huge_pages = node:$cell,size:$1,count:$((there - given))"
    left=$((left - given)) others=$((others - 1))
  done
}

# reserve_disk keeps room on the disk of servers, which is the node's: the kubelet evicts pods and taints the node below 15 % of free room
# (imagefs.available; nodefs.available is 10 %), and the operating system, images, logs and snapshots have a tenth, of at most 10 GiB.
reserve_disk() {
  df -Pk "$INSTANCES" | tail -n 1 | {
    read -r _ kib _
    others=$((kib / 10))
    [ "$others" -le 10485760 ] || others=10485760
    echo "reserved_host_disk_mb = $(((kib / 100 * 15 + others) / 1024))"
  }
}

# vtpm prints the options of TPMs if the node's libvirt emulates them: its pod may be older than this one, without swtpm. Nova has to know the
# user of swtpm by name, and gives it the state of a TPM that comes from another node.
vtpm() {
  [ -n "${VTPM:-}" ] && [ -e "$VTPM" ] || return 0
  id=$(cat "$VTPM")
  if ! user=$(id -nu "$id" 2>/dev/null) || ! group=$(id -ng "$id" 2>/dev/null); then
    echo "servers get no TPM: the image (agents.novaCompute.image) has no user with the number $id" >&2
    return 0
  fi
  printf '%s\n' "[libvirt]" "swtpm_enabled = true" "swtpm_user = $user" "swtpm_group = $group"
}

# call_regularly calls nova-compute every five minutes, and writes the number of consecutive calls without an answer to $RPC, with the number
# at which it is restarted. A nova-compute that receives no calls still reports to Nova that it is up, and servers are scheduled to it: it
# reports over another connection. It has 45 minutes until its first answer, because it examines all servers of the node first. Nodes call
# at different times, so that they do not restart at once when RabbitMQ has lost the consumers of all of them. A queue that is unavailable
# changes nothing: a restart would not help.
call_regularly() {
  sleep "$((60 + $(delay 240)))"
  missed=0 limit=30
  while kill -0 $$ 2>/dev/null; do # this process becomes nova-compute
    pause=300 status=0
    TIMEOUT=30 OS_OSLO_MESSAGING_RABBIT__PROCESSNAME=rpc-ping \
      timeout -k 5 60 python3 -I "$(dirname "$0")/rpc-ping.py" /etc/cobaltcore/nova.conf || status=$?
    case $status in
    0) missed=0 limit=5 ;;
    1) missed=$((missed + 1)) pause=60 ;;
    esac
    echo "$missed $limit" >"$RPC"
    sleep "$pause"
  done
}

# answers fails if nova-compute has missed some calls: ready (2 calls, as one can be lost with a member of RabbitMQ) or alive.
answers() {
  [ -e "${RPC:-}" ] || return 0
  read -r missed limit <"$RPC" || return 0 # it is being written
  [ "$1" = alive ] || limit=2
  [ "$missed" -lt "$limit" ] || { echo "nova-compute does not answer calls ($missed missed)"; return 1; }
}

case ${1:-run} in
ready)
  # A roll-out for other logins goes on when they are here, which the control plane counts on. Later ones its pod need not be made for.
  [ -e "$TAKEN" ] || { echo "the logins have not come that the pod was made for"; exit 1; }
  connected || { echo "nova-compute has no connection to the queue"; exit 1; }
  answers ready
  exit
  ;;
alive)
  ! replaced || { echo "the logins were replaced"; exit 1; }
  answers alive
  [ -z "${VTPM:-}" ] || [ "$(vtpm 2>&1)" = "$(cat "$VTPM_STARTED")" ] || { echo "libvirt emulates TPMs now, or no longer"; exit 1; }
  exit
  ;;
esac

start
user=$(cat "$LOGINS/queue/username") login=$user:$(cat "$LOGINS/queue/password")
id=$(cat "$LOGINS/credential/application_credential_id") secret=$(cat "$LOGINS/credential/application_credential_secret")

uses "${QUEUE_USER:-}" "$user" "${CREDENTIAL:-}" "$id"

case $QUEUE_HOST in *:*) QUEUE_HOST="[$QUEUE_HOST]" ;; esac
# Names and passwords that are generated have letters, digits and hyphens, which nobody has to escape.
export OS_DEFAULT__TRANSPORT_URL="rabbit://$login@$QUEUE_HOST:$QUEUE_PORT/$QUEUE_VHOST?ssl=true&ssl_ca_file=$QUEUE_CA"
for group in SERVICE_USER PLACEMENT NEUTRON CINDER; do
  export "OS_${group}__APPLICATION_CREDENTIAL_ID=$id" "OS_${group}__APPLICATION_CREDENTIAL_SECRET=$secret"
done

# Other nodes know this one by a name that follows from its address, as every pod has one in Kubernetes: 10-20-0-5.NAMESPACE.pod. The pool's
# certificate is for all names of the domain, and its key is where they lead.
# https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
. "$(dirname "$0")/address.sh"
to=$(address "$INTERFACE" networks.liveMigration.interface)
OS_LIBVIRT__MIGRATION_INBOUND_ADDR=$(echo "$to" | tr .: --).$DOMAIN
export OS_LIBVIRT__MIGRATION_INBOUND_ADDR
[ -z "$LIVE_MIGRATION" ] || export OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR="$OS_LIBVIRT__MIGRATION_INBOUND_ADDR"

# For resize and cold migration Nova runs ssh and scp. Both are a client of disk-transfer, which accepts what Nova asks for and nothing else.
mkdir -p "$PROGRAMS"
for program in ssh scp; do
  printf '#!/bin/sh\nexec python3 -I "%s" %s "$@"\n' "$(dirname "$0")/disk-transfer.py" "$program" >"$PROGRAMS/$program"
  chmod 755 "$PROGRAMS/$program"
done
export PATH="$PROGRAMS:$PATH"

# A hypervisor without this folder never gets a virtual machine.
mkdir -p "$INSTANCES"
{
  echo "[DEFAULT]"
  [ -z "$RESERVE_DISK" ] || reserve_disk
  for pages in $HUGE_PAGES; do reserve "${pages%:*}" "${pages#*:}"; done
  vtpm
} >"$RESERVED"
[ -z "${VTPM:-}" ] || vtpm >"$VTPM_STARTED" 2>&1
if [ -n "${RPC:-}" ]; then
  rm -f "$RPC"
  call_regularly &
fi
exec nova-compute --config-file /etc/cobaltcore/nova.conf --config-file "$RESERVED"
