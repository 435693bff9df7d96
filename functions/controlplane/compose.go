// Package controlplane composes a ControlPlaneCluster: the namespace, the shared infrastructure, and one composite resource for each
// service.
package controlplane

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
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
	for _, row := range services {
		out = append(out, row.advisoryConditions...)
	}
	return out
}

// Names of components that are dependencies of others.
const (
	// namespaceComponent contains all other components.
	namespaceComponent = "namespace"
	// pullComponent copies the pull secrets that pods need for their images.
	pullComponent      = "pull-secrets"
	storageComponent   = "storage"
	companionComponent = "companion"
	databaseComponent  = "database"
	messagingComponent = "messaging"
	locksComponent     = "locks"
	cacheComponent     = "cache"
	catalogComponent   = "catalog"
	ovnComponent       = ovnv1.Name
)

// graph contains all components of a control plane and their dependencies. Phases are visible to tenants. Services come from their own
// table.
var graph = slices.Concat(infrastructure, components(services[:1]), identityGraph, components(services[1:]), postServiceGraph)

// infrastructure contains the components that services share.
var infrastructure = compose.Graph[*model]{
	{Name: namespaceComponent, Phase: common.PhasePending, Build: namespace},
	{Name: "network", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Build: policies},
	{
		Name: "secrets", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent},
		Enabled: (*model).namesSecrets, Build: claimSecrets,
	},
	{
		Name: pullComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent},
		Enabled: (*model).pulls, Build: pullSecrets,
	},
	{
		Name: storageComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent},
		Enabled: (*model).usesPools, Build: storagePools,
	},
	{Name: "certificates", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Build: certificates},
	{
		Name: companionComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, pullComponent},
		Build: companionController,
	},
	{Name: databaseComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent}, Build: database},
	{
		Name: databaseComponent + "-deletion-order", Phase: common.PhaseInfrastructure, Follows: []string{databaseComponent},
		Enabled: (*model).usesExternalMariaDB, Build: databaseDeletionOrder,
	},
	{
		Name: "database-backup", Phase: common.PhaseInfrastructure, Needs: []string{databaseComponent},
		Enabled: (*model).backsUp, Build: databaseBackup,
	},
	{
		Name: messagingComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent},
		Enabled: (*model).messaging, Build: messaging,
	},
	{
		Name: messagingComponent + "-exposure", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent},
		Enabled: (*model).queueExposed, Build: queueExposure,
	},
	{
		Name: locksComponent, Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent},
		Enabled: (*model).locks, Build: locks,
	},
	{Name: cacheComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, pullComponent}, Build: cache},
	{
		Name: ovnComponent, Phase: common.PhaseInfrastructure, Needs: []string{companionComponent, pullComponent},
		Enabled: (*model).ownsOVN, Build: ovn,
	},
	{
		Name: ovnComponent + "-deletion-order", Phase: common.PhaseInfrastructure, Follows: []string{ovnComponent},
		Enabled: (*model).ownsOVN, Build: ovnDeletionOrder,
	},
}

// identityGraph contains the components between the identity service and all other services.
var identityGraph = compose.Graph[*model]{
	{Name: catalogComponent, Phase: common.PhaseCatalog, Needs: []string{identityService}, Build: catalog},
	// Each dependency composes the network policies of its pods. Later services compose theirs with their pods.
	{
		Name: "isolation", Phase: common.PhaseCatalog,
		Needs: []string{"network", companionComponent, cacheComponent, identityService}, Follows: []string{ovnComponent}, Build: isolation,
	},
	// A Usage looks for its user with a growing backoff, so it is created after that user.
	{Name: "deletion-order", Phase: common.PhaseCatalog, Follows: []string{identityService}, Build: deletionOrder},
	{Name: "catalog-deletion-order", Phase: common.PhaseCatalog, Follows: []string{catalogComponent}, Build: catalogDeletionOrder},
	{
		Name: "monitoring", Phase: common.PhaseCatalog,
		Follows: []string{companionComponent, databaseComponent, messagingComponent, locksComponent, catalogComponent},
		Enabled: (*model).monitors, Build: monitored,
	},
}
