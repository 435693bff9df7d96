package main

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

const (
	// pools is the number of pools.
	pools = 4
	// poolLabel is the label of nodes by which a pool selects them. The platform of the examples allows it with any value.
	poolLabel = "node-role.kubernetes.io/hypervisor"
	// daemonSet is the name of nova-compute's DaemonSet.
	daemonSet = "nova-compute"
)

// claim is a pool of hypervisors for the control plane of the examples. Its arguments are the number of the pool, and a value of nova.conf,
// whose change starts a rollout.
const claim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: HypervisorCluster
metadata: {namespace: tenant-a, name: pool-%[1]d}
spec:
  controlPlaneRef: {namespace: tenant-a, name: production}
  nodeSelector: {` + poolLabel + `: pool-%[1]d}
  networks:
    bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond1}]
    encapsulation: {type: geneve, interface: bond0}
  virtualization: {evictOnCordon: true, libvirt: {mode: Managed}}
  agents: {novaCompute: {config: {DEFAULT: {reserved_host_disk_mb: %[2]d}}}}
`

// pool is a pool of hypervisors.
type pool struct {
	// namespace of its pods.
	namespace string
	// before and after are nova-compute's DaemonSet, as the function composes it before and after a change of the claim.
	before, after *unstructured.Unstructured
}

// composePools returns all pools.
func composePools() ([]pool, error) {
	controlPlane, err := examples.Files.ReadFile("hypervisor/control-plane.yaml")
	if err != nil {
		return nil, err
	}
	plane, err := preview.Run(controlPlane, examples.Platform, kinds.Runners())
	if err != nil {
		return nil, fmt.Errorf("the control plane: %w", err)
	}
	var out []pool
	for p := range pools {
		before, err := composeDaemonSet(plane.Existing, p, 1)
		if err != nil {
			return nil, err
		}
		after, err := composeDaemonSet(plane.Existing, p, 2)
		if err != nil {
			return nil, err
		}
		out = append(out, pool{namespace: before.GetNamespace(), before: before, after: after})
	}
	return out, nil
}

// composeDaemonSet returns nova-compute's DaemonSet of a pool with an option.
func composeDaemonSet(existing []*structpb.Struct, p, option int) (*unstructured.Unstructured, error) {
	r, err := preview.RunWithClaims(existing, fmt.Appendf(nil, claim, p, option), examples.Platform, kinds.Runners())
	if err != nil {
		return nil, fmt.Errorf("pool %d: %w", p, err)
	}
	for _, o := range r.Objects {
		if o.Kind == "DaemonSet" && o.Name == daemonSet && !o.Wrapped {
			return &unstructured.Unstructured{Object: o.Manifest.AsMap()}, nil
		}
	}
	return nil, fmt.Errorf("pool %d has no DaemonSet %s", p, daemonSet)
}
