// Package controlplane composes a ControlPlaneCluster: the namespace, what the services share, and each service as a
// composite resource of its own.
package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// New returns the function of XControlPlaneCluster composite resources.
func New() function.Runner {
	return function.Kind[controlplanev1.ControlPlaneCluster, *model]{
		Graph:  graph.MustValidate(),
		Derive: derive,
		Place:  place,
		Status: status,
	}
}

// namespaceComponent is the component that everything else lives in.
const namespaceComponent = "namespace"

// pullComponent is what pods need before their images can be pulled.
const pullComponent = "pull-secrets"

// graph is what a control plane consists of, and what needs what. The phases are those that a tenant reads.
var graph = compose.Graph[*model]{
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
	{Name: "certificates", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Build: certificates},
	{
		Name: "companion", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, pullComponent},
		Build: companionController,
	},
	{Name: "database", Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent}, Build: database},
	{
		Name: "database-backup", Phase: common.PhaseInfrastructure, Needs: []string{"database"},
		Enabled: (*model).backsUp, Build: databaseBackup,
	},
	{
		Name: "messaging", Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent},
		Enabled: (*model).messaging, Build: messaging,
	},
	{
		Name: "locks", Phase: common.PhaseInfrastructure, Needs: []string{"certificates", pullComponent},
		Enabled: (*model).locks, Build: locks,
	},
	{Name: "cache", Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, pullComponent}, Build: cache},
	{
		Name: "keystone", Phase: common.PhaseIdentity, Needs: []string{"database", "cache", "companion"},
		Build: keystone, Version: (*model).keystoneVersion,
	},
	{Name: "catalog", Phase: common.PhaseCatalog, Needs: []string{"keystone"}, Build: catalog},
	// Each of these has brought the network policies of its pods.
	{Name: "isolation", Phase: common.PhaseCatalog, Needs: []string{"network", "companion", "cache", "keystone"}, Build: isolation},
	// A Usage looks for its user with a growing backoff, so it is created after it.
	{Name: "deletion-order", Phase: common.PhaseCatalog, Follows: []string{"keystone"}, Build: deletionOrder},
	{Name: "catalog-deletion-order", Phase: common.PhaseCatalog, Follows: []string{"catalog"}, Build: catalogDeletionOrder},
	{
		Name: "monitoring", Phase: common.PhaseCatalog, Follows: []string{"companion", "database", "messaging", "locks", "catalog"},
		Enabled: (*model).monitors, Build: monitored,
	},
}
