package nodeissuer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// maxRecords is the maximum number of addresses in a status (the limit of the CRD): two for each of the 2,048 nodes of the largest pool.
// etcd rejects objects above 1.5 MiB, and then no request could be signed.
const maxRecords = 4096

// valid returns the recorded addresses that are still in force. A record ends when the last certificate with the address expires, or when
// its node is deleted. It returns nil if the issuer has no servers.
func (obs *observation) valid() []c5c3v1.NodeAddress {
	if obs.issuer.Spec.Server == nil {
		return nil
	}
	out := []c5c3v1.NodeAddress{}
	for _, a := range obs.issuer.Status.Addresses {
		if _, exists := obs.nodes[string(a.Node)]; exists && a.ExpiresAt.After(obs.now) {
			out = append(out, a)
		}
	}
	return out
}

// claim verifies that the addresses of a subject are its node's, and records them. The kubelet reports the addresses of its node, so that a
// compromised node can report any. Therefore an address stays with the node that has a certificate for it.
func (obs *observation) claim(s subject) error {
	for _, a := range s.addresses {
		if err := obs.permits(s.node, a); err != nil {
			return err
		}
	}
	until := metav1.Time{Time: obs.authority.until(obs.now).Add(earlier).Truncate(time.Second)}
	next := slices.Clone(obs.addresses)
	for _, a := range s.addresses {
		record := c5c3v1.NodeAddress{Address: a.String(), Node: common.ObjectName(s.node), ExpiresAt: until}
		if i := slices.IndexFunc(next, func(n c5c3v1.NodeAddress) bool { return n.Address == record.Address }); i >= 0 {
			next[i] = record
		} else {
			next = append(next, record)
		}
	}
	count := 0
	for _, a := range next {
		if string(a.Node) == s.node {
			count++
		}
	}
	switch {
	case count > maxAddresses:
		return fmt.Errorf("spec.request: a node can have %d addresses in certificates that have not expired", maxAddresses)
	case len(next) > maxRecords:
		return errors.New("spec.request: the status of the NodeIssuer has no room for more addresses")
	}
	if len(s.addresses) > 0 {
		slices.SortFunc(next, func(a, b c5c3v1.NodeAddress) int { return strings.Compare(a.Address, b.Address) })
		obs.addresses = next
	}
	return nil
}

// permits returns the reason why a node cannot have an address.
func (obs *observation) permits(node string, address netip.Addr) error {
	own, unlisted := slices.Contains(obs.nodes[node], address), obs.issuer.Spec.Server.UnlistedAddresses
	holder, other := obs.holder(address), obs.otherNode(node, address)
	switch {
	case holder == node && own: // Another node may report the same address later.
		return nil
	case holder != "" && holder != node:
		return fmt.Errorf("spec.request: the address %s is in a certificate of node %s, which has not expired", address, holder)
	case other != "":
		return fmt.Errorf("spec.request: the address %s is an address of node %s", address, other)
	case !own && !unlisted:
		return fmt.Errorf("spec.request: the address %s must be an address of node %s (status.addresses)", address, node)
	}
	return nil
}

// holder returns the node that has a certificate for an address. Empty: none has one.
func (obs *observation) holder(address netip.Addr) string {
	for _, a := range obs.addresses {
		if a.Address == address.String() {
			return string(a.Node)
		}
	}
	return ""
}

// otherNode returns another node whose Node object lists an address. Empty: there is none.
func (obs *observation) otherNode(node string, address netip.Addr) string {
	var out []string
	for name, addresses := range obs.nodes {
		if name != node && slices.Contains(addresses, address) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.Min(out)
}
