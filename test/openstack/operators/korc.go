//go:build linux

package operators

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The behavior of K-ORC (https://github.com/k-orc/openstack-resource-controller, internal/controllers/*/actuator.go,
// v2.6.0): it finds existing resources by the filter of an import, which has to match exactly one. Managed resources
// are adopted, by name and a few other fields, or created; afterwards K-ORC has their ID and corrects differences,
// unlike for imported ones.

// Identity returns a client of Keystone with a login as in Login.
func (o *Operators) Identity(ctx context.Context, namespace, secret, cloud string) (*gophercloud.ServiceClient, error) {
	provider, ends, err := o.Login(ctx, namespace, secret, cloud)
	if err != nil {
		return nil, err
	}
	return openstack.NewIdentityV3(provider, ends)
}

// Login logs in with a clouds.yaml in a Secret, as K-ORC does: with the CA in its key cacert, and the clouds.yaml's
// interface and region.
func (o *Operators) Login(ctx context.Context, namespace, secret, cloud string) (
	*gophercloud.ProviderClient, gophercloud.EndpointOpts, error,
) {
	none := gophercloud.EndpointOpts{}
	data, err := o.Secret(ctx, namespace, secret)
	if err != nil {
		return nil, none, err
	}
	auth, ends, settings, err := clouds.Parse(clouds.WithCloudsYAML(bytes.NewReader(data["clouds.yaml"])), clouds.WithCloudName(cloud))
	if err != nil {
		return nil, none, fmt.Errorf("cannot read the clouds.yaml of Secret %s: %w", secret, err)
	}
	// A token is valid for an hour, and suites of Tempest take longer.
	auth.AllowReauth = true
	if settings == nil {
		settings = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(data["cacert"]) {
		return nil, none, fmt.Errorf("secret %s has no certificate of an authority", secret)
	}
	provider, err := config.NewProviderClient(ctx, auth, config.WithHTTPClient(http.Client{Transport: &http.Transport{
		TLSClientConfig: settings, DialContext: o.Cluster.Dial, DisableKeepAlives: true,
	}}))
	if err != nil {
		return nil, none, fmt.Errorf("cannot log in by Secret %s: %w", secret, err)
	}
	return provider, ends, nil
}

func (o *Operators) identityOf(ctx context.Context, u *unstructured.Unstructured) (*gophercloud.ServiceClient, error) {
	ref := func(field string) string { return text(u, "spec", "cloudCredentialsRef", field) }
	return o.Identity(ctx, u.GetNamespace(), ref("secretName"), ref("cloudName"))
}

// id returns the Keystone ID of an object, which K-ORC stores; a copy in status.id serves references.
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

// actions are K-ORC's operations on a resource of one kind.
type actions struct {
	find   func() ([]string, error)
	create func() (string, error)
	// update changes the resource with an ID to match the object.
	update func(id string) error
}

// reconcileUntilStable finds or creates the resource of an object, and records its ID in the field that the companion
// reads.
func (o *Operators) reconcileUntilStable(ctx context.Context, u *unstructured.Unstructured, a actions) error {
	managed := text(u, "spec", "managementPolicy") == "managed"
	id, err := text(u, "status", "id"), error(nil)
	if id == "" {
		id, err = a.resolve(managed)
	} else if managed {
		err = a.update(id)
	}
	if err != nil {
		return err
	}
	status := map[string]any{"id": id, "resource": map[string]any{"appliedPasswordRef": desired(u, "passwordRef")}}
	o.mu.Lock()
	retained := o.objects[key(u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName())]
	retained.Object["status"] = status
	known := retained.DeepCopy()
	o.mu.Unlock()
	if err := client.IgnoreNotFound(o.Cluster.Client.Delete(ctx, known.DeepCopy())); err != nil {
		return err
	}
	return o.Cluster.Client.Create(ctx, known)
}

// resolve finds or creates the resource of an object, and returns its ID.
func (a actions) resolve(managed bool) (string, error) {
	ids, err := a.find()
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0 && managed:
		return a.create()
	case len(ids) != 1:
		return "", fmt.Errorf("%d resources in Keystone fit, not one", len(ids))
	}
	return ids[0], nil
}

// desired returns a field of an import's filter, or of a managed resource, whose name defaults to the object's.
func desired(u *unstructured.Unstructured, field string) string {
	if text(u, "spec", "managementPolicy") != "managed" {
		return text(u, "spec", "import", "filter", field)
	}
	value := text(u, "spec", "resource", field)
	if field == "name" {
		value = cmp.Or(value, u.GetName())
	}
	return value
}

// enabled returns the enabled field of a managed resource: true by default.
func enabled(u *unstructured.Unstructured) *bool {
	value, requested, _ := unstructured.NestedBool(u.Object, "spec", "resource", "enabled")
	return new(value || !requested)
}

// forget deletes the resource of an object, if K-ORC created it and is to delete it.
func (o *Operators) forget(ctx context.Context, u *unstructured.Unstructured) error {
	if err := client.IgnoreNotFound(o.Cluster.Client.Delete(ctx, u.DeepCopy())); err != nil {
		return err
	}
	if text(u, "spec", "managementPolicy") != "managed" || text(u, "spec", "managedOptions", "onDelete") == "detach" {
		return nil
	}
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	id := text(u, "status", "id")
	switch u.GetKind() {
	case "Domain": // only one that is disabled can be deleted
		if _, err = domains.Update(ctx, c, id, domains.UpdateOpts{Enabled: new(false)}).Extract(); err == nil {
			err = domains.Delete(ctx, c, id).ExtractErr()
		}
	case "Project":
		err = projects.Delete(ctx, c, id).ExtractErr()
	case "Role":
		err = roles.Delete(ctx, c, id).ExtractErr()
	case "Group":
		err = groups.Delete(ctx, c, id).ExtractErr()
	case "User":
		err = users.Delete(ctx, c, id).ExtractErr()
	case "Service":
		err = services.Delete(ctx, c, id).ExtractErr()
	case "Endpoint":
		err = endpoints.Delete(ctx, c, id).ExtractErr()
	}
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// list returns the IDs of all results of a listing.
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
	name, description := desired(u, "name"), desired(u, "description")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, domains.List(c, domains.ListOpts{Name: name}), domains.ExtractDomains, func(d domains.Domain) string { return d.ID })
		},
		create: func() (string, error) {
			d, err := domains.Create(ctx, c, domains.CreateOpts{Name: name, Description: description, Enabled: enabled(u)}).Extract()
			if err != nil {
				return "", err
			}
			return d.ID, nil
		},
		update: func(id string) error {
			return domains.Update(ctx, c, id, domains.UpdateOpts{Name: name, Description: &description, Enabled: enabled(u)}).Err
		},
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
	name, description := desired(u, "name"), desired(u, "description")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, projects.List(c, projects.ListOpts{Name: name, DomainID: domain}), projects.ExtractProjects,
				func(p projects.Project) string { return p.ID })
		},
		create: func() (string, error) {
			p, err := projects.Create(ctx, c, projects.CreateOpts{
				Name: name, DomainID: domain, Description: description, Enabled: enabled(u),
			}).Extract()
			if err != nil {
				return "", err
			}
			return p.ID, nil
		},
		update: func(id string) error {
			return projects.Update(ctx, c, id, projects.UpdateOpts{Name: name, Description: &description, Enabled: enabled(u)}).Err
		},
	})
}

