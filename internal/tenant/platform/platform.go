// Package platform reads the PlatformConfig, in which a platform team sets defaults and limits for claims.
package platform

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// requirement is the name with which Compositions require it.
const requirement = "platform"

// Read returns the PlatformConfig from the required resources of a Composition, with the WorkloadClusters among them in clusters. It
// returns an error if the PlatformConfig does not exist or cannot be parsed: without it, nothing is composed, because the limits of claims
// would be unknown, and a cloud with other defaults could be smaller.
func Read(required map[string][]*structpb.Struct) (*platformv1.PlatformConfigSpec, error) {
	p, err := readConfig(required)
	if err != nil {
		return nil, err
	}
	return p, withWorkloadClusters(p, required)
}

// readConfig returns the PlatformConfig itself.
func readConfig(required map[string][]*structpb.Struct) (*platformv1.PlatformConfigSpec, error) {
	found := required[requirement]
	if len(found) == 0 {
		return nil, errors.New("there is no PlatformConfig named default; the platform team must create it")
	}
	p := platformv1.PlatformConfig{}
	if err := function.Decode(found[0], &p); err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	function.SetDefaults(&p)
	return &p.Spec, nil
}

// Rook returns the settings of Rook's operator, also for a PlatformConfig without them.
func Rook(p *platformv1.PlatformConfigSpec) platformv1.Rook {
	c := platformv1.PlatformConfig{Spec: platformv1.PlatformConfigSpec{Rook: new(ptr.Deref(p.Rook, platformv1.Rook{}))}}
	function.SetDefaults(&c)
	return *c.Spec.Rook
}

// APIServerPorts returns the ports on which pods connect to the API server: the ports set by the platform, or the ports of
// most clusters.
func APIServerPorts(n *platformv1.Network) []int32 {
	const https, usual = 443, 6443
	if n == nil || len(n.APIServerPorts) == 0 {
		return []int32{https, usual}
	}
	return n.APIServerPorts
}

// Prometheus returns the namespaces of Prometheus: the namespaces set by the platform, or the namespace of the upstream manifests.
func Prometheus(n *platformv1.Network) []common.NamespaceName {
	if n == nil || len(n.Monitoring) == 0 {
		return []common.NamespaceName{"monitoring"}
	}
	return n.Monitoring
}
