//go:build linux

package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Uplink is the node's second interface, by which servers reach the external network, OutsideAddress the address of
// this machine in it.
const (
	Uplink         = "eth1"
	OutsideAddress = "203.0.113.1"
	outside        = "outside"
	// OutsideNetwork is the network of both.
	OutsideNetwork = "203.0.113.0/24"
)

// Hypervisor labels the node for pools with the default node selector, and for their gateways: network-gateway=true. It
// gets an interface to the external network.
func (n *Node) Hypervisor(ctx context.Context) error {
	for _, args := range [][]string{
		{"link", "add", Uplink, "type", "veth", "peer", "name", outside},
		{"link", "set", Uplink, "up"},
		{"link", "set", outside, "up"},
		{"addr", "add", OutsideAddress + "/24", "dev", outside},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	const labels = `{"metadata": {"labels": {"node-role.kubernetes.io/hypervisor": "", "network-gateway": "true"}}}`
	self := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	return n.Client.Patch(ctx, self, client.RawPatch(types.MergePatchType, []byte(labels)))
}
