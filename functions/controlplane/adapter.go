package controlplane

import (
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// row is a service without its own package, as a row of closures. It adapts them to the interfaces of package services.
type row struct {
	services.Info
	specOf                 func(*controlplanev1.Services) services.Requested
	build                  func(*model, *services.State) runtime.Object
	check                  func(*model, *services.State, release.Release) error
	secrets                func(*controlplanev1.Services) []claim.SecretReference
	pools                  func(*controlplanev1.Services) []infrastructure.PoolReference
	externalReferences     func(path string, value any) []bounds.ExternalReference
	pods                   func(*model, *services.State) []bounds.CostItem
	volumes                func(*model, *services.State) []bounds.CostItem
	locations              func(*model, *services.State) []bounds.Location
	connections            func(*model, *services.State) int64
	hosts                  func(*model, *services.State) []services.Host
	databases              func(*model, *services.State) []infrastructure.DatabaseServer
	unrestricted           func(*controlplanev1.Services) bool
	report                 func(*services.State, *controlplanev1.ControlPlaneClusterStatus)
	describeForHypervisors func(*model, *services.State, *controlplanev1.HypervisorAccess)
	ssoOrigins             func(*model, *services.State) []common.URL
	conditions             []services.Condition
}

type rowService struct{ row *row }

// rowModel calls the closures of a row.
type rowModel struct {
	services.Common
	row *row
	m   *model
}

func (r rowService) Info() services.Info { return r.row.Info }

func (r rowService) Requested(s *controlplanev1.Services) services.Requested { return r.row.specOf(s) }

func (r rowService) Secrets(s *controlplanev1.Services) []claim.SecretReference {
	if r.row.secrets == nil {
		return nil
	}
	return r.row.secrets(s)
}

func (r rowService) Pools(s *controlplanev1.Services) []infrastructure.PoolReference {
	if r.row.pools == nil {
		return nil
	}
	return r.row.pools(s)
}

func (r rowService) ExternalReferences(path string, value any) []bounds.ExternalReference {
	if r.row.externalReferences == nil {
		return nil
	}
	return r.row.externalReferences(path, value)
}

func (r rowService) Conditions() []services.Condition { return r.row.conditions }

func (r rowService) Derive(c *services.Cloud, s *services.State) services.Model {
	return rowModel{services.Common{Cloud: c, State: s}, r.row, &model{c}}
}

func (x rowModel) Object() (runtime.Object, error) { return x.row.build(x.m, x.State), nil }

func (x rowModel) Check(r release.Release) error { return x.row.check(x.m, x.State, r) }

func (x rowModel) Pods() []bounds.CostItem {
	if x.row.pods == nil {
		return x.Common.Pods()
	}
	return x.row.pods(x.m, x.State)
}

func (x rowModel) Volumes() []bounds.CostItem {
	if x.row.volumes == nil {
		return nil
	}
	return x.row.volumes(x.m, x.State)
}

func (x rowModel) Locations() []bounds.Location {
	if x.row.locations == nil {
		return nil
	}
	return x.row.locations(x.m, x.State)
}

func (x rowModel) Connections() int64 {
	if x.row.connections == nil {
		return x.Common.Connections()
	}
	return x.row.connections(x.m, x.State)
}

func (x rowModel) Hosts() []services.Host {
	if x.row.hosts == nil {
		return nil
	}
	return x.row.hosts(x.m, x.State)
}

func (x rowModel) Databases() []infrastructure.DatabaseServer {
	if x.row.databases == nil {
		return nil
	}
	return x.row.databases(x.m, x.State)
}

func (x rowModel) IsUnrestricted() bool {
	return x.row.unrestricted != nil && x.row.unrestricted(&x.m.Spec.Services)
}

func (x rowModel) SSOOrigins() []common.URL {
	if x.row.ssoOrigins == nil {
		return nil
	}
	return x.row.ssoOrigins(x.m, x.State)
}

func (x rowModel) Publish(to *controlplanev1.HypervisorAccess) {
	if x.row.describeForHypervisors != nil {
		x.row.describeForHypervisors(x.m, x.State, to)
	}
}

func (x rowModel) Report(status *controlplanev1.ControlPlaneClusterStatus) {
	if x.row.report != nil {
		x.row.report(x.State, status)
	}
}
