package controlplane

import (
	"k8s.io/utils/ptr"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// identityService is the service that authenticates all others. It is the first row of the table and always enabled.
const identityService = keystonev1.ServiceName

// services is the table of all implemented OpenStack services, in the order in which they are created and upgraded: a service follows the
// services that it uses. Paths are the same as in devstack, below a shared host name.
var services = []*service{
	{
		name: identityService, kind: keystonev1.GroupVersionKind, phase: common.PhaseIdentity,
		needs: []string{infrastructure.DatabaseComponent, infrastructure.CacheComponent, infrastructure.CompanionComponent},
		path:  "/identity", version: "/v3", internal: keystonev1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			k := s.Keystone
			return serviceSpec{
				enabled: true, basics: k.Service, workload: k.Workload, uwsgi: k.UWSGI,
				externalURL: ptr.Deref(k.External, keystonev1.ExternalKeystone{}).AuthURL,
			}
		},
		build: keystone, check: checkKeystone, secrets: keystoneSecrets, externalReferences: keystoneReferences,
	},
	{
		name: placementv1.ServiceName, kind: placementv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent},
		path:  "/placement", internal: placementv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			p := s.Placement
			if p == nil || !p.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: p.Service, workload: p.Workload, uwsgi: p.UWSGI}
		},
		build: placement, check: checkAPI,
	},
	{
		name: barbicanv1.ServiceName, kind: barbicanv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent, infrastructure.MessagingComponent},
		path:  "/key-manager", internal: barbicanv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			b := s.Barbican
			if b == nil || !b.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: b.Service, workload: barbicanAPI(b), uwsgi: b.UWSGI}
		},
		build: barbican, check: checkBarbican, secrets: barbicanSecrets, externalReferences: barbicanReferences, pods: barbicanPods,
		connections: barbicanConnections,
	},
	{
		name: glancev1.ServiceName, kind: glancev1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent},
		path:  "/image", internal: glancev1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			g := s.Glance
			if g == nil || !g.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: g.Service, workload: g.Workload, uwsgi: glanceProcesses(g.UWSGI)}
		},
		build: glance, check: checkGlance, locations: glanceLocations, secrets: glanceSecrets, pools: glancePools,
		externalReferences: glanceReferences, volumes: glanceVolumes,
	},
	{
		name: novav1.ServiceName, kind: novav1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent, infrastructure.MessagingComponent, placementv1.ServiceName, glancev1.ServiceName},
		path:  "/compute", version: novav1.Version, internal: novaURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			n := s.Nova
			if n == nil || !n.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: n.Service, workload: novaAPI(n), uwsgi: n.UWSGI}
		},
		build: nova, check: checkNova, locations: novaLocations, pods: novaPods, connections: novaConnections, hosts: novaHosts,
		report: novaReport, externalReferences: novaReferences,
		databases: novaDatabases, inspectors: []string{"archive", "schema-check"}, describeForHypervisors: novaHypervisorAccess,
	},
	{
		name: neutronv1.ServiceName, kind: neutronv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent, infrastructure.MessagingComponent, ovnComponent},
		path:  "/networking", internal: neutronv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			n := s.Neutron
			if n == nil || !n.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: n.Service, workload: neutronAPI(n), uwsgi: n.UWSGI}
		},
		build: neutron, check: checkNeutron, locations: neutronLocations, pods: neutronPods, connections: neutronConnections,
		secrets:            networkSecrets,
		externalReferences: neutronReferences, describeForHypervisors: neutronHypervisorAccess,
		report:             neutronReport,
		advisoryConditions: []function.AdvisoryCondition[*model]{{Type: neutronv1.InSync, Verdict: (*model).networksInSync}},
	},
	{
		name: horizonv1.ServiceName, kind: horizonv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs:    []string{catalogComponent},
		internal: horizonv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			h := s.Horizon
			if h == nil || !h.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: common.Service{Served: h.Served}, workload: horizonPods(h), uwsgi: horizonProcesses(h.UWSGI)}
		},
		build: horizon, check: checkHorizon, connections: horizonConnections, ssoOrigins: horizonSSOOrigins,
	},
	{
		name: heatv1.ServiceName, kind: heatv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent, infrastructure.MessagingComponent},
		path:  "/orchestration", version: heatv1.Version, internal: heatv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			h := s.Heat
			if h == nil || !h.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: h.Service, workload: heatAPI(h), uwsgi: h.UWSGI}
		},
		build: heat, check: checkHeat, pods: heatPods, connections: heatConnections, hosts: heatHosts,
	},
	{
		name: cinderv1.ServiceName, kind: cinderv1.GroupVersionKind, phase: common.PhaseCoreServices,
		needs: []string{catalogComponent, infrastructure.MessagingComponent, infrastructure.LocksComponent, glancev1.ServiceName},
		path:  "/volume", version: cinderv1.Version, internal: cinderv1.InternalURL,
		specOf: func(s *controlplanev1.Services) serviceSpec {
			c := s.Cinder
			if c == nil || !c.Enabled {
				return serviceSpec{}
			}
			return serviceSpec{enabled: true, basics: c.Service, workload: cinderAPI(c), uwsgi: c.UWSGI}
		},
		build: cinder, check: checkCinder, locations: cinderLocations, secrets: cinderSecrets, pools: cinderPools,
		externalReferences:     cinderReferences,
		pods:                   cinderPods,
		describeForHypervisors: cinderHypervisorAccess,
		volumes:                cinderVolumes, connections: cinderConnections, report: cinderReport, unrestricted: cinderShares,
		advisoryConditions: []function.AdvisoryCondition[*model]{{Type: cinderv1.CephConnected, Verdict: (*model).cephConnected}},
	},
}
