// Package tempest composes a Tempest: a CronJob that tests a control plane, the administrator that its tests use, and the report of their
// results.
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
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Tempest composite resources.
func New() function.Runner {
	return function.Kind[tempestv1.Tempest, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: tempestv1.TestsPassed, Verdict: (*model).passed}},
	}
}

// graph lists the components of a Tempest. The user is created before the tests, and deleted after them.
var graph = compose.Graph[*model]{
	{Name: "companion-access", Build: (*model).access},
	{Name: "credentials", Build: (*model).credentials},
	{Name: "user", Needs: []string{"companion-access", "credentials"}, Build: (*model).user},
	{Name: "config", Build: (*model).config},
	{Name: report, Build: (*model).reports},
	{Name: tests, Needs: []string{"user", "config", report}, Build: (*model).runs, Version: (*model).version},
	{Name: "monitoring", Build: (*model).alerts, Enabled: func(m *model) bool { return m.spec.Monitoring.Enabled }},
}.MustValidate()

// Components, and resources, that others reference.
const (
	report = "report"
	tests  = "tests"
)

// model is the input of all builders. derive computes it once per call.
type model struct {
	name, namespace string
	generation      int64
	spec            tempestv1.TempestSpec
	// previous is the status of the last call.
	previous tempestv1.TempestStatus
	image    string
	// flow is egress to the services.
	flow workload.Flow
	// files are the files that the pod reads.
	files map[string]string
	// report is the observed report of the results.
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
	if m.flow, err = m.servicesEgress(); err != nil {
		return nil, err
	}
	if m.files, err = m.extraFiles(); err != nil {
		return nil, err
	}
	m.report, _ = in.Observed.Get(report)
	return m, nil
}

// version returns the running version: the tag or digest of the image.
func (m *model) version() string { return m.image[strings.LastIndexAny(m.image, ":@")+1:] }

// sub returns the name of an object of a part.
func (m *model) sub(part string) string { return m.name + "-" + part }

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.namespace, Labels: m.workload().Labels()}
}

// workload returns the workload of the test pods.
func (m *model) workload() workload.Workload {
	return workload.Workload{
		Name: m.name, Namespace: m.namespace, App: tempestv1.ServiceName, Instance: m.name, Component: tests,
		Resources: m.spec.Resources, PullSecrets: m.spec.Images.PullSecrets,
	}
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
	return tempestv1.TempestStatus{
		ObservedGeneration: m.generation, Phase: phase, Tests: service.Tests(m.report.Map("status", "tests")),
		Components: respond.Components(plan, m.previous.Components),
	}
}
