package controlplane

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// heat builds the composite resource of the orchestration service.
func heat(m *model, s *serviceState) runtime.Object {
	h := m.spec.Services.Heat
	return &heatv1.Heat{
		TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name),
		Spec: heatv1.HeatSpec{
			ServiceSpec: m.queuedServiceSpec(s), Placement: h.Placement, Identity: m.identitySpec(), Queue: m.queueSpec(),
			API: m.process(h.API), CFN: m.heatCFN(s), Engine: m.daemon(h.Engine), UWSGI: s.processes(),
			Archive: ptr.Deref(h.Archive, common.Archive{}),
		},
	}
}

// heatAPI returns the settings of the API's pods as a Workload.
func heatAPI(h *controlplanev1.Heat) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(h.API, common.Process{}), h.Placement)
}

// heatCFN returns the settings of the CloudFormation API, which receives signals from servers, nil if it is disabled. It always has its own
// host name: requests are signed with host name and path, and a Gateway removes the path.
func (m *model) heatCFN(s *serviceState) *heatv1.CFN {
	requested := ptr.Deref(m.spec.Services.Heat.CFN, controlplanev1.HeatCFN{})
	if !ptr.Deref(requested.Enabled, true) {
		return nil
	}
	service := s.name + "-" + heatv1.CFNName
	out := &heatv1.CFN{Process: m.process(&requested.Process), Exposure: m.externalEndpoint(requested.Hostname, service)}
	out.Endpoints = common.Endpoints{
		Public:   common.URL(m.proxyURL(out.Exposure, service, heatv1.CFNPort) + heatv1.Version),
		Internal: common.URL(heatv1.CFNInternalURL(s.name, m.instance)),
	}
	return out
}

func checkHeat(m *model, s *serviceState, r release.Release) error {
	h := m.spec.Services.Heat
	spec := s.spec()
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.process(h.API), h.Placement), "api.memory"
	errs := []error{m.checkQueue(s), spec.Check(s.field(""), s.name, r)}
	if m.exposure.Type != exposure.None && m.exposure.Routing == routingPaths {
		errs = append(errs, invalid.Field(s.field(".enabled"), "Heat does not support global.exposure.routing Paths, with which Keystone "+
			"reports only its public address, where engines do not log in; use routing Hostnames, or disable this service"))
	}
	if h.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.field(".api"), *h.API))
	}
	if h.Engine != nil {
		errs = append(errs, openstack.CheckProcess(s.field(".engine"), *h.Engine))
	}
	if h.CFN != nil {
		errs = append(errs, openstack.CheckProcess(s.field(".cfn"), h.CFN.Process), m.unexposed(s.field(".cfn.hostname"), h.CFN.Hostname))
		if h.CFN.Hostname != "" && !ptr.Deref(h.CFN.Enabled, true) {
			errs = append(errs, invalid.Field(s.field(".cfn.hostname"),
				"requires the API of CloudFormation; set cfn.enabled to true, or remove the host name"))
		}
	}
	if a := h.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.field(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// heatPods returns the costs of all processes.
func heatPods(m *model, s *serviceState) []costItem {
	h := m.spec.Services.Heat
	of := func(field string, p common.Process) costItem {
		return costItem{field: s.field(field), replicas: *p.Replicas, resources: openstack.Resources(p), short: true}
	}
	out := []costItem{of(".api", m.process(h.API)), of(".engine", m.daemon(h.Engine))}
	if c := m.heatCFN(s); c != nil {
		out = append(out, of(".cfn", c.Process))
	}
	// All APIs use the same number of uWSGI processes, so it is listed once.
	return append(out, costItem{field: s.field(""), processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes})
}

// heatConnections returns the maximum number of database connections. Only engines use the database: the pool of each worker grows by its
// number of threads (heat.engine.service.EngineService._configure_db_conn_pool_size), by default 64.
func heatConnections(m *model, _ *serviceState) int64 {
	const threads = 64
	p := m.daemon(m.spec.Services.Heat.Engine)
	return int64(*p.Replicas) * int64(openstack.Processes(openstack.Resources(p))) * (pool + threads)
}

// heatHosts lists the host name of the CloudFormation API.
func heatHosts(m *model, s *serviceState) []host {
	c := m.heatCFN(s)
	if c == nil {
		return nil
	}
	return []host{{s.name + " as CloudFormation", s.field(".cfn.hostname"), c.Exposure}}
}
