package storage

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// monitorsRequirement is the name of the requirement for Rook's ConfigMap of monitors, their only source. Changes are seen with the next
// call, because functions do not watch required resources.
const monitorsRequirement = "monitors"

// waitingForMonitors is the reason of conditions that wait for Rook to publish the monitors.
const waitingForMonitors = "WaitingForMonitors"

// requires selects Rook's ConfigMap of monitors. If Ceph runs in another cluster, an Object observes it instead.
func requires(in function.Input[storagev1.StorageCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	platform.RequireClusterOf(in.Required, in.XR.Spec.Cluster, out)
	for name := range out {
		if _, found := in.Required[name]; !found {
			return out // It determines whether the nodes are in another cluster.
		}
	}
	if in.XR.Spec.External != nil || inOtherCluster(in) {
		return out
	}
	claim := claimed.Of(in.Claim, in.XR.Name)
	out[monitorsRequirement] = wire.Selector{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: names.Instance(claim.Namespace, claim.Name), Name: rook.MonitorsName,
	}
	return out
}

// findAccess reads the access data of clients. If Rook publishes nothing, the last known data stays: a client that reaches one monitor
// finds the others.
func (m *model) findAccess(required map[string][]*structpb.Struct) {
	if m.isExternal() {
		m.clientAccess, m.peerKnown = m.externalAccess(), true
		return
	}
	if a := m.previous.Access; a != nil {
		m.clientAccess.FSID, m.clientAccess.Monitors = a.FSID, a.Monitors
	}
	if id := m.ceph().String("status", "ceph", "fsid"); id != "" {
		m.clientAccess.FSID = id
	}
	if requested := rook.Monitors(m.monitorsData(required)); len(requested) > 0 {
		m.clientAccess.Monitors = nil
		for _, a := range requested {
			m.clientAccess.Monitors = append(m.clientAccess.Monitors, storagev1.MonitorAddress(a))
		}
	}
	m.clientAccess.Networks, m.clientAccess.PodNetwork = m.spec.Network.PublicCIDRs, !*m.spec.Network.Host
	m.peerKnown = m.clientAccess.FSID != "" && len(m.clientAccess.Monitors) > 0
}

// monitorsData returns the monitors in Rook's format.
func (m *model) monitorsData(required map[string][]*structpb.Struct) string {
	if m.remote() {
		observed, _ := m.observed.Get(monitorsResource)
		return observed.String("data", rook.MonitorsKey)
	}
	queried := found(required, monitorsRequirement)
	return queried.GetFields()["data"].GetStructValue().GetFields()[rook.MonitorsKey].GetStringValue()
}

// published returns the access data for clients: pools and users once they are ready, and from then on permanently. Nil: not available
// yet.
func (m *model) published() *storagev1.Access {
	if !m.peerKnown {
		return nil
	}
	out := m.clientAccess
	for i := range m.consumers {
		c := &m.consumers[i]
		reported := storagev1.ConsumerAccess{Name: cmp.Or(c.name, storagev1.Shared), ControlPlaneRef: c.ref}
		previous := m.observedConsumerAccess(reported.Name)
		for _, n := range c.pools {
			p := m.pools[n]
			if m.poolReady(p) ||
				slices.ContainsFunc(previous.Pools, func(o storagev1.PoolAccess) bool { return o.Pool == p.name }) {
				reported.Pools = append(reported.Pools, storagev1.PoolAccess{Name: p.Name, Pool: p.name, Purpose: p.Purpose})
			}
		}
		for _, u := range m.usersOf(c) {
			if m.userReady(u) ||
				slices.ContainsFunc(previous.Clients, func(o storagev1.ClientAccess) bool { return o.User == u.User }) {
				reported.Clients = append(reported.Clients, u.ClientAccess)
			}
		}
		out.Consumers = append(out.Consumers, reported)
	}
	return &out
}

func (m *model) poolReady(p pool) bool {
	if m.isExternal() {
		return slices.ContainsFunc(m.externalUsers(), func(u user) bool {
			return m.userReady(u) && slices.Contains(serviceOf(u.Service).write, p.Purpose)
		})
	}
	o, ok := m.observed.Get(poolPrefix + p.name)
	return ok && o.Exists() && localPoolReady(o).Ready
}

func (m *model) userReady(u user) bool {
	if m.isExternal() {
		return m.isReady(checkPrefix + string(u.Service))
	}
	return m.isReady(userPrefix + u.User)
}

// observedConsumerAccess returns the access data published to a consumer before.
func (m *model) observedConsumerAccess(name string) storagev1.ConsumerAccess {
	if a := m.previous.Access; a != nil {
		for _, c := range a.Consumers {
			if c.Name == name {
				return c
			}
		}
	}
	return storagev1.ConsumerAccess{}
}

// isReady reports whether a composed resource exists and reports success.
func (m *model) isReady(resource string) bool {
	o, ok := m.observed.Get(resource)
	if !ok || !o.Exists() {
		return false
	}
	rule, known := readiness.Rules.For(schema.FromAPIVersionAndKind(o.APIVersion(), o.Kind()).GroupKind())
	return known && rule.Check(o).Ready
}

// access records the access data in a ConfigMap for readers of the namespace, and keeps the claim unready until it is complete.
func access(m *model) ([]compose.Stage, error) {
	data := map[string]string{"claim": m.claim.Namespace + "/" + m.claim.Name}
	if m.peerKnown {
		var monitors []string
		for _, a := range m.clientAccess.Monitors {
			monitors = append(monitors, string(a))
		}
		data["ceph.conf"] = "[global]\nfsid = " + m.clientAccess.FSID + "\nmon_host = " + strings.Join(monitors, ",") + "\n"
	}
	rule, _ := readiness.Rules.For(schema.GroupKind{Kind: "ConfigMap"})
	requested := compose.Stage{{
		Name: accessComponent, Object: workload.ConfigMap(m.meta(accessComponent), data),
		Ready: func(o *observe.Object) ready.Result {
			if !m.peerKnown {
				return ready.Wait(waitingForMonitors, "waiting for Rook to publish the monitors in ConfigMap %s", rook.MonitorsName)
			}
			return rule.Check(o)
		},
	}}
	return []compose.Stage{m.observedMonitors(), requested}, nil
}
