//go:build linux

package operators

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What K-ORC does with an object: it finds what exists by the filter of an import, which has to fit exactly one, or makes what
// is managed where there is none (https://github.com/k-orc/openstack-resource-controller).

// Identity logs in by a clouds.yaml in a Secret, as K-ORC does: with the authority in its key cacert, and the clouds.yaml's own
// interface and region.
func (o *Operators) Identity(ctx context.Context, namespace, secret, cloud string) (*gophercloud.ServiceClient, error) {
	data, err := o.Secret(ctx, namespace, secret)
	if err != nil {
		return nil, err
	}
	auth, ends, settings, err := clouds.Parse(clouds.WithCloudsYAML(bytes.NewReader(data["clouds.yaml"])), clouds.WithCloudName(cloud))
	if err != nil {
		return nil, fmt.Errorf("cannot read the clouds.yaml of Secret %s: %w", secret, err)
	}
	if settings == nil {
		settings = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(data["cacert"]) {
		return nil, fmt.Errorf("secret %s has no certificate of an authority", secret)
	}
	provider, err := config.NewProviderClient(ctx, auth, config.WithHTTPClient(http.Client{Transport: &http.Transport{
		TLSClientConfig: settings, DialContext: o.Cluster.Dial, DisableKeepAlives: true,
	}}))
	if err != nil {
		return nil, fmt.Errorf("cannot log in by Secret %s: %w", secret, err)
	}
	return openstack.NewIdentityV3(provider, ends)
}

func (o *Operators) identityOf(ctx context.Context, u *unstructured.Unstructured) (*gophercloud.ServiceClient, error) {
	ref := func(field string) string { return text(u, "spec", "cloudCredentialsRef", field) }
	return o.Identity(ctx, u.GetNamespace(), ref("secretName"), ref("cloudName"))
}

// id is where K-ORC keeps what an object is in Keystone; a copy in status.id serves references.
func (o *Operators) id(kind string, u *unstructured.Unstructured, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	other, err := o.Find(kind+".openstack.k-orc.cloud", u.GetNamespace(), ref)
	if err != nil {
		return "", err
	}
	id := text(other, "status", "id")
	if id == "" {
		return "", fmt.Errorf("%s %s is not known to Keystone yet", kind, ref)
	}
	return id, nil
}

// settle finds what an object stands for, or makes it, and notes its id, where the companion reads it.
func (o *Operators) settle(
	ctx context.Context, u *unstructured.Unstructured, found func() ([]string, error), create func() (string, error),
) error {
	ids, err := found()
	if err != nil {
		return err
	}
	managed := text(u, "spec", "managementPolicy") == "managed"
	switch {
	case len(ids) == 0 && managed && create != nil:
		id, err := create()
		if err != nil {
			return err
		}
		ids = []string{id}
	case len(ids) != 1:
		return fmt.Errorf("%d resources in Keystone fit, not one", len(ids))
	}
	o.mu.Lock()
	kept := o.objects[key(u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName())]
	err = unstructured.SetNestedField(kept.Object, ids[0], "status", "id")
	known := kept.DeepCopy()
	o.mu.Unlock()
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(o.Cluster.Client.Delete(ctx, kept.DeepCopy())); err != nil {
		return err
	}
	return o.Cluster.Client.Create(ctx, known)
}

// desired returns a field of the filter of an import, or of the resource that is managed.
func desired(u *unstructured.Unstructured, field string) string {
	if text(u, "spec", "managementPolicy") == "managed" {
		return text(u, "spec", "resource", field)
	}
	return text(u, "spec", "import", "filter", field)
}

// list returns the ids of what a listing finds.
func list[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error), id func(T) string,
) ([]string, error) {
	page, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := extract(page)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range all {
		out = append(out, id(one))
	}
	return out, nil
}

func (o *Operators) domain(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, domains.List(c, domains.ListOpts{Name: desired(u, "name")}), domains.ExtractDomains,
			func(d domains.Domain) string { return d.ID })
	}, func() (string, error) {
		d, err := domains.Create(ctx, c, domains.CreateOpts{Name: desired(u, "name"), Description: desired(u, "description")}).Extract()
		if err != nil {
			return "", err
		}
		return d.ID, nil
	})
}

func (o *Operators) project(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	domain, err := o.id("Domain", u, desired(u, "domainRef"))
	if err != nil {
		return err
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, projects.List(c, projects.ListOpts{Name: desired(u, "name"), DomainID: domain}), projects.ExtractProjects,
			func(p projects.Project) string { return p.ID })
	}, func() (string, error) {
		p, err := projects.Create(ctx, c, projects.CreateOpts{
			Name: desired(u, "name"), DomainID: domain, Description: desired(u, "description"),
		}).Extract()
		if err != nil {
			return "", err
		}
		return p.ID, nil
	})
}

func (o *Operators) role(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, roles.List(c, roles.ListOpts{Name: desired(u, "name")}), roles.ExtractRoles, func(r roles.Role) string { return r.ID })
	}, nil)
}

func (o *Operators) user(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	domain, err := o.id("Domain", u, desired(u, "domainRef"))
	if err != nil {
		return err
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, users.List(c, users.ListOpts{Name: desired(u, "name"), DomainID: domain}), users.ExtractUsers,
			func(x users.User) string { return x.ID })
	}, func() (string, error) {
		data, err := o.Secret(ctx, u.GetNamespace(), desired(u, "passwordRef"))
		if err != nil {
			return "", err
		}
		x, err := users.Create(ctx, c, users.CreateOpts{
			Name: desired(u, "name"), DomainID: domain, Password: string(data["password"]), Description: desired(u, "description"),
		}).Extract()
		if err != nil {
			return "", err
		}
		return x.ID, nil
	})
}

func (o *Operators) service(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, services.List(c, services.ListOpts{Name: desired(u, "name"), ServiceType: desired(u, "type")}), services.ExtractServices,
			func(s services.Service) string { return s.ID })
	}, func() (string, error) {
		s, err := services.Create(ctx, c, services.CreateOpts{
			Type: desired(u, "type"), Extra: map[string]any{"name": desired(u, "name")},
		}).Extract()
		if err != nil {
			return "", err
		}
		return s.ID, nil
	})
}

func (o *Operators) endpoint(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	service, err := o.id("Service", u, desired(u, "serviceRef"))
	if err != nil {
		return err
	}
	if service == "" {
		return errors.New("it names no service")
	}
	return o.settle(ctx, u, func() ([]string, error) {
		return list(ctx, endpoints.List(c, endpoints.ListOpts{
			ServiceID: service, Availability: gophercloud.Availability(desired(u, "interface")),
		}), endpoints.ExtractEndpoints, func(e endpoints.Endpoint) string { return e.ID })
	}, func() (string, error) {
		e, err := endpoints.Create(ctx, c, endpoints.CreateOpts{
			ServiceID: service, Availability: gophercloud.Availability(desired(u, "interface")), URL: desired(u, "url"),
		}).Extract()
		if err != nil {
			return "", err
		}
		return e.ID, nil
	})
}
