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
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// tempestComponent tests the cloud after all other components are ready.
const tempestComponent = tempestv1.ServiceName

// postServiceGraph contains the components after all services.
var postServiceGraph = compose.Graph[*model]{
	{
		Name: tempestComponent, Phase: common.PhaseTesting, Needs: append([]string{services.CatalogComponent}, servicesIn(serviceTable[1:])...),
		Enabled: (*model).tested, Build: tempest,
	},
	{
		Name: tempestComponent + "-deletion-order", Phase: common.PhaseTesting, Follows: []string{tempestComponent},
		Enabled: (*model).tested, Build: func(m *model) ([]compose.Stage, error) { return m.identityUsage(tempestComponent), nil },
	},
}

// servicesIn returns the names of services.
func servicesIn(all []services.Service) []string {
	var out []string
	for _, each := range all {
		out = append(out, each.Info().Name)
	}
	return out
}

// tested reports whether the claim enables tests and grants the permissions that they require.
func (m *model) tested() bool {
	t := m.Spec.Tempest
	return t != nil && t.Enabled && t.AllowAdministration
}

func tempest(m *model) ([]compose.Stage, error) {
	apiVersion, kind := tempestv1.GroupVersionKind.ToAPIVersionAndKind()
	requested := m.Spec.Tempest
	xr := &tempestv1.Tempest{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.ObjectMeta(tempestComponent),
		Spec: tempestv1.TempestSpec{
			Crossplane:       m.Crossplane(),
			OpenStackRelease: string(m.Identity.TargetRelease),
			Target:           m.WorkloadCluster(),
			Image:            requested.Image,
			Images:           m.Images,
			Region:           m.Spec.Global.Region,
			Identity: tempestv1.Identity{
				KeystoneReference: m.KeystoneReference(), AdminCloudRef: services.AdminCloud(), KORCCloudRef: services.KORCCloud(),
			},
			Services:       m.testable(),
			Schedule:       requested.Schedule,
			Tests:          ptr.Deref(requested.Tests, tempestv1.Tests{}),
			Passwords:      m.passwordRules(),
			Features:       m.testedFeatures(),
			Resources:      tempestResources(requested.Tests),
			Monitoring:     m.Monitoring,
			DeletionPolicy: m.Spec.DeletionPolicy,
		},
	}
	return []compose.Stage{{{Name: tempestComponent, Object: xr, Management: true}}}, nil
}

// testedTypes maps the services that Tempest supports to their types in Tempest.
var testedTypes = map[string]tempestv1.Type{
	services.IdentityService: tempestv1.TypeIdentity,
	placementv1.ServiceName:  tempestv1.TypePlacement, glancev1.ServiceName: tempestv1.TypeImage,
	novav1.ServiceName: tempestv1.TypeCompute, neutronv1.ServiceName: tempestv1.TypeNetwork, cinderv1.ServiceName: tempestv1.TypeVolume,
	barbicanv1.ServiceName: tempestv1.TypeKeyManager, heatv1.ServiceName: tempestv1.TypeOrchestration,
}

// testable returns the enabled services that Tempest supports.
func (m *model) testable() []tempestv1.Service {
	var out []tempestv1.Service
	for _, s := range m.Services {
		if t, ok := testedTypes[s.Name]; ok {
			out = append(out, tempestv1.Service{Type: t, InternalURL: common.URL(s.Endpoints.Internal)})
		}
	}
	return out
}

// passwordRules returns the password rules that tests depend on, nil if the claim sets none.
func (m *model) passwordRules() *tempestv1.Passwords {
	requested := m.Spec.Services.Keystone.Config["security_compliance"]
	if len(requested) == 0 {
		return nil
	}
	number := func(option string) int32 {
		var n int32
		if json.Unmarshal(requested[option].Raw, &n) != nil {
			return 0 // The option may also be a string; its own check reports invalid values.
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
	if n := m.Spec.Services.Neutron; n != nil && n.Enabled {
		ml2 := ptr.Deref(n.ML2, neutronv1.ML2{})
		out.NetworkTypes, out.MTU = network.TypeDrivers(n.Mechanism, ml2), ml2.MTU
		for _, p := range ml2.PhysicalNetworks {
			if len(p.VLANRanges) > 0 {
				out.VLANNetworks = append(out.VLANNetworks, p.Name)
			}
		}
	}
	if n := m.Spec.Services.Nova; n != nil && n.Enabled {
		out.VNC = cmp.Or(ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{}).Graphical, novav1.VNC) == novav1.VNC
	}
	if g := m.Spec.Services.Glance; g != nil && g.Enabled {
		out.ImageCache, out.ConvertTo = g.ImageCache != nil, ptr.Deref(g.Import, glancev1.Import{}).ConvertTo
	}
	return out
}

// tempestResources returns the resources of a run: each process loads all tests, and one more process collects the results.
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

// testParts returns the costs of the pod that runs the tests.
func (m *model) testParts() []cost.Item {
	if !m.tested() {
		return nil
	}
	return []cost.Item{{Field: "spec.tempest.tests.concurrency", Replicas: 1, Resources: tempestResources(m.Spec.Tempest.Tests)}}
}

// checkTests returns an error for tests without permission, or of services that do not exist.
func (m *model) checkTests() error {
	t := m.Spec.Tempest
	if t == nil || !t.Enabled {
		return nil
	}
	const field = "spec.tempest"
	var errs []error
	if !t.AllowAdministration { // Admission rejects this, too.
		errs = append(errs, invalid.Field(field+".allowAdministration", "Tempest needs an administrator account to create users and set quotas; "+
			"set allowAdministration: true, or disable Tempest"))
	}
	if i := t.Image; i != nil {
		o := release.Override{Registry: m.Images.Registry, Repository: i.Repository, Tag: i.Tag, Digest: i.Digest}
		if _, err := release.ImageFor(tempestComponent, m.Release, o); err != nil {
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
				"service %s is not enabled in this cloud; enable it, or remove it from this list", s))
		}
	}
	return errors.Join(errs...)
}

// broken lists the errors in a regular expression of Go that are errors in Python, too. Syntax that only one of them supports, such as
// lookahead, is left to Python.
var broken = []syntax.ErrorCode{
	syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash,
	syntax.ErrInvalidCharRange,
}

// checkPattern returns an error for an expression that Python cannot compile.
func checkPattern(field, pattern string) error {
	_, err := syntax.Parse(pattern, syntax.Perl)
	syntaxErr := &syntax.Error{}
	if !errors.As(err, &syntaxErr) || !slices.Contains(broken, syntaxErr.Code) {
		return nil
	}
	return invalid.Field(field, "is not a regular expression: %s in %q; correct it", syntaxErr.Code, pattern)
}

// testsCondition reports the results of tests. It does not affect readiness.
var testsCondition = function.AdvisoryCondition[*model]{Type: tempestv1.TestsPassed, Verdict: (*model).testsPassed}

// testsPassed copies the condition of Tempest.
func (m *model) testsPassed() rules.Result {
	if !m.tested() {
		return rules.Result{}
	}
	observedState, _ := m.Observed.Get(tempestComponent)
	c, ok := observedState.Condition(tempestv1.TestsPassed)
	if !ok || c.Reason == "" {
		return rules.Wait("NotRun", "waiting for the first test run to complete")
	}
	return m.CopiedCondition(observedState, c)
}

// testStatus returns the result of the last run, nil before the first one.
func (m *model) testStatus() *common.TestStatus {
	if !m.tested() {
		return nil
	}
	observedState, _ := m.Observed.Get(tempestComponent)
	return openstack.Tests(observedState.Map("status", "tests"))
}