func (o *Operators) role(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	domain, err := o.id("Domain", u, desired(u, "domainRef"))
	if err != nil {
		return err
	}
	name, description := desired(u, "name"), desired(u, "description")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, roles.List(c, roles.ListOpts{Name: name, DomainID: domain}), roles.ExtractRoles,
				func(r roles.Role) string { return r.ID })
		},
		create: func() (string, error) {
			r, err := roles.Create(ctx, c, roles.CreateOpts{Name: name, DomainID: domain, Description: description}).Extract()
			if err != nil {
				return "", err
			}
			return r.ID, nil
		},
		update: func(id string) error {
			return roles.Update(ctx, c, id, roles.UpdateOpts{Name: name, Description: &description}).Err
		},
	})
}

func (o *Operators) group(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	domain, err := o.id("Domain", u, desired(u, "domainRef"))
	if err != nil {
		return err
	}
	name, description := desired(u, "name"), desired(u, "description")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, groups.List(c, groups.ListOpts{Name: name, DomainID: domain}), groups.ExtractGroups,
				func(g groups.Group) string { return g.ID })
		},
		create: func() (string, error) {
			g, err := groups.Create(ctx, c, groups.CreateOpts{Name: name, DomainID: domain, Description: description}).Extract()
			if err != nil {
				return "", err
			}
			return g.ID, nil
		},
		update: func(id string) error {
			return groups.Update(ctx, c, id, groups.UpdateOpts{Name: name, Description: &description}).Err
		},
	})
}

