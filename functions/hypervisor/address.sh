# address prints the address at which other nodes reach this node: NODE_IP, or an address of the interface in a field of the claim. An
# interface may have several: the family of NODE_IP is preferred, because Neutron rejects tunnels whose ends have different families.
# Temporary and deprecated addresses change or expire, and are used only if there are no others.
address() {
  interface=$1 field=$2
  [ -n "$interface" ] || { echo "$NODE_IP"; return; }
  lines=$(ip -o addr show dev "$interface" scope global) || true
  found=$({ echo "$lines" | grep -vwE 'temporary|deprecated|tentative' || true; echo "$lines" | grep -wE 'temporary|deprecated' || true; } |
    while read -r _ _ _ found _; do echo "${found%%/*}"; done)
  [ -n "$found" ] || { echo "the node has no address on $interface, which $field names" >&2; return 1; }
  case $NODE_IP in
  *:*) same=$(echo "$found" | grep -m1 :) ;;
  *) same=$(echo "$found" | grep -m1 -v :) ;;
  esac || true
  echo "${same:-$(echo "$found" | head -n 1)}"
}
