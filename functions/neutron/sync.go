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

// sync asks the companion to compare. Nobody waits for the answer, which is no state of what is composed: it is in a condition of its own.
//
// Neutron's tool loads the plugins, of which one is ready to ask Nova and Placement, so that it has what Neutron logs in by. It asks
// neither.
func sync(m *model) ([]compose.Stage, error) {
	pod := m.JobPod(m.Image, m.Files, nil)
	m.LogIn(&pod, m.Logins...)
	pod.Containers[0].Env = append(pod.Containers[0].Env, m.env()...)
	return []compose.Stage{{{
		Name: syncResource, Ready: func(*observe.Object) ready.Result { return ready.Yes },
		Object: c5c3.OVNSync(m.Meta(m.Name), openstackv1.OVNSyncSpec{
			OVNSyncRequest: *m.spec.OVN.Sync, Template: m.JobWorkload().Template(pod),
		}),
	}}}, nil
}

// inSync is the verdict on what the last comparison found. There is none where nobody has asked.
func (m *model) inSync() ready.Result {
	if !m.syncRequested() {
		return ready.Result{}
	}
	queried, response := m.spec.OVN.Sync, m.answer()
	if response == nil || response.Request != queried.Request || response.Mode != cmp.Or(queried.Mode, common.OVNSyncLog) {
		c, _ := m.lastSync.Condition("Ready")
		if c.Status == "True" { // It is about the request before.
			c.Message = ""
		}
		return ready.Wait("NotAnswered", "%s", cmp.Or(c.Message, fmt.Sprintf("request %q is not answered yet", queried.Request)))
	}
	c, _ := m.lastSync.Condition("InSync")
	return ready.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// answer is the last one, to whatever request.
func (m *model) answer() *common.OVNSyncAnswer {
	return network.Answer(m.lastSync.Map("status", "answer"))
}

func status(m *model, plan compose.Plan) any {
	return neutronv1.NeutronStatus{ServiceStatus: m.Status(plan), Sync: m.answer()}
}
