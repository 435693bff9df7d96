package service

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Catalog is what the catalog of Keystone says of the service: what it is, where it answers, and in which region that is. It goes from
// there with its objects: clients must not be sent to a service that is switched off. What is there already, K-ORC takes over.
func Catalog[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	cloud := korc.Credentials(s.Spec.Identity.KORCCloudRef)
	entries := compose.Stage{{
		Name: "catalog-service",
		Object: cloud.Owned("Service", s.Meta(s.Name), object.Map{
			"name": s.App, "type": s.CatalogType, "description": s.Description,
		}),
	}}
	var regions compose.Stage
	for _, e := range []struct {
		kind string
		url  common.URL
	}{{"public", s.Spec.Endpoints.Public}, {"internal", s.Spec.Endpoints.Internal}} {
		meta := s.Meta(s.Sub(e.kind))
		entries = append(entries, compose.Resource{
			Name:   "endpoint-" + e.kind,
			Object: cloud.Owned("Endpoint", meta, object.Map{"interface": e.kind, "serviceRef": s.Name, "url": string(e.url)}),
		})
		regions = append(regions, compose.Resource{
			Name: "region-" + e.kind,
			Object: c5c3.EndpointRegion(meta, openstackv1.EndpointRegionSpec{
				CloudCredentialsRef: s.Spec.Identity.AdminCloudRef, EndpointRef: common.ObjectName(meta.Name), Region: s.Spec.Region,
			}),
		})
	}
	return []compose.Stage{entries, regions}, nil
}
