package controlplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// catalog builds the IdentityCatalog, which represents the entities from the bootstrap of the identity service in Kubernetes, so that other
// objects can reference them. It is separate from that service's composite resource, because it must be deleted first: K-ORC has to log in
// to delete its entries.
func catalog(m *model) ([]compose.Stage, error) {
	apiVersion, kind := catalogv1.GroupVersionKind.ToAPIVersionAndKind()
	xr := &catalogv1.IdentityCatalog{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.ObjectMeta(services.CatalogComponent),
		Spec: catalogv1.IdentityCatalogSpec{
			Crossplane:         m.Crossplane(),
			Target:             m.WorkloadCluster(),
			AdminCloudRef:      services.AdminCloud(),
			KORCCloudRef:       services.KORCCloud(),
			Region:             m.Spec.Global.Region,
			AdminUser:          m.AdminUser(),
			BootstrapResources: m.imports(),
			Services:           len(m.Services) > 1 || m.tested() || m.hasServiceGrants(),
			Shared:             m.sharedIdentity(),
			Domains:            m.directories(),
		},
	}
	return []compose.Stage{{{Name: services.CatalogComponent, Object: xr, Management: true}}}, nil
}

// imports returns the kinds of bootstrap resources to import, by default all. An external identity service was not bootstrapped by this
// control plane.
func (m *model) imports() []catalogv1.BootstrapResource {
	if m.Identity.ExternalURL != "" {
		return nil
	}
	if m.Spec.KORC == nil || m.Spec.KORC.BootstrapResources == nil {
		return catalogv1.BootstrapResources()
	}
	return m.Spec.KORC.BootstrapResources
}
