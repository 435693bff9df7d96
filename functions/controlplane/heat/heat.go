// Package heat derives the composite resource of Heat from a claim.
package heat

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Heat, the orchestration service.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: heatv1.ServiceName, Kind: heatv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent},
		PublicPath: "/orchestration", Version: heatv1.Version, Internal: heatv1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	h := s.Heat
	if h == nil || !h.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: h.Service, Workload: services.APIWorkload(h.API, h.Placement), UWSGI: h.UWSGI}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Heat.
type model struct{ services.Common }

// Object returns the composite resource of the orchestration service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	h := m.Spec.Services.Heat
	out := &heatv1.Heat{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: heatv1.HeatSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: h.Placement, Identity: m.IdentitySpec(), Queue: m.QueueSpec(),
			API: m.Process(h.API), CFN: cloudFormation(m, s), Engine: m.Daemon(h.Engine), UWSGI: s.Processes(),
			Archive: ptr.Deref(h.Archive, common.Archive{}),
		},
	}
	return out, nil
}

// cloudFormation returns the settings of the CloudFormation API, which receives signals from servers, nil if it is disabled. It always has
// its own host name: requests are signed with host name and path, and a Gateway removes the path.
func cloudFormation(m *services.Cloud, s *services.State) *heatv1.CFN {
	requested := ptr.Deref(m.Spec.Services.Heat.CFN, controlplanev1.HeatCFN{})
	if !ptr.Deref(requested.Enabled, true) {
		return nil
	}
	service := s.Name + "-" + heatv1.CFNName
	out := &heatv1.CFN{Process: m.Process(&requested.Process), Exposure: m.ExternalEndpoint(requested.Hostname, service)}
	out.Endpoints = common.Endpoints{
		Public:   common.URL(m.ProxyURL(out.Exposure, service, heatv1.CFNPort) + heatv1.Version),
		Internal: common.URL(heatv1.CFNInternalURL(s.Name, m.Instance)),
	}
	return out
}

// Check returns an error for settings that Heat rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	h := m.Spec.Services.Heat
	spec := s.CheckedSpec().WithAPI(m.Process(h.API), h.Placement)
	errs := []error{m.CheckQueue(s), spec.Check(s.FieldPath(""), s.Name, r)}
	if m.Exposure.Type != exposure.None && m.Exposure.Routing == claim.RoutingPaths {
		errs = append(errs, invalid.Field(s.FieldPath(".enabled"), "Heat does not support global.exposure.routing Paths, with which Keystone "+
			"reports only its public address, where engines do not log in; use routing Hostnames, or disable this service"))
	}
	if h.Engine != nil {
		errs = append(errs, openstack.CheckProcess(s.FieldPath(".engine"), *h.Engine))
	}
	if h.CFN != nil {
		errs = append(errs, openstack.CheckProcess(s.FieldPath(".cfn"), h.CFN.Process),
			m.CheckExposed(s.FieldPath(".cfn.hostname"), h.CFN.Hostname))
		if h.CFN.Hostname != "" && !*h.CFN.Enabled {
			errs = append(errs, invalid.Field(s.FieldPath(".cfn.hostname"),
				"requires the API of CloudFormation; set cfn.enabled to true, or remove the host name"))
		}
	}
	return errors.Join(errs...)
}

// Pods returns the costs of all processes.
func (x model) Pods() []cost.Item {
	m, s := x.Cloud, x.State
	h := m.Spec.Services.Heat
	of := func(field string, p common.Process) cost.Item {
		return cost.Item{Field: s.FieldPath(field), Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true}
	}
	out := []cost.Item{of(".api", m.Process(h.API)), of(".engine", m.Daemon(h.Engine))}
	if c := cloudFormation(m, s); c != nil {
		out = append(out, of(".cfn", c.Process))
	}
	// All APIs use the same number of uWSGI processes, so it is listed once.
	return append(out, cost.Item{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes})
}

// Connections returns the maximum number of database connections. Only engines use the database: the pool of each worker grows by its
// number of threads (heat.engine.service.EngineService._configure_db_conn_pool_size), by default 64.
func (x model) Connections() int64 {
	m := x.Cloud
	const threads = 64
	p := m.Daemon(m.Spec.Services.Heat.Engine)
	return int64(*p.Replicas) * int64(openstack.Processes(openstack.Resources(p))) * (claim.PoolSize + threads)
}

// Hosts lists the host name of the CloudFormation API.
func (x model) Hosts() []services.Host {
	m, s := x.Cloud, x.State
	c := cloudFormation(m, s)
	if c == nil {
		return nil
	}
	return []services.Host{{Owner: s.Name + " as CloudFormation", Field: s.FieldPath(".cfn.hostname"), Exposure: c.Exposure}}
}
