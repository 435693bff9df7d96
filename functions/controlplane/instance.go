package controlplane

import (
	"fmt"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// instanceOf names the claim's instance. It never changes while the claim lives: all data lies in a namespace of that name.
//
//  1. What is observed has it. Crossplane shows a composite resource only what it controls, so nobody comes to another's name this way.
//  2. The platform gave it: what a claim of an earlier version retained has a name that the claim alone does not prove to be its own.
//  3. The status says that the namespace was there, under the name that earlier versions gave: no Object is seen for a moment.
//     A claim that never got its namespace, because another one with the same name has it, says that name in its status as well.
//  4. Else it is made of the claim's own name.
func instanceOf(
	claim function.Claim, p *platformv1.PlatformConfigSpec, status controlplanev1.ControlPlaneClusterStatus, observedState observe.State,
) (string, error) {
	if name := observedInstance(observedState); name != "" {
		return name, nil
	}
	name := names.Instance(claim.Namespace, claim.Name)
	if legacy := names.LegacyInstance(claim.Namespace, claim.Name); status.Instance == legacy && namespaceWasReady(status) {
		name = legacy
	}
	for _, i := range p.Instances {
		switch own := i.Namespace == claim.Namespace && i.Name == claim.Name; {
		case own:
			return i.Instance, nil
		case i.Instance == name:
			return "", fmt.Errorf("the PlatformConfig's spec.instances gives the instance %s, which is this claim's by its name, to %s/%s; "+
				"the platform team has to give this claim another one there", name, i.Namespace, i.Name)
		}
	}
	return name, nil
}

// observedInstance is the instance in the name of any Object, which is <instance>-<resource>; empty if there is none.
func observedInstance(observedState observe.State) string {
	for _, resource := range observedState.Names() {
		o, _ := observedState.Get(resource)
		if name, ok := strings.CutSuffix(o.Wrapper().Name(), "-"+resource); ok {
			return name
		}
	}
	return ""
}

// namespaceWasReady reports whether the namespace was ready once.
func namespaceWasReady(s controlplanev1.ControlPlaneClusterStatus) bool {
	return slices.ContainsFunc(s.Components, func(c common.ComponentStatus) bool {
		return c.Name == namespaceComponent && (c.Phase == common.ComponentReady || c.Phase == common.ComponentUpdating)
	})
}
