// Package controlplane reads the control plane to which a claim of another kind refers.
package controlplane

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
)

// Component is the name of the component that Record builds, and of its resource.
const Component = "control-plane"

// Reference is a reference from a claim to a control plane.
type Reference struct {
	reference.ClaimReference
}

// To returns the reference from a claim in a namespace. Consents reports whether the control plane allows the reference, based on its spec.
// Nil: it allows claims of its own namespace and of spec.allowedNamespaces.
func To(namespace string, ref common.ClaimReference, consents func(spec *structpb.Struct) bool) Reference {
	return Reference{reference.ClaimReference{
		Kind: controlplanev1.GroupVersionKind.Kind, Ref: ref, Namespace: namespace, Claim: "control-plane-claim", Composite: Component,
		Consents: consents,
	}}
}

// String describes the control plane in messages.
func (r Reference) String() string {
	return fmt.Sprintf("control plane %s of namespace %s", r.Ref.Name, r.Ref.Namespace)
}

// Read returns the composite resource of the control plane, or nil while it does not exist yet. ok is false if the claim does not exist or
// does not allow the reference.
func (r Reference) Read(required reference.Required) (c *controlplanev1.ControlPlaneCluster, ok bool, err error) {
	xr, ok := r.Find(required)
	if xr == nil {
		return nil, ok, nil
	}
	c = &controlplanev1.ControlPlaneCluster{}
	if err := function.Decode(xr, c); err != nil {
		return nil, true, fmt.Errorf("cannot read the %s: %w", r, err)
	}
	return c, true, nil
}

// NotComposed returns the reason for waiting while Read returns nil.
func (r Reference) NotComposed() string {
	return fmt.Sprintf("waiting for %s, for which no objects are composed yet", r)
}

// Cluster returns the name of the cluster of a control plane's workloads. Empty: the management cluster.
func Cluster(c *controlplanev1.ControlPlaneCluster) common.ObjectName {
	if to := c.Spec.Cluster; to != nil && to.Ref != nil {
		return to.Ref.Name
	}
	return ""
}

// State is the known state of a control plane. A kind embeds it in a struct with the other values that it reads.
type State struct {
	// Instance is the namespace of its workloads. Empty: it is unknown, or the control plane has revoked its consent.
	Instance string
	// Waits is the reason for waiting, in a sentence. Empty: none.
	Waits string
}

// SetWaits sets the reason for waiting.
func (s *State) SetWaits(reason string) { s.Waits = reason }

// LastKnown returns the state to use while a control plane does not publish its own: the one that the status of the previous call recorded,
// the zero value without any, with the reason for waiting. Thereby existing objects stay unchanged, and no new ones are created.
func LastKnown[S any, P interface {
	*S
	SetWaits(reason string)
}](recorded S, waiting string) S {
	P(&recorded).SetWaits(waiting)
	return recorded
}

// Record returns the component that records data on the control plane in a ConfigMap, for readers of the namespace. It is not ready while
// there is a reason for waiting, and thereby delays the components that depend on the control plane.
func Record(meta object.Meta, data map[string]string, waits string) []compose.Stage {
	rule, _ := readiness.Rules.For(schema.GroupKind{Kind: "ConfigMap"})
	return []compose.Stage{{{
		Name: Component, Object: workload.ConfigMap(meta, data),
		Ready: func(o *observe.Object) ready.Result {
			if waits != "" {
				return ready.Wait("ControlPlaneNotReady", "%s", waits)
			}
			return rule.Check(o)
		},
	}}}
}
