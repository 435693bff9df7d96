package service

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Entry is an API in the catalog of Keystone besides the service's own.
type Entry struct {
	// Process that serves it, after which its objects are called.
	Process string
	// Name and Type in the catalog, and what is said of it there.
	Name, Type, Description string
	// Endpoints are its addresses.
	Endpoints common.Endpoints
}

// Catalog is what the catalog of Keystone says of the service: what it is, where it answers, and in which region that is. It goes from
// there with its objects: clients must not be sent to a service that is switched off. What is there already, K-ORC takes over.
func Catalog[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	own := s.Spec.Endpoints
	own.Public += common.URL(s.CatalogPath)
	own.Internal += common.URL(s.CatalogPath)
	entries, regions := s.entry(s.Name, "", Entry{
		Name: s.Spec.Identity.NameOf(s.App), Type: s.CatalogType, Description: s.Description, Endpoints: own,
	})
	for _, e := range s.Entries {
		e.Name = s.Spec.Identity.NameOf(e.Name)
		entry, region := s.entry(s.Sub(e.Process), e.Process+"-", e)
		entries, regions = append(entries, entry...), append(regions, region...)
	}
	return []compose.Stage{entries, regions}, nil
}

// entry is an API in the catalog, by the name of its objects and what their resources' names begin with.
func (s *Service) entry(name, prefix string, e Entry) (entries, regions compose.Stage) {
	cloud := korc.Credentials(s.Spec.Identity.KORCCloudRef)
	entries = compose.Stage{{
		Name:   prefix + "catalog-service",
		Object: cloud.Owned("Service", s.Meta(name), object.Map{"name": e.Name, "type": e.Type, "description": e.Description}),
	}}
	for _, end := range []struct {
		kind string
		url  common.URL
	}{{"public", e.Endpoints.Public}, {"internal", e.Endpoints.Internal}} {
		meta := s.Meta(name + "-" + end.kind)
		entries = append(entries, compose.Resource{
			Name:   prefix + "endpoint-" + end.kind,
			Object: cloud.Owned("Endpoint", meta, object.Map{"interface": end.kind, "serviceRef": name, "url": string(end.url)}),
		})
		regions = append(regions, compose.Resource{
			Name: prefix + "region-" + end.kind,
			Object: c5c3.EndpointRegion(meta, openstackv1.EndpointRegionSpec{
				CloudCredentialsRef: s.Spec.Identity.AdminCloudRef, EndpointRef: common.ObjectName(meta.Name), Region: s.Spec.Region,
			}),
		})
	}
	return entries, regions
}
