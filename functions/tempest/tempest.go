// Package tempest composes one Tempest: a CronJob that tests a control plane, the user that its tests are made by, and the report of how
// they ended.
package tempest

import (
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// New returns the function of Tempest composite resources.
func New() function.Runner {
	return function.Kind[tempestv1.Tempest, *model]{
		Graph: graph, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: tempestv1.TestsPassed, Verdict: (*model).passed}},
	}
}

// graph is what a Tempest consists of. The user is there before the tests are, and goes after them.
var graph = compose.Graph[*model]{
	{Name: "companion-access", Build: (*model).access},
	{Name: "credentials", Build: (*model).credentials},
	{Name: "user", Needs: []string{"companion-access", "credentials"}, Build: (*model).user},
	{Name: "config", Build: (*model).config},
	{Name: report, Build: (*model).reports},
	{Name: tests, Needs: []string{"user", "config", report}, Build: (*model).runs, Version: (*model).version},
	{Name: "monitoring", Build: (*model).alerts, Enabled: func(m *model) bool { return m.spec.Monitoring.Enabled }},
}.MustValidate()

// Components, and resources, that others refer to.
const (
	report = "report"
	tests  = "tests"
)

// model is everything that builders read, derived once.
type model struct {
	name, namespace string
	generation      int64
	spec            tempestv1.TempestSpec
	// previous is the status of the last call.
	previous tempestv1.TempestStatus
	image    string
	// flow is the way to the services.
	flow workload.Flow
	// files are those that the pod reads.
	files map[string]string
	// report is what is seen of how tests ended.
	report *observe.Object
}

func derive(in function.Input[tempestv1.Tempest]) (*model, error) {
	x := &in.XR
	m := &model{name: x.Name, namespace: x.Namespace, generation: x.Generation, spec: x.Spec, previous: x.Status}
	r, err := release.Parse(m.spec.OpenStackRelease)
	if err != nil {
		return nil, invalid.Field("spec.openStackRelease", "%s", err)
	}
	o := release.Override{Registry: m.spec.Images.Registry}
	if i := m.spec.Image; i != nil {
		o.Repository, o.Tag, o.Digest = i.Repository, i.Tag, i.Digest
	}
	if m.image, err = release.ImageFor(tempestv1.ServiceName, r, o); err != nil {
		return nil, invalid.Field("spec.image", "%s", err)
	}
	if m.flow, err = m.reaches(); err != nil {
		return nil, err
	}
	if m.files, err = m.extraFiles(); err != nil {
		return nil, err
	}
	m.report, _ = in.Observed.Get(report)
	return m, nil
}

// version that runs, as its image says.
func (m *model) version() string { return m.image[strings.LastIndexAny(m.image, ":@")+1:] }

// sub is the name of an object of a part.
func (m *model) sub(part string) string { return m.name + "-" + part }

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.namespace, Labels: m.workload().Labels()}
}

// workload is the pods that run tests.
func (m *model) workload() workload.Workload {
	return workload.Workload{
		Name: m.name, Namespace: m.namespace, App: tempestv1.ServiceName, Instance: m.name, Component: tests,
		Resources: m.spec.Resources, PullSecrets: m.spec.Images.PullSecrets,
	}
}

// place says where the objects live.
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
	return tempestv1.TempestStatus{
		ObservedGeneration: m.generation, Phase: phase, Tests: service.Tests(m.report.Map("status", "tests")),
		Components: respond.Components(plan, m.previous.Components),
	}
}
