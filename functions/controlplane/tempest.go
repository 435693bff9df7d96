package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// tempestComponent is the tests of the cloud, which run when all of it is there.
const tempestComponent = tempestv1.ServiceName

// postServiceGraph is what comes after all services.
var postServiceGraph = compose.Graph[*model]{
	{
		Name: tempestComponent, Phase: common.PhaseTesting, Needs: append([]string{catalogComponent}, servicesIn(services[1:])...),
		Enabled: (*model).tested, Build: tempest,
	},
	{
		Name: tempestComponent + "-deletion-order", Phase: common.PhaseTesting, Follows: []string{tempestComponent},
		Enabled: (*model).tested, Build: func(m *model) ([]compose.Stage, error) { return m.identityUsage(tempestComponent), nil },
	},
}

// servicesIn are the names of rows of the table.
func servicesIn(rows []*service) []string {
	var out []string
	for _, row := range rows {
		out = append(out, row.name)
	}
	return out
}

// tested says that the claim orders tests, and allows what they need.
func (m *model) tested() bool {
	t := m.spec.Tempest
	return t != nil && t.Enabled && t.AllowAdministration
}

func tempest(m *model) ([]compose.Stage, error) {
	apiVersion, kind := tempestv1.GroupVersionKind.ToAPIVersionAndKind()
	requested := m.spec.Tempest
	xr := &tempestv1.Tempest{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.objectMeta(tempestComponent),
		Spec: tempestv1.TempestSpec{
			Crossplane:       m.crossplane(),
			OpenStackRelease: string(m.identity.targetRelease),
			Target:           m.workloadCluster(),
			Image:            requested.Image,
			Images:           m.images,
			Region:           m.spec.Global.Region,
			Identity: tempestv1.Identity{
				KeystoneReference: m.keystoneReference(), AdminCloudRef: adminCloud(), KORCCloudRef: korcCloud(),
			},
			Services:       m.testable(),
			Schedule:       requested.Schedule,
			Tests:          ptr.Deref(requested.Tests, tempestv1.Tests{}),
			Passwords:      m.passwordRules(),
			Features:       m.testedFeatures(),
			Resources:      tempestResources(requested.Tests),
			Monitoring:     m.monitoring,
			DeletionPolicy: m.spec.DeletionPolicy,
		},
	}
	return []compose.Stage{{{Name: tempestComponent, Object: xr, Management: true}}}, nil
}

// testedTypes are the services that Tempest is told of, by what it calls them.
var testedTypes = map[string]tempestv1.Type{
	identityService: tempestv1.TypeIdentity, placementv1.ServiceName: tempestv1.TypePlacement, glancev1.ServiceName: tempestv1.TypeImage,
	novav1.ServiceName: tempestv1.TypeCompute, neutronv1.ServiceName: tempestv1.TypeNetwork, cinderv1.ServiceName: tempestv1.TypeVolume,
	barbicanv1.ServiceName: tempestv1.TypeKeyManager, heatv1.ServiceName: tempestv1.TypeOrchestration,
}

// testable are those that are enabled.
func (m *model) testable() []tempestv1.Service {
	var out []tempestv1.Service
	for _, s := range m.services {
		if t, ok := testedTypes[s.name]; ok {
			out = append(out, tempestv1.Service{Type: t, InternalURL: common.URL(s.endpoints.internal)})
		}
	}
	return out
}

// passwordRules are those that tests of passwords have to know: nil if the claim says none.
func (m *model) passwordRules() *tempestv1.Passwords {
	requested := m.spec.Services.Keystone.Config["security_compliance"]
	if len(requested) == 0 {
		return nil
	}
	number := func(option string) int32 {
		var n int32
		if json.Unmarshal(requested[option].Raw, &n) != nil {
			return 0 // A number may be said as a text, too; what is none is refused elsewhere.
		}
		return n
	}
	return &tempestv1.Passwords{
		LockoutAttempts: number("lockout_failure_attempts"), LockoutSeconds: number("lockout_duration"),
		Remembered: number("unique_last_password_count"),
	}
}

// testedFeatures returns the options of services that tests depend on and no API reports.
func (m *model) testedFeatures() tempestv1.Features {
	out := tempestv1.Features{}
	if n := m.spec.Services.Neutron; n != nil && n.Enabled {
		ml2 := ptr.Deref(n.ML2, neutronv1.ML2{})
		out.NetworkTypes, out.MTU = network.TypeDrivers(n.Mechanism, ml2), ml2.MTU
		for _, p := range ml2.PhysicalNetworks {
			if len(p.VLANRanges) > 0 {
				out.VLANNetworks = append(out.VLANNetworks, p.Name)
			}
		}
	}
	if n := m.spec.Services.Nova; n != nil && n.Enabled {
		out.VNC = cmp.Or(ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{}).Graphical, novav1.VNC) == novav1.VNC
	}
	if g := m.spec.Services.Glance; g != nil && g.Enabled {
		out.ImageCache, out.ConvertTo = g.ImageCache != nil, ptr.Deref(g.Import, glancev1.Import{}).ConvertTo
	}
	return out
}

