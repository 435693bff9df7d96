// Package controlplane composes a ControlPlaneCluster: the namespace, the shared infrastructure, and one composite resource for each
// service.
package controlplane

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of XControlPlaneCluster composite resources.
func New() function.Runner {
	return function.Kind[controlplanev1.ControlPlaneCluster, *model]{
		Graph:              graph.MustValidate(),
		Rules:              readiness.Rules,
		Requires:           requires,
		Derive:             derive,
		Target:             place,
		Status:             status,
		AdvisoryConditions: advisoryConditions(),
	}
}

// advisoryConditions returns the conditions of all services and of tests.
func advisoryConditions() []function.AdvisoryCondition[*model] {
	out := []function.AdvisoryCondition[*model]{testsCondition}
	for _, each := range serviceTable {
		for _, c := range each.Conditions() {
			out = append(out, function.AdvisoryCondition[*model]{
				Type: c.Type, Verdict: func(m *model) rules.Result { return c.Verdict(m.Cloud) },
			})
		}
	}
	return out
}

// graph contains all components of a control plane and their dependencies. Phases are visible to tenants. Services come from their own
// table.
var graph = slices.Concat(
	infrastructureGraph, ovnGraph, components(serviceTable[:1]), identityGraph, components(serviceTable[1:]), postServiceGraph,
)

// infrastructureGraph contains the components that services share.
var infrastructureGraph = compose.Graph[*model]{
	{Name: claim.NamespaceComponent, Phase: common.PhasePending, Build: namespace},
	{Name: "network", Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent}, Build: policies},
	{
		Name: "secrets", Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent},
		Enabled: (*model).NamesSecrets, Build: (*model).ComposeSecrets,
	},
	{
		Name: infrastructure.PullComponent, Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent},
		Enabled: (*model).Pulls, Build: (*model).ComposePullSecrets,
	},
	{
		Name: infrastructure.StorageComponent, Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent},
		Enabled: (*model).UsesPools, Build: pools,
	},
	{Name: "certificates", Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent}, Build: (*model).ComposeCertificates},
	{
		Name: infrastructure.CompanionComponent, Phase: common.PhaseInfrastructure,
		Needs: []string{claim.NamespaceComponent, infrastructure.PullComponent}, Build: companion,
	},
	{
		Name: infrastructure.DatabaseComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", infrastructure.PullComponent},
		Build: database,
	},
	{
		Name: infrastructure.DatabaseComponent + "-deletion-order", Phase: common.PhaseInfrastructure,
		Follows: []string{infrastructure.DatabaseComponent}, Enabled: (*model).UsesExternalMariaDB, Build: (*model).ComposeDatabaseDeletionOrder,
	},
	{
		Name: "database-backup", Phase: common.PhaseInfrastructure, Needs: []string{infrastructure.DatabaseComponent},
		Enabled: (*model).BacksUp, Build: (*model).ComposeBackup,
	},
	{
		Name: infrastructure.MessagingComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", infrastructure.PullComponent},
		Enabled: (*model).Messaging, Build: (*model).ComposeMessaging,
	},
	{
		Name: infrastructure.MessagingComponent + "-exposure", Phase: common.PhaseInfrastructure, Needs: []string{claim.NamespaceComponent},
		Enabled: (*model).QueueExposed, Build: (*model).ComposeQueueExposure,
	},
	{
		Name: infrastructure.LocksComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", infrastructure.PullComponent},
		Enabled: (*model).Locks, Build: (*model).ComposeLocks,
	},
	{
		Name: infrastructure.CacheComponent, Phase: common.PhaseInfrastructure,
		Needs: []string{claim.NamespaceComponent, infrastructure.PullComponent}, Build: caches,
	},
}

// identityGraph contains the components between the identity service and all other services.
var identityGraph = compose.Graph[*model]{
	{Name: services.CatalogComponent, Phase: common.PhaseCatalog, Needs: []string{services.IdentityService}, Build: catalog},
	// Each dependency composes the network policies of its pods. Later services compose theirs with their pods.
	{
		Name: "isolation", Phase: common.PhaseCatalog,
		Needs:   []string{"network", infrastructure.CompanionComponent, infrastructure.CacheComponent, services.IdentityService},
		Follows: []string{ovnComponent}, Build: (*model).ComposeIsolation,
	},
	// A Usage looks for its user with a growing backoff, so it is created after that user.
	{Name: "deletion-order", Phase: common.PhaseCatalog, Follows: []string{services.IdentityService}, Build: deletionOrder},
	{Name: "catalog-deletion-order", Phase: common.PhaseCatalog, Follows: []string{services.CatalogComponent}, Build: catalogDeletionOrder},
	{
		Name: "monitoring", Phase: common.PhaseCatalog,
		Follows: []string{
			infrastructure.CompanionComponent, infrastructure.DatabaseComponent, infrastructure.MessagingComponent, infrastructure.LocksComponent,
			services.CatalogComponent,
		},
		Enabled: (*model).Monitors, Build: (*model).ComposeMonitoring,
	},
}
