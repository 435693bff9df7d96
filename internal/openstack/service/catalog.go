package service

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Entry is an API in the Keystone catalog, in addition to the API of the service.
type Entry struct {
	// Process that serves the API. Objects are named after it.
	Process string
	// Name, Type and Description of the catalog entry.
	Name, Type, Description string
	// Endpoints are the URLs of the API.
	Endpoints common.Endpoints
}

// buildCatalog builds the catalog entry of the service in Keystone: its type, endpoints and region. The entry is deleted
// together with its objects, so that clients are not directed to a disabled service. K-ORC adopts existing entries.
func buildCatalog[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	own := s.Spec.Endpoints
	own.Public += common.URL(s.CatalogPath)
	own.Internal += common.URL(s.CatalogPath)
	entries, regions := s.entry(s.Name, "", Entry{
		Name: s.Spec.Identity.NameOf(s.App), Type: s.CatalogType, Description: s.Description, Endpoints: own,
	})
	for _, e := range s.extension.Keystone.Entries {
		e.Name = s.Spec.Identity.NameOf(e.Name)
		entry, region := s.entry(s.Sub(e.Process), e.Process+"-", e)
		entries, regions = append(entries, entry...), append(regions, region...)
	}
	return []compose.Stage{entries, regions}, nil
}

// entry builds the catalog entry of an API. name is the name of its objects, prefix the prefix of their resource names.
func (b *Base) entry(name, prefix string, e Entry) (entries, regions compose.Stage) {
	cloud := korc.Credentials(b.Spec.Identity.KORCCloudRef)
	entries = compose.Stage{{
		Name:   prefix + "catalog-service",
		Object: cloud.Owned("Service", b.Meta(name), object.Map{"name": e.Name, "type": e.Type, "description": e.Description}),
	}}
	for _, end := range []struct {
		kind string
		url  common.URL
	}{{"public", e.Endpoints.Public}, {"internal", e.Endpoints.Internal}} {
		meta := b.Meta(name + "-" + end.kind)
		entries = append(entries, compose.Resource{
			Name:   prefix + "endpoint-" + end.kind,
			Object: cloud.Owned("Endpoint", meta, object.Map{"interface": end.kind, "serviceRef": name, "url": string(end.url)}),
		})
		regions = append(regions, compose.Resource{
			Name: prefix + "region-" + end.kind,
			Object: c5c3.EndpointRegion(meta, openstackv1.EndpointRegionSpec{
				CloudCredentialsRef: b.Spec.Identity.AdminCloudRef, EndpointRef: common.ObjectName(meta.Name), Region: b.Spec.Region,
			}),
		})
	}
	return entries, regions
}
