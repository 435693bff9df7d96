package cloud

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// requires returns selectors of the existing claims of the cloud, and then of their composite resources, if these claims allow it.
func requires(in function.Input[cloudv1.OpenStackCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	parts, err := partsOf(in.Claim, &in.XR.Spec)
	if err != nil {
		return nil // derive returns it.
	}
	for _, p := range parts {
		if p.spec == nil {
			p.to.Requires(in.Required, out)
		}
	}
	return out
}

// belongsTo returns the consent of an existing pool: it names the control plane of the cloud.
func belongsTo(controlPlane common.ClaimReference) func(spec *structpb.Struct) bool {
	return func(spec *structpb.Struct) bool {
		ref := spec.GetFields()["controlPlaneRef"].GetStructValue().GetFields()
		return ref["namespace"].GetStringValue() == string(controlPlane.Namespace) && ref["name"].GetStringValue() == string(controlPlane.Name)
	}
}

// read reads the state of an existing claim. A claim that was never found is rejected. One that was found before, and cannot be found at
// present, is only a reason for waiting.
func (p *part) read(required reference.Required, recorded bool) error {
	if p.spec != nil {
		return nil
	}
	xr, ok := p.to.Find(required)
	switch {
	case !ok && !recorded:
		return p.notFound()
	case !ok:
		p.waits = p.notFound().Error()
		return nil
	case xr == nil:
		p.waits = "nothing is composed for it yet"
		return nil
	}
	status := xr.GetFields()["status"].GetStructValue()
	p.phase = status.GetFields()["phase"].GetStringValue()
	if p.phase != common.PhaseReady {
		p.waits = fmt.Sprintf("it is in phase %q", p.phase)
	}
	if p.name == controlPlaneComponent {
		p.controlPlane = controlPlaneStatus(status.AsMap())
	}
	return nil
}

// notFound returns the error of a reference to a claim that does not exist or does not allow it. Both cases have the same text.
func (p *part) notFound() error {
	if p.kind != hypervisorv1.GroupVersionKind {
		return p.to.NotFound(p.field + ".ref")
	}
	return invalid.Field(p.field+".ref", "there is no HypervisorCluster %s in namespace %s with the control plane of this cloud; correct the "+
		"reference, or ask its owner to create it with this controlPlaneRef", p.claim.Name, p.claim.Namespace)
}

// controlPlaneStatus reads the release and the endpoints from the status of a control plane. A status that cannot be read is empty.
func controlPlaneStatus(status map[string]any) controlplanev1.ControlPlaneClusterStatus {
	out := controlplanev1.ControlPlaneClusterStatus{}
	data, err := json.Marshal(map[string]any{"release": status["release"], "endpoints": status["endpoints"]})
	if err != nil || json.Unmarshal(data, &out) != nil {
		return controlplanev1.ControlPlaneClusterStatus{}
	}
	return out
}

// existingResource is the ConfigMap that records the existing claims of the cloud.
const existingResource = "existing-claims"

// existing records the existing claims of the cloud in a ConfigMap for readers of the namespace. It is not ready while one of them is not.
func existing(m *model) ([]compose.Stage, error) {
	data, waits := map[string]string{}, ""
	for _, p := range m.parts {
		if p.spec != nil {
			continue
		}
		data[p.name] = string(p.claim.Namespace) + "/" + string(p.claim.Name)
		if waits == "" && p.waits != "" {
			waits = fmt.Sprintf("%s %s of namespace %s: %s", p.kind.Kind, p.claim.Name, p.claim.Namespace, p.waits)
		}
	}
	return []compose.Stage{{{
		Name: existingResource, Object: workload.ConfigMap(m.meta(m.claim.Name+"-"+existingResource), data),
		Ready: func(*observe.Object) ready.Result {
			if waits != "" {
				return ready.Wait("ExistingClaimNotReady", "%s", waits)
			}
			return ready.Yes
		},
	}}}, nil
}

// recorded reports whether the existing claim of a part was found before.
func (m *model) recorded(name string) bool {
	record, _ := m.observed.Get(existingResource)
	p, _ := m.part(name)
	return record.String("data", name) == string(p.claim.Namespace)+"/"+string(p.claim.Name)
}
