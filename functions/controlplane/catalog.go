package controlplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// catalog shows in Kubernetes what there is in the identity service from its beginning, so that other objects can refer to it. It is a
// composite resource beside that service's: K-ORC has to log in to delete it, so it goes first.
func catalog(m *model) ([]compose.Stage, error) {
	apiVersion, kind := catalogv1.GroupVersionKind.ToAPIVersionAndKind()
	xr := &catalogv1.IdentityCatalog{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.objectMeta(catalogComponent),
		Spec: catalogv1.IdentityCatalogSpec{
			Crossplane:         m.crossplane(),
			Target:             m.workloadCluster(),
			AdminCloudRef:      adminCloud(),
			KORCCloudRef:       korcCloud(),
			Region:             m.spec.Global.Region,
			AdminUser:          m.adminUser(),
			BootstrapResources: m.imports(),
			Services:           len(m.services) > 1 || m.tested() || m.allowsKeystoneServices(),
			Shared:             m.sharedIdentity(),
			Domains:            m.directories(),
		},
	}
	return []compose.Stage{{{Name: catalogComponent, Object: xr, Management: true}}}, nil
}

// imports are the kinds of what bootstrap made that the claim asks for, by default all. Nothing was made of one that is elsewhere.
func (m *model) imports() []catalogv1.BootstrapResource {
	if m.identity.elsewhere != "" {
		return nil
	}
	if m.spec.KORC == nil || m.spec.KORC.BootstrapResources == nil {
		return catalogv1.BootstrapResources()
	}
	return m.spec.KORC.BootstrapResources
}