// user creates a user with the password of a Secret. An adopted user keeps its password; later a reference to another
// Secret changes the password, and a change of the Secret does not.
func (o *Operators) user(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	domain, err := o.id("Domain", u, desired(u, "domainRef"))
	if err != nil {
		return err
	}
	project, err := o.id("Project", u, desired(u, "defaultProjectRef"))
	if err != nil {
		return err
	}
	name, description, secret := desired(u, "name"), desired(u, "description"), desired(u, "passwordRef")
	password := func() (string, error) {
		data, err := o.Secret(ctx, u.GetNamespace(), secret)
		if err == nil && data["password"] == nil {
			err = fmt.Errorf("secret %s has no key password", secret)
		}
		return string(data["password"]), err
	}
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, users.List(c, users.ListOpts{Name: name, DomainID: domain}), users.ExtractUsers,
				func(x users.User) string { return x.ID })
		},
		create: func() (string, error) {
			opts := users.CreateOpts{Name: name, DomainID: domain, DefaultProjectID: project, Description: description, Enabled: enabled(u)}
			if secret != "" {
				var err error
				if opts.Password, err = password(); err != nil {
					return "", err
				}
			}
			x, err := users.Create(ctx, c, opts).Extract()
			if err != nil {
				return "", err
			}
			return x.ID, nil
		},
		update: func(id string) error {
			opts := users.UpdateOpts{Name: name, Description: &description, Enabled: enabled(u)}
			if secret != "" && secret != text(u, "status", "resource", "appliedPasswordRef") {
				var err error
				if opts.Password, err = password(); err != nil {
					return err
				}
			}
			return users.Update(ctx, c, id, opts).Err
		},
	})
}

func (o *Operators) service(ctx context.Context, u *unstructured.Unstructured) error {
	c, err := o.identityOf(ctx, u)
	if err != nil {
		return err
	}
	name, kind, description := desired(u, "name"), desired(u, "type"), desired(u, "description")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, services.List(c, services.ListOpts{Name: name, ServiceType: kind}), services.ExtractServices,
				func(s services.Service) string { return s.ID })
		},
		create: func() (string, error) {
			s, err := services.Create(ctx, c, services.CreateOpts{
				Type: kind, Enabled: enabled(u), Extra: map[string]any{"name": name, "description": description},
			}).Extract()
			if err != nil {
				return "", err
			}
			return s.ID, nil
		},
		update: func(id string) error {
			return services.Update(ctx, c, id, services.UpdateOpts{
				Type: kind, Enabled: enabled(u), Extra: map[string]any{"name": name, "description": description},
			}).Err
		},
	})
}

// endpoint creates an endpoint of a service. Only one with the same URL is adopted.
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
	of, url := gophercloud.Availability(desired(u, "interface")), desired(u, "url")
	return o.reconcileUntilStable(ctx, u, actions{
		find: func() ([]string, error) {
			return list(ctx, endpoints.List(c, endpoints.ListOpts{ServiceID: service, Availability: of}),
				func(p pagination.Page) ([]endpoints.Endpoint, error) {
					all, err := endpoints.ExtractEndpoints(p)
					return slices.DeleteFunc(all, func(e endpoints.Endpoint) bool { return url != "" && e.URL != url }), err
				}, func(e endpoints.Endpoint) string { return e.ID })
		},
		create: func() (string, error) {
			e, err := endpoints.Create(ctx, c, endpoints.CreateOpts{ServiceID: service, Availability: of, URL: url, Enabled: enabled(u)}).Extract()
			if err != nil {
				return "", err
			}
			return e.ID, nil
		},
		update: func(id string) error {
			return endpoints.Update(ctx, c, id, endpoints.UpdateOpts{ServiceID: service, Availability: of, URL: url, Enabled: enabled(u)}).Err
		},
	})
}
