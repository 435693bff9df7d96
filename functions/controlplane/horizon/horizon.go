// Package horizon derives the composite resource of Horizon from a claim.
package horizon

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Service is Horizon, the dashboard.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: horizonv1.ServiceName, Kind: horizonv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:    []string{services.CatalogComponent},
		Internal: horizonv1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	h := s.Horizon
	if h == nil || !h.Enabled {
		return services.Requested{}
	}
	return services.Requested{
		Enabled: true, Basics: common.Service{Served: h.Served}, Workload: podWorkload(h), UWSGI: withDefaultThreads(h.UWSGI),
	}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Horizon.
type model struct{ services.Common }

// Object returns the composite resource of the dashboard.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	spec := horizonv1.HorizonSpec{
		ServiceBase: m.ServiceBase(s), Workload: s.Workload, Settings: *m.Spec.Services.Horizon.Settings.DeepCopy(),
		Identity: m.KeystoneReference(), Services: dashboardServices(m), UWSGI: s.Processes(),
	}
	if w, f := spec.WebSSO, m.Spec.Services.Keystone.Federation; w != nil && f != nil {
		for i := range w.Choices {
			w.Choices[i].Provider = cmp.Or(w.Choices[i].Provider, f.Provider)
		}
	}
	return &horizonv1.Horizon{TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name), Spec: spec}, nil
}

// shownTypes maps the services that Horizon supports to their types in Horizon.
var shownTypes = map[string]horizonv1.Type{
	services.IdentityService: horizonv1.TypeIdentity,
	placementv1.ServiceName:  horizonv1.TypePlacement, glancev1.ServiceName: horizonv1.TypeImage,
	novav1.ServiceName: horizonv1.TypeCompute, neutronv1.ServiceName: horizonv1.TypeNetwork, cinderv1.ServiceName: horizonv1.TypeVolume,
	heatv1.ServiceName: horizonv1.TypeOrchestration,
}

// dashboardServices returns the enabled services with their access rules.
func dashboardServices(m *services.Cloud) []horizonv1.Shown {
	var out []horizonv1.Shown
	for _, s := range m.Services {
		if t, ok := shownTypes[s.Name]; ok {
			c := m.Spec.Services.Cinder
			out = append(out, horizonv1.Shown{
				Type: t, InternalURL: common.URL(s.Endpoints.Internal), Policy: s.Basics.Policy,
				Backups: t == horizonv1.TypeVolume && c != nil && c.Backup != nil,
			})
		}
	}
	return out
}

// podWorkload returns the settings of its pods as a Workload.
func podWorkload(h *controlplanev1.Horizon) common.Workload {
	return *openstack.PlacedWorkload(h.Process, h.Placement)
}

// withDefaultThreads sets a default with more threads than other services: threads wait for other services, and browsers send many requests
// at a time.
func withDefaultThreads(u *common.UWSGI) *common.UWSGI {
	const threads = 8
	out := ptr.Deref(u, common.UWSGI{})
	out.Threads = cmp.Or(out.Threads, threads)
	return &out
}

// Connections returns 0, because Horizon has no database.
func (model) Connections() int64 { return 0 }

// SSOOrigins returns the address to which Keystone redirects users after login at an identity provider.
func (x model) SSOOrigins() []common.URL {
	m, s := x.Cloud, x.State
	if m.Spec.Services.Horizon.WebSSO == nil {
		return nil
	}
	return []common.URL{horizonv1.TokenURL(common.URL(s.Endpoints.Public))}
}

// Check returns an error for settings that Horizon rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	h := m.Spec.Services.Horizon
	spec := s.CheckedSpec()
	spec.MemoryField = "memory"
	errs := []error{spec.Check(s.FieldPath(""), s.Name, r), openstack.CheckAmounts(s.FieldPath(""), h.Process)}
	if h.BootFromVolume != nil && !m.HasService(cinderv1.ServiceName) {
		errs = append(errs, invalid.Field(s.FieldPath(".bootFromVolume"), "requires Cinder, which creates the volumes; set "+
			"services.cinder.enabled to true, or remove it"))
	}
	return errors.Join(append(errs, checkWebSSO(m, s.FieldPath(".websso"), h.WebSSO))...)
}

// checkWebSSO returns an error for login choices that cannot work.
func checkWebSSO(m *services.Cloud, field string, w *horizonv1.WebSSO) error {
	if w == nil {
		return nil
	}
	f := m.Spec.Services.Keystone.Federation
	if f == nil {
		return invalid.Field(field, "Keystone has no identity provider; add one to services.keystone.federation, or remove websso")
	}
	var names []string
	for i, c := range w.Choices {
		at := fmt.Sprintf("%s.choices[%d]", field, i)
		switch {
		case c.Name == horizonv1.ByPassword: // Admission rejects this and the next, too.
			return invalid.Field(at+".name", "credentials is reserved for login with a password, which is always available; set another name")
		case slices.Contains(names, c.Name):
			return invalid.Field(at+".name", "choice %q already exists; set another name", c.Name)
		case c.Provider != "" && c.Provider != f.Provider:
			return invalid.Field(at+".provider", "must be the identity provider of services.keystone.federation, which is %s; "+
				"set it to %[1]s, or remove provider", f.Provider)
		}
		names = append(names, c.Name)
	}
	if first := cmp.Or(w.InitialChoice, horizonv1.ByPassword); first != horizonv1.ByPassword && !slices.Contains(names, first) {
		return invalid.Field(field+".initialChoice", "choice %q does not exist; set one of choices, or credentials for a password", first)
	}
	return nil
}
