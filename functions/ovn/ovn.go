// Package ovn composes an OVNCluster: the two databases of virtual networks, each a Raft cluster of members, and northd, which translates
// the northbound database into the southbound one.
package ovn

import (
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of OVNCluster composite resources.
func New() function.Runner {
	return function.Kind[ovnv1.OVNCluster, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: controllersReady, Verdict: (*model).controllers}},
	}
}

// graph lists the components of an OVNCluster and their dependencies. Databases are upgraded before northd, because the southbound schema
// must contain everything that northd writes.
var graph = compose.Graph[*model]{
	{Name: "companion-access", Build: (*model).companionAccess},
	{Name: "authority", Build: (*model).authority},
	{Name: "scripts", Build: (*model).scripts},
	{Name: "exposure", Build: (*model).exposed, Enabled: func(m *model) bool { return len(m.south.memberServices) > 0 }},
	{
		Name: northbound, Needs: []string{"companion-access", "authority", "scripts"}, Version: (*model).version,
		Build: func(m *model) ([]compose.Stage, error) { return m.build(&m.north) },
	},
	{
		Name: southbound, Needs: []string{"companion-access", "authority", "scripts"}, Version: (*model).version,
		Build: func(m *model) ([]compose.Stage, error) { return m.build(&m.south) },
	},
	{
		Name: northd, Needs: []string{"authority", "scripts", northbound, southbound}, RolloutAfter: []string{northbound, southbound},
		Version: (*model).version, Build: (*model).northd,
	},
	{
		Name: relay, Needs: []string{"authority", "scripts", southbound}, RolloutAfter: []string{southbound},
		Version: (*model).version, Build: (*model).buildRelay, Enabled: func(m *model) bool { return m.relay.enabled },
	},
	{
		Name: snapshot, Needs: []string{"authority", "scripts", northbound, southbound}, Build: (*model).snapshots,
		Enabled: func(m *model) bool { return m.spec.Backup != nil },
	},
	{Name: "monitoring", Build: (*model).alerts, Enabled: func(m *model) bool { return m.spec.Monitoring.Enabled }},
}.MustValidate()

// Components, named by the processes that run in them.
const (
	northbound = "northbound"
	southbound = "southbound"
	northd     = "northd"
	relay      = "relay"
)

// model is the input of all builders. derive computes it once per call.
type model struct {
	name, namespace string
	generation      int64
	spec            ovnv1.OVNClusterSpec
	// previous is the status of the last call.
	previous ovnv1.OVNClusterStatus
	image    string
	// north and south are the databases.
	north, south database
	relay        relays
}

func derive(in function.Input[ovnv1.OVNCluster]) (*model, error) {
	x := &in.XR
	m := &model{name: x.Name, namespace: x.Namespace, generation: x.Generation, spec: x.Spec, previous: x.Status}
	o := release.Override{Registry: m.spec.Images.Registry}
	if i := m.spec.Image; i != nil {
		o.Repository, o.Tag, o.Digest = i.Repository, i.Tag, i.Digest
	}
	var err error
	if m.image, err = release.ImageFor(release.OVN, "", o); err != nil {
		return nil, invalid.Field("spec.image", "%s", err)
	}
	if m.north, err = m.database(northbound, m.spec.Northbound, in.Observed); err != nil {
		return nil, err
	}
	if m.south, err = m.database(southbound, m.spec.Southbound.Members, in.Observed); err != nil {
		return nil, err
	}
	if err := externalaccess.Check("spec.southbound.exposure", m.spec.Southbound.Exposure); err != nil {
		return nil, err
	}
	m.south.externalClients = externalaccess.ExternalClients(m.spec.Southbound.Exposure, m.south.port)
	m.south.memberServices = m.south.buildMemberServices(m.spec.Southbound.Exposure, in.Observed)
	m.relay, err = m.relays(in.Observed)
	return m, err
}

// version returns the running version: the tag or digest of the image.
func (m *model) version() string {
	if _, digest, ok := strings.Cut(m.image, "@"); ok {
		return digest
	}
	_, tag, _ := strings.Cut(m.image[strings.LastIndex(m.image, "/")+1:], ":")
	return tag
}

// sub returns the name of an object of a part.
func (m *model) sub(part string) string { return m.name + "-" + part }

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.namespace, Labels: m.workload("").Labels()}
}

// workload returns the workload of a part.
func (m *model) workload(part string) workload.Workload {
	w := workload.Workload{
		Name: m.name, Namespace: m.namespace, App: ovnv1.Name, Instance: m.name, Component: part,
		Placement: m.spec.Placement, Priority: workload.PriorityInfrastructure, PullSecrets: m.spec.Images.PullSecrets,
	}
	if part != "" {
		w.Name = m.sub(part)
	}
	return w
}

// place returns the default target of objects.
func place(m *model) respond.Target {
	config := string(m.spec.Target.ProviderConfig)
	return respond.Target{
		Namespaced: true, Namespace: m.namespace, Prefix: m.name,
		Management: config, Workload: config, Remote: m.spec.Target.Remote,
		DeleteData: m.spec.DeletionPolicy == common.DeletionPolicyDelete,
	}
}

func status(m *model, plan compose.Plan) any {
	phase, _ := service.Phase(plan, m.previous.Phase)
	registered, active, _ := m.chassis()
	return ovnv1.OVNClusterStatus{
		ObservedGeneration: m.generation, Phase: phase, Northbound: m.north.status(), Southbound: m.south.status(),
		Relay: m.relayStatus(), ChassisCount: registered, ActiveControllers: active,
		Components: respond.Components(plan, m.previous.Components),
	}
}
