// Package platform reads the PlatformConfig, by which a platform team says what claims get and what they may.
package platform

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// requirement is the name under which Compositions ask for it.
const requirement = "platform"

// Read returns the PlatformConfig among the resources that a Composition asks for. The error says that there is none, or that it cannot be
// read: nothing is composed without it, since nobody would have said what a claim may, and a cloud with other defaults would be a smaller
// one.
func Read(required map[string][]*structpb.Struct) (*platformv1.PlatformConfigSpec, error) {
	found := required[requirement]
	if len(found) == 0 {
		return nil, errors.New("there is no PlatformConfig named default; the platform team has to make one")
	}
	p := platformv1.PlatformConfig{}
	if err := function.Decode(found[0], &p); err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	return &p.Spec, nil
}

// APIServerPorts are those by which pods reach the API server: as the platform says, or else those that most clusters have.
func APIServerPorts(n *platformv1.Network) []int32 {
	const https, usual = 443, 6443
	if n == nil || len(n.APIServerPorts) == 0 {
		return []int32{https, usual}
	}
	return n.APIServerPorts
}
