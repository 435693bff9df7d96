package controlplane

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// requires selects the claims of the StorageClusters that services reference, and then the composite resources of these claims, and the
// WorkloadClusters of all of them.
func requires(in function.Input[controlplanev1.ControlPlaneCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	platform.RequireClusterOf(in.Required, in.XR.Spec.Cluster, out)
	for _, s := range serviceTable {
		for _, p := range s.Pools(&in.XR.Spec.Services) {
			storagepool.Requires(in.Required, in.Claim.Namespace, p.Pool, out)
			platform.RequireCluster(in.Required, storagepool.Cluster(in.Required, in.Claim.Namespace, p.Pool), out)
		}
	}
	for _, previous := range in.XR.Status.Storage {
		platform.RequireCluster(in.Required, previous.Cluster, out)
	}
	return out
}

// derive goes from one value to the next: the claim, the services that it enables, the infrastructure that they share, and the services
// with the releases that an upgrade assigns to them.
func derive(in function.Input[controlplanev1.ControlPlaneCluster]) (*model, error) {
	read, err := claim.Read(in)
	if err != nil {
		return nil, err
	}
	enabled := enabledServices(read)
	shared, sharedErr := infrastructure.Derive(read, demandOf(read, enabled), in.Required)
	if err := newModel(shared.WithClaim(read), enabled).checkClaim(); err != nil {
		return nil, err
	}
	if err := errors.Join(read.CheckExposure(enabled[0].Observed), sharedErr); err != nil {
		return nil, err
	}
	released, err := newModel(shared, enabled).assignReleases()
	if err != nil {
		return nil, err
	}
	m := newModel(shared, released)
	if err := errors.Join(m.checkUpgrade(), m.CheckChanges()); err != nil {
		return nil, err
	}
	return m, nil
}

// enabledServices returns the enabled services in the order of the table, with the settings of the claim merged with the defaults of the
// size.
func enabledServices(c *claim.Claim) []*services.State {
	var out []*services.State
	for _, each := range serviceTable {
		requested := each.Requested(&c.Spec.Services)
		if !requested.Enabled {
			continue
		}
		requested.Workload.Replicas = new(ptr.Deref(requested.Workload.Replicas, c.Size.API))
		requested.Workload.Resources = merge.Overlay(requested.Workload.Resources, c.Size.APIResources)
		s := &services.State{Info: each.Info(), Requested: requested, Service: each}
		s.Observed, _ = c.Observed.Get(s.Name)
		s.Endpoints, s.Exposure = addressesOf(c, s)
		out = append(out, s)
	}
	return out
}

// addressesOf returns the addresses of a service, and its exposure, nil if it is not reachable from outside.
func addressesOf(c *claim.Claim, s *services.State) (services.Endpoints, *common.ServiceExposure) {
	if s.ExternalURL != "" {
		return services.Endpoints{Public: string(s.ExternalURL), Internal: string(s.ExternalURL)}, nil
	}
	internal := s.Internal(s.Name, c.Instance)
	if c.Exposure.Type == exposure.None {
		return services.Endpoints{Public: internal, Internal: internal}, nil
	}
	e := common.ServiceExposure{Exposure: c.Exposure, TLS: c.TLS, Hostname: s.Basics.Hostname}
	if c.Exposure.Routing == claim.RoutingPaths && s.PublicPath != "" {
		e.Path = s.PublicPath
		e.Hostname = cmp.Or(e.Hostname, common.Hostname(c.Domain))
	}
	e.Hostname = cmp.Or(e.Hostname, common.Hostname(s.Name+"."+c.Domain))
	scheme := "https"
	if !ptr.Deref(c.TLS.Enabled, true) {
		scheme = "http"
	}
	return services.Endpoints{Public: fmt.Sprintf("%s://%s%s%s", scheme, e.Hostname, e.Path, s.Version), Internal: internal}, &e
}

// demandOf returns the use of the infrastructure by services.
func demandOf(c *claim.Claim, enabled []*services.State) infrastructure.Demand {
	out := infrastructure.Demand{Secrets: secretsNamed}
	for _, s := range enabled {
		if s.Observed.Exists() {
			out.Databases = append(out.Databases, infrastructure.DatabaseUser{
				Host: s.Observed.String("spec", "database", "host"), Ready: s.Ready(),
			})
		}
		out.Pools = append(out.Pools, infrastructure.PoolUser{
			Service: s.Name, Exists: s.Observed.Exists(), Pools: s.Service.Pools(&c.Spec.Services),
		})
	}
	return out
}

// checkClaim returns the errors of the claim, each of them once.
func (m *model) checkClaim() error {
	return invalid.Distinct(
		m.checkLimits(), m.Check(), m.checkResources(), m.checkHostnames(), m.checkServices(), m.checkTests(), m.checkServiceGrants(),
		m.checkValues(), m.CheckServerOptions(),
	)
}

// checkServices returns the errors of all enabled services.
func (m *model) checkServices() error {
	var errs []error
	for _, s := range m.Services {
		errs = append(errs, s.Model.Check(m.Release))
	}
	return errors.Join(errs...)
}
