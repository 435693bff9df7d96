#!/bin/sh
# Gets a certificate of the node, and renews it. The key is created here, and stays in the memory of the pod. Kubernetes records the node of
# the pod in the request, and the companion of the control plane signs it
# (https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/).
#
# Variables: NODE_NAME, SIGNER (the name of the signer), TLS (a folder), ACCOUNT (the folder with the token of the service account),
# KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT; DOMAIN (of the names of nodes that are servers; empty: the certificate is for a
# client, in the name of the node), and with it COMMON_NAME, NODE_IP and INTERFACE (whose address other nodes connect to, too; empty:
# NODE_IP); EMULATOR_SIGNER and EMULATOR_NAME (signer and common name of a second certificate, for QEMU, in TLS/qemu; empty: there is none).
set -eu

say() { echo "certificate: $*"; }

# seconds prints the start or the end of the certificate in seconds since 1970.
seconds() { date -d "$(openssl x509 -in "$TLS/tls.crt" -noout "$1" | cut -d = -f 2)" +%s; }

# names prints the alternative names of the certificate: the name of the node, and names that are derived from its addresses.
names() {
  [ -n "${DOMAIN:-}" ] || return 0
  . "$(dirname "$0")/address.sh"
  other=$(address "$INTERFACE" networks.liveMigration.interface) || return 1
  { echo "$NODE_IP"; echo "$other"; } | sort -u | tr .: -- | sed "s/.*/DNS:&.$DOMAIN/" | tr '\n' ,
  echo "DNS:$NODE_NAME"
}

# due succeeds if a third of the certificate's lifetime has passed, or if the node has other names. The companion may be unavailable for the
# rest.
due() {
  [ -s "$TLS/tls.crt" ] || return 0
  [ "$(cat "$TLS/names" 2>/dev/null)" = "$names" ] || return 0
  start=$(seconds -startdate) end=$(seconds -enddate)
  [ "$(date +%s)" -ge $((start + (end - start) / 3)) ]
}

case ${1:-run} in
ready)
  openssl x509 -in "$TLS/tls.crt" -noout -checkend 0
  [ -z "${EMULATOR_SIGNER:-}" ] || openssl x509 -in "$TLS/qemu/tls.crt" -noout -checkend 0
  exit
  ;;
esac

# api sends a request about CertificateSigningRequests: a method, the end of the path, and curl's options. The token is not among the
# arguments, which every process of the node can read. The answer is without white space. It is in the folder of the certificate, because
# QEMU can write to /tmp of the pod of libvirt.
api() {
  method=$1 path=$2
  shift 2
  host=$KUBERNETES_SERVICE_HOST
  case $host in *:*) host="[$host]" ;; esac
  printf 'header = "Authorization: Bearer %s"\n' "$(cat "$ACCOUNT/token")" |
    curl --config - --silent --show-error --fail-with-body --connect-timeout 10 --max-time 30 --cacert "$ACCOUNT/ca.crt" \
      --request "$method" --header 'Content-Type: application/json' "$@" \
      "https://$host:$KUBERNETES_SERVICE_PORT/apis/certificates.k8s.io/v1/certificatesigningrequests$path" >"$TLS/answer" || {
    say "$(cut -c 1-500 "$TLS/answer")" >&2
    return 1
  }
  tr -d ' \n' <"$TLS/answer"
}

# request gets a certificate. The key stays the same, so that key and certificate always match.
request() {
  umask 027
  if ! [ -s "$TLS/tls.key" ]; then
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$TLS/tls.key.new" || return 1
    # OpenSSL creates it for its own user only. The other containers read it as members of the pod's group.
    chmod 640 "$TLS/tls.key.new"
    mv "$TLS/tls.key.new" "$TLS/tls.key"
  fi
  usages='"client auth", "digital signature"' subject=$NODE_NAME
  set --
  if [ -n "$names" ]; then
    usages="$usages, \"key encipherment\", \"server auth\"" subject=$COMMON_NAME
    set -- -addext "subjectAltName=$names"
  fi
  pem=$(openssl req -new -key "$TLS/tls.key" -subj "/CN=$subject" "$@" | base64 -w 0)
  [ -n "$pem" ] || return 1
  name=node-$(od -An -N 16 -t x1 /dev/urandom | tr -d ' \n')
  api POST "" --data "{\"apiVersion\": \"certificates.k8s.io/v1\", \"kind\": \"CertificateSigningRequest\", \"metadata\": {\"name\": \"$name\"},
    \"spec\": {\"signerName\": \"$SIGNER\", \"request\": \"$pem\", \"usages\": [$usages]}}" >/dev/null || return 1
  i=0
  while [ "$i" -lt 150 ]; do
    sleep 2 &
    wait $!
    i=$((i + 1))
    state=$(api GET "/$name") || continue
    case $state in *'"type":"Denied"'* | *'"type":"Failed"'*)
      say "the request $name was denied: $state" >&2
      return 1
      ;;
    esac
    printf %s "$state" | sed -n 's/.*"certificate":"\([A-Za-z0-9+/=]*\)".*/\1/p' | base64 -d >"$TLS/chain"
    [ -s "$TLS/chain" ] || continue
    rm -f "$TLS/ca.crt.new" "$TLS/tls.crt.new"
    awk -v leaf="$TLS/tls.crt.new" -v authority="$TLS/ca.crt.new" '/-BEGIN /{ n++ } { print >(n == 1 ? leaf : authority) }' "$TLS/chain"
    openssl verify -purpose sslclient -CAfile "$TLS/ca.crt.new" "$TLS/tls.crt.new" >/dev/null || return 1
    [ -z "$names" ] || openssl verify -purpose sslserver -CAfile "$TLS/ca.crt.new" "$TLS/tls.crt.new" >/dev/null || return 1
    mv "$TLS/ca.crt.new" "$TLS/ca.crt"
    mv "$TLS/tls.crt.new" "$TLS/tls.crt"
    echo "$names" >"$TLS/names"
    say "the certificate of $NODE_NAME is valid until $(openssl x509 -in "$TLS/tls.crt" -noout -enddate | cut -d = -f 2)"
    return 0
  done
  say "the companion of the control plane has not answered the request $name" >&2
  return 1
}

# renew gets a certificate if it is due: its folder, signer and common name.
renew() {
  TLS=$1 SIGNER=$2 COMMON_NAME=$3
  ! due || request
}

trap 'exit 0' TERM INT
folder=$TLS signer=$SIGNER common_name=${COMMON_NAME:-}
[ -z "${EMULATOR_SIGNER:-}" ] || mkdir -p -m 750 "$folder/qemu"
while :; do
  pause=60
  if ! names=$(names); then
    pause=10
  else
    renew "$folder" "$signer" "$common_name" || pause=10
    [ -z "${EMULATOR_SIGNER:-}" ] || renew "$folder/qemu" "$EMULATOR_SIGNER" "$EMULATOR_NAME" || pause=10
  fi
  sleep "$pause" &
  wait $!
done
