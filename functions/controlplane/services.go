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
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// serviceTable is the table of all implemented OpenStack services, in the order in which they are created and upgraded: a service follows
// the services that it uses. Paths are the same as in devstack, below a shared host name.
var serviceTable = []services.Service{
	rowService{&row{
		Info: services.Info{
			Name: services.IdentityService, Kind: keystonev1.GroupVersionKind, Phase: common.PhaseIdentity,
			Needs:      []string{infrastructure.DatabaseComponent, infrastructure.CacheComponent, infrastructure.CompanionComponent},
			PublicPath: "/identity", Version: "/v3", Internal: keystonev1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			k := s.Keystone
			return services.Requested{
				Enabled: true, Basics: k.Service, Workload: k.Workload, UWSGI: k.UWSGI,
				ExternalURL: ptr.Deref(k.External, keystonev1.ExternalKeystone{}).AuthURL,
			}
		},
		build: keystone, check: checkKeystone, secrets: keystoneSecrets, externalReferences: keystoneReferences,
	}},
	rowService{&row{
		Info: services.Info{
			Name: placementv1.ServiceName, Kind: placementv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent},
			PublicPath: "/placement", Internal: placementv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			p := s.Placement
			if p == nil || !p.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: p.Service, Workload: p.Workload, UWSGI: p.UWSGI}
		},
		build: placement, check: checkAPI,
	}},
	rowService{&row{
		Info: services.Info{
			Name: barbicanv1.ServiceName, Kind: barbicanv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent},
			PublicPath: "/key-manager", Internal: barbicanv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			b := s.Barbican
			if b == nil || !b.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: b.Service, Workload: barbicanAPI(b), UWSGI: b.UWSGI}
		},
		build: barbican, check: checkBarbican, secrets: barbicanSecrets, externalReferences: barbicanReferences, pods: barbicanPods,
		connections: barbicanConnections,
	}},
	rowService{&row{
		Info: services.Info{
			Name: glancev1.ServiceName, Kind: glancev1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent},
			PublicPath: "/image", Internal: glancev1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			g := s.Glance
			if g == nil || !g.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: g.Service, Workload: g.Workload, UWSGI: glanceProcesses(g.UWSGI)}
		},
		build: glance, check: checkGlance, locations: glanceLocations, secrets: glanceSecrets, pools: glancePools,
		externalReferences: glanceReferences, volumes: glanceVolumes,
	}},
	rowService{&row{
		Info: services.Info{
			Name: novav1.ServiceName, Kind: novav1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, placementv1.ServiceName, glancev1.ServiceName},
			PublicPath: "/compute", Version: novav1.Version, Internal: novaURL, Inspectors: []string{"archive", "schema-check"},
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			n := s.Nova
			if n == nil || !n.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: n.Service, Workload: novaAPI(n), UWSGI: n.UWSGI}
		},
		build: nova, check: checkNova, locations: novaLocations, pods: novaPods, connections: novaConnections, hosts: novaHosts,
		report: novaReport, externalReferences: novaReferences,
		databases: novaDatabases, describeForHypervisors: novaHypervisorAccess,
	}},
	rowService{&row{
		Info: services.Info{
			Name: neutronv1.ServiceName, Kind: neutronv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, ovnComponent},
			PublicPath: "/networking", Internal: neutronv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			n := s.Neutron
			if n == nil || !n.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: n.Service, Workload: neutronAPI(n), UWSGI: n.UWSGI}
		},
		build: neutron, check: checkNeutron, locations: neutronLocations, pods: neutronPods, connections: neutronConnections,
		secrets:            networkSecrets,
		externalReferences: neutronReferences, describeForHypervisors: neutronHypervisorAccess,
		report:     neutronReport,
		conditions: []services.Condition{{Type: neutronv1.InSync, Verdict: networksInSync}},
	}},
	rowService{&row{
		Info: services.Info{
			Name: horizonv1.ServiceName, Kind: horizonv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:    []string{services.CatalogComponent},
			Internal: horizonv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			h := s.Horizon
			if h == nil || !h.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: common.Service{Served: h.Served}, Workload: horizonPods(h), UWSGI: horizonProcesses(h.UWSGI)}
		},
		build: horizon, check: checkHorizon, connections: horizonConnections, ssoOrigins: horizonSSOOrigins,
	}},
	rowService{&row{
		Info: services.Info{
			Name: heatv1.ServiceName, Kind: heatv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent},
			PublicPath: "/orchestration", Version: heatv1.Version, Internal: heatv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			h := s.Heat
			if h == nil || !h.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: h.Service, Workload: heatAPI(h), UWSGI: h.UWSGI}
		},
		build: heat, check: checkHeat, pods: heatPods, connections: heatConnections, hosts: heatHosts,
	}},
	rowService{&row{
		Info: services.Info{
			Name: cinderv1.ServiceName, Kind: cinderv1.GroupVersionKind, Phase: common.PhaseCoreServices,
			Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, infrastructure.LocksComponent, glancev1.ServiceName},
			PublicPath: "/volume", Version: cinderv1.Version, Internal: cinderv1.InternalURL,
		},
		specOf: func(s *controlplanev1.Services) services.Requested {
			c := s.Cinder
			if c == nil || !c.Enabled {
				return services.Requested{}
			}
			return services.Requested{Enabled: true, Basics: c.Service, Workload: cinderAPI(c), UWSGI: c.UWSGI}
		},
		build: cinder, check: checkCinder, locations: cinderLocations, secrets: cinderSecrets, pools: cinderPools,
		externalReferences:     cinderReferences,
		pods:                   cinderPods,
		describeForHypervisors: cinderHypervisorAccess,
		volumes:                cinderVolumes, connections: cinderConnections, report: cinderReport, unrestricted: cinderShares,
		conditions: []services.Condition{{Type: cinderv1.CephConnected, Verdict: cephConnected}},
	}},
}
