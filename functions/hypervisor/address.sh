# address is where others reach the node: at the first address of an interface that they can reach, or at NODE_IP where none is named.
# The field of the claim is what names it.
address() {
  interface=$1 field=$2
  [ -n "$interface" ] || { echo "$NODE_IP"; return; }
  found=$(ip -o addr show dev "$interface" scope global | while read -r _ _ _ found _; do
    echo "${found%%/*}"
    break
  done)
  [ -n "$found" ] || { echo "the node has no address on $interface, which $field names" >&2; return 1; }
  echo "$found"
}
