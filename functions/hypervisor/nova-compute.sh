#!/bin/sh
# Runs nova-compute with the logins that are there when it starts. They are replaced regularly, and the earlier ones end some time later:
# the kubelet brings new files, and restarts a container whose logins are not those that it started with. Virtual machines do not notice.
#
# Variables: QUEUE_HOST, QUEUE_PORT, QUEUE_VHOST, QUEUE_CA, INSTANCES, LOGINS (a folder with queue and credential), STARTED (a file);
# NODE_IP and INTERFACE (whose address other nodes move virtual machines to; empty: NODE_IP), and DOMAIN (of the names by which they look it
# up; empty: nothing is said of that).
set -eu

logins() { cat "$LOGINS"/queue/username "$LOGINS"/queue/password "$LOGINS"/credential/*; }

case ${1:-run} in
alive)
  [ "$(logins | sha256sum)" = "$(cat "$STARTED")" ] || { echo "the logins were replaced"; exit 1; }
  exit
  ;;
esac

logins | sha256sum >"$STARTED"
login=$(cat "$LOGINS/queue/username"):$(cat "$LOGINS/queue/password")
id=$(cat "$LOGINS/credential/application_credential_id") secret=$(cat "$LOGINS/credential/application_credential_secret")

# Names and passwords that are generated have letters, digits and hyphens, which nobody has to escape.
export OS_DEFAULT__TRANSPORT_URL="rabbit://$login@$QUEUE_HOST:$QUEUE_PORT/$QUEUE_VHOST?ssl=true&ssl_ca_file=$QUEUE_CA"
for group in SERVICE_USER PLACEMENT NEUTRON CINDER; do
  export "OS_${group}__APPLICATION_CREDENTIAL_ID=$id" "OS_${group}__APPLICATION_CREDENTIAL_SECRET=$secret"
done

# Other nodes know this one by a name that follows from its address, as every pod has one in Kubernetes: 10-20-0-5.NAMESPACE.pod. The pool's
# certificate is for all names of the domain, and its key is where they lead.
# https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
if [ -n "$DOMAIN" ]; then
  . "$(dirname "$0")/address.sh"
  to=$(address "$INTERFACE" networks.liveMigration.interface)
  OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR=$(echo "$to" | tr .: --).$DOMAIN
  export OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR
fi

# A hypervisor without this folder never gets a virtual machine.
mkdir -p "$INSTANCES"
exec nova-compute --config-file /etc/cobaltcore/nova.conf