// tempestResources are those of a run: each process has all tests loaded, and one more gathers what they say.
func tempestResources(t *tempestv1.Tests) *common.Resources {
	const concurrency, each = 2, 384 << 20
	n := int64(cmp.Or(ptr.Deref(t, tempestv1.Tests{}).Concurrency, concurrency)) + 1
	return &common.Resources{
		Requests: &common.ResourceAmounts{
			CPU: resource.NewMilliQuantity(100*n, resource.DecimalSI), Memory: resource.NewQuantity(n*each, resource.BinarySI),
		},
		Limits: &common.ResourceAmounts{Memory: resource.NewQuantity(n*each, resource.BinarySI)},
	}
}

// testParts is the pod that runs the tests.
func (m *model) testParts() []costItem {
	if !m.tested() {
		return nil
	}
	return []costItem{{field: "spec.tempest.tests.concurrency", replicas: 1, resources: tempestResources(m.spec.Tempest.Tests)}}
}

// checkTests refuses tests that the claim does not allow, or of what there is not.
func (m *model) checkTests() error {
	t := m.spec.Tempest
	if t == nil || !t.Enabled {
		return nil
	}
	const field = "spec.tempest"
	var errs []error
	if !t.AllowAdministration { // Admission refuses this, too.
		errs = append(errs, invalid.Field(field+".allowAdministration", "tests make users and set quotas as an administrator of the cloud; "+
			"say allowAdministration: true, or leave them off"))
	}
	if t.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(field+".schedule", t.Schedule))
	}
	if i := t.Image; i != nil {
		o := release.Override{Registry: m.images.Registry, Repository: i.Repository, Tag: i.Tag, Digest: i.Digest}
		if _, err := release.ImageFor(tempestComponent, m.release, o); err != nil {
			errs = append(errs, invalid.Field(field+".image", "%s", err))
		}
	}
	if tests := t.Tests; tests != nil {
		errs = append(errs, checkPattern(field+".tests.includeRegex", tests.IncludeRegex), checkPattern(field+".tests.excludeRegex",
			tests.ExcludeRegex))
	}
	existing := m.testable()
	for i, s := range ptr.Deref(t.Tests, tempestv1.Tests{}).Services {
		if !slices.ContainsFunc(existing, func(is tempestv1.Service) bool { return is.Type == tempestv1.Type(s) }) {
			errs = append(errs, invalid.Field(fmt.Sprintf("%s.tests.services[%d]", field, i),
				"this cloud has no service %s; enable it, or leave it out here", s))
		}
	}
	return errors.Join(errs...)
}

// broken are the mistakes in a regular expression of Go that Python does not accept either. What else only one of them has, such as
// lookahead, is left to Python.
var broken = []syntax.ErrorCode{
	syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash,
	syntax.ErrInvalidCharRange,
}

// checkPattern returns an error for an expression that Python does not compile.
func checkPattern(field, pattern string) error {
	_, err := syntax.Parse(pattern, syntax.Perl)
	mistake := &syntax.Error{}
	if !errors.As(err, &mistake) || !slices.Contains(broken, mistake.Code) {
		return nil
	}
	return invalid.Field(field, "is not a regular expression: %s in %q; correct it", mistake.Code, pattern)
}

// testsCondition is said of tests: nothing waits for them.
var testsCondition = function.AdvisoryCondition[*model]{Type: tempestv1.TestsPassed, Verdict: (*model).testsPassed}

// testsPassed repeats what the tests say.
func (m *model) testsPassed() rules.Result {
	if !m.tested() {
		return rules.Result{}
	}
	observedState, _ := m.seen.Get(tempestComponent)
	c, ok := observedState.Condition(tempestv1.TestsPassed)
	if !ok || c.Reason == "" {
		return rules.Wait("NotRun", "no run has ended yet")
	}
	return rules.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// testStatus is how the last run ended: nil if there was none.
func (m *model) testStatus() *common.TestStatus {
	if !m.tested() {
		return nil
	}
	observedState, _ := m.seen.Get(tempestComponent)
	return openstack.Tests(observedState.Map("status", "tests"))
}
