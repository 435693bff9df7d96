package claim

import (
	"fmt"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
)

// NamespaceComponent contains all other components.
const NamespaceComponent = "namespace"

// instanceOf returns the name of the claim's instance. It never changes during the life of the claim, because all data is in a namespace of
// that name.
//
//  1. The observed Objects contain it. Crossplane passes only resources that the composite resource controls, so a claim cannot get the
//     name of another claim this way.
//  2. The PlatformConfig assigns it: a namespace retained from an earlier version has a name that does not prove its ownership.
//  3. The status reports that the namespace existed under the name of earlier versions, if no Object is observed temporarily. The status of
//     a claim whose namespace was never created, because another claim has the same name, contains that name as well.
//  4. Otherwise it is derived from the claim's name.
func instanceOf(base claimed.Base, status controlplanev1.ControlPlaneClusterStatus, observedState observe.State) (string, error) {
	if name := observedInstance(observedState); name != "" {
		return name, nil
	}
	claim, name := base.Claim, base.Instance
	if legacy := names.LegacyInstance(claim.Namespace, claim.Name); status.Instance == legacy && observedNamespaceReady(status) {
		name = legacy
	}
	for _, i := range base.Platform.Instances {
		switch own := i.Namespace == claim.Namespace && i.Name == claim.Name; {
		case own:
			return i.Instance, nil
		case i.Instance == name:
			return "", fmt.Errorf("spec.instances of the PlatformConfig assigns instance %s, which is the default of this claim, to %s/%s; "+
				"the platform team must assign another instance to this claim there", name, i.Namespace, i.Name)
		}
	}
	return name, nil
}

// observedInstance returns the instance from the name of any Object, <instance>-<resource>; empty without Objects.
func observedInstance(observedState observe.State) string {
	for _, resource := range observedState.Names() {
		o, _ := observedState.Get(resource)
		if name, ok := strings.CutSuffix(o.Wrapper().Name(), "-"+resource); ok {
			return name
		}
	}
	return ""
}

// observedNamespaceReady reports whether the status contains a namespace that is ready or being updated.
func observedNamespaceReady(s controlplanev1.ControlPlaneClusterStatus) bool {
	return slices.ContainsFunc(s.Components, func(c common.ComponentStatus) bool {
		return c.Name == NamespaceComponent && (c.Phase == common.ComponentReady || c.Phase == common.ComponentUpdating)
	})
}
