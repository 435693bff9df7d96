package neutron

import (
	"cmp"
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
)

// The component that compares Neutron's database with OVN, and its resource.
const (
	syncComponent = "ovn-sync"
	syncResource  = "ovn-sync"
)

func (m *model) syncRequested() bool { return m.spec.OVN != nil && m.spec.OVN.Sync != nil }

// sync builds the companion's comparison request. No component depends on its result, which is not a state of composed objects: it is
// reported in a separate condition.
//
// Neutron's tool loads the plugins, one of which creates clients of Nova and Placement, so that it needs Neutron's logins. It calls
// neither.
func sync(m *model) ([]compose.Stage, error) {
	pod := m.JobPod(m.Image, m.Files, nil)
	m.LogIn(&pod, logins...)
	pod.Containers[0].Env = append(pod.Containers[0].Env, m.env()...)
	return []compose.Stage{{{
		Name: syncResource, Ready: func(*observe.Object) ready.Result { return ready.Yes },
		Object: c5c3.OVNSync(m.Meta(m.Name), openstackv1.OVNSyncSpec{
			OVNSyncRequest: *m.spec.OVN.Sync, Template: m.JobWorkload().Template(pod),
		}),
	}}}, nil
}

// inSync reports the result of the last comparison. It is unset if none was requested.
func (m *model) inSync() ready.Result {
	if !m.syncRequested() {
		return ready.Result{}
	}
	queried, response := m.spec.OVN.Sync, m.answer()
	if response == nil || response.Request != queried.Request || response.Mode != queried.Mode {
		c, _ := m.lastSync.Condition("Ready")
		if c.Status == "True" { // The message belongs to the previous request.
			c.Message = ""
		}
		return ready.Wait("RequestPending", "%s", cmp.Or(c.Message, fmt.Sprintf("waiting for the OVN comparison of request %q", queried.Request)))
	}
	c, _ := m.lastSync.Condition("InSync")
	return ready.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// answer returns the last result, of any request.
func (m *model) answer() *common.OVNSyncAnswer {
	return network.Answer(m.lastSync.Map("status", "answer"))
}

func status(m *model, plan compose.Plan) any {
	return neutronv1.NeutronStatus{ServiceStatus: m.Status(plan), Sync: m.answer()}
}
