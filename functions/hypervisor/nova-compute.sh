#!/bin/sh
# Runs nova-compute with the logins that are there when it starts. They are replaced regularly, and the earlier ones end some time later:
# the kubelet brings new files, and restarts a container whose logins are not those that it started with. Virtual machines do not notice.
#
# Variables: QUEUE_HOST, QUEUE_PORT, QUEUE_VHOST, QUEUE_CA, INSTANCES, LOGINS (a folder with queue and credential), STARTED (a file).
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

# A hypervisor without this folder never gets a virtual machine.
mkdir -p "$INSTANCES"
exec nova-compute --config-file /etc/cobaltcore/nova.conf
