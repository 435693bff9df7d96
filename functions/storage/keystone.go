package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// keystonePrefix begins the names of the resources that let an object store into a cloud, and of the copies of their Secrets.
const keystonePrefix = "keystone-"

// serviceName is the KeystoneService of an object store. Who may be it is for the control plane to say, as of every other.
func (m *model) serviceName(store string) string { return m.claim.Name + "-" + store }

// supportsKeystone reports whether users of Keystone come to an object store by a protocol.
func supportsKeystone(k *storagev1.KeystoneAuth, p storagev1.Protocol) bool {
	return len(k.Protocols) == 0 || slices.Contains(k.Protocols, p)
}

// checkKeystone refuses object stores that no control plane could let in.
func (m *model) checkKeystone() error {
	var errs []error
	for i, o := range m.spec.ObjectStores {
		if o.Keystone == nil {
			continue
		}
		field, name := fmt.Sprintf("spec.objectStores[%d]", i), m.serviceName(o.Name)
		const longest = 63
		switch {
		case m.claim.Namespace == "":
			errs = append(errs, invalid.Field(field+".keystone", "a control plane lets in what has a claim in a namespace; make a claim "+
				"(StorageCluster), and not an XStorageCluster"))
		case len(name) > longest:
			errs = append(errs, invalid.Field(field+".name", "the KeystoneService of this object store would be called %s, which has %d "+
				"characters of %d at most; choose a shorter name", name, len(name), longest))
		}
	}
	return errors.Join(errs...)
}

// address of an object store inside the cluster.
func (m *model) address(store string) string { return "https://" + m.host(store) }

func (m *model) host(store string) string {
	return fmt.Sprintf("%s.%s.svc", rook.GatewayName(store), m.instance)
}

// catalogEntries are those of an object store in the catalog, by the types under which clients look for them
// (https://specs.openstack.org/openstack/service-types-authority/, https://docs.openstack.org/devstack/latest/).
func (m *model) catalogEntries(o storagev1.ObjectStore) object.List {
	place := func(typ, name, path string) object.Map {
		return object.Map{"type": typ, "name": name, "endpoints": object.Map{
			"public": cmp.Or(m.publicAddress(o), m.address(o.Name)) + path, "internal": m.address(o.Name) + path,
		}}
	}
	var out object.List
	if supportsKeystone(o.Keystone, storagev1.ProtocolSwift) {
		out = append(out, place("object-store", "swift", "/swift/v1/AUTH_%(project_id)s"))
	}
	if supportsKeystone(o.Keystone, storagev1.ProtocolS3) {
		out = append(out, place("s3", "s3", ""))
	}
	return out
}

// keystoneService is what lets an object store into a cloud: its account, by which gateways check tokens, and its places in the catalog.
func (m *model) keystoneService(o storagev1.ObjectStore) *unstructured.Unstructured {
	name, ref, places := m.serviceName(o.Name), o.Keystone.ControlPlaneRef, m.catalogEntries(o)
	spec := object.Map{
		"controlPlaneRef": object.Map{"namespace": string(ref.Namespace), "name": string(ref.Name)},
		"catalog":         places[0], "account": object.Map{"roles": object.List{string(keystoneservicev1.RoleService)}},
		"podNamespaces": object.List{m.instance},
	}
	if len(places) > 1 {
		spec["additionalCatalog"] = places[1:]
	}
	meta := m.meta(name)
	meta.Namespace = m.claim.Namespace
	return object.New("crossplane.c5c3.io/v1alpha1", "KeystoneService", meta, spec)
}

// loginSet brings the Secrets that gateways log in by beside them. They stay with the object stores.
func (m *model) loginSet() tenantsecret.Set {
	set := tenantsecret.Set{
		Name: "keystone-logins", Prefix: keystonePrefix, Type: corev1.SecretTypeOpaque, Keep: true,
		From: m.claim.Namespace, Instance: m.instance, Labels: m.meta("keystone-logins").Labels,
	}
	for _, o := range m.spec.ObjectStores {
		if o.Keystone != nil {
			set.Requests = append(set.Requests, tenantsecret.Request{
				Name: keystoneservicev1.SecretName(m.serviceName(o.Name)), As: keystonePrefix + o.Name,
				Keys:    append(keystoneservicev1.Variables(), keystoneservicev1.CAKey),
				Renamed: map[string]string{keystoneservicev1.CAKey: rook.CABundleKey},
			})
		}
	}
	return set
}

// logsIn reports whether there is an object store that users of Keystone log in to, or was.
func (m *model) logsIn() bool {
	return len(m.logins.Requests) > 0 || slices.ContainsFunc(m.seen.Names(), m.logins.Has)
}

// keystone lets object stores into clouds.
func keystone(m *model) ([]compose.Stage, error) {
	var services compose.Stage
	for _, o := range m.spec.ObjectStores {
		if o.Keystone != nil {
			services = append(services, compose.Resource{Name: keystonePrefix + o.Name, Object: m.keystoneService(o)})
		}
	}
	stages := m.logins.Stages()
	stages[0] = append(services, stages[0]...)
	return stages, nil
}

// keystoneURL is where the Keystone is that an object store is let into. Empty: it is not, or not any more. While the KeystoneService says
// nothing, because somebody has deleted it and it is made again, what the gateways ask already holds.
func (m *model) keystoneURL(store string) string {
	if s, _ := m.seen.Get(keystonePrefix + store); s.String("status", "phase") != "" {
		return s.String("status", "account", "authURL")
	}
	return m.store(store).String("spec", "auth", "keystone", "url")
}

// store is an object store as it is.
func (m *model) store(name string) *observe.Object {
	o, _ := m.seen.Get(objectsPrefix + name)
	return o
}

// keystoneWasEnabled reports whether users of a Keystone were let into an object store before.
func (m *model) keystoneWasEnabled(store string) bool {
	_, once := m.store(store).Map("spec", "auth")["keystone"]
	return once
}

// login is by what the gateways of an object store check tokens. Nil: they know no Keystone, or not yet: Rook does nothing for an object
// store whose Secret is not there.
func (m *model) login(o storagev1.ObjectStore) *rook.Keystone {
	if o.Keystone == nil {
		return nil
	}
	url, secret := m.keystoneURL(o.Name), keystonePrefix+o.Name
	if url == "" || m.store(o.Name).String("spec", "auth", "keystone", "url") == "" && !m.isReady(m.logins.Resource(secret)) {
		return nil
	}
	out := &rook.Keystone{
		URL: strings.TrimSuffix(url, "/v3"), Secret: secret,
		Swift: supportsKeystone(o.Keystone, storagev1.ProtocolSwift), S3: supportsKeystone(o.Keystone, storagev1.ProtocolS3),
	}
	for _, r := range o.Keystone.AcceptedRoles {
		out.Roles = append(out.Roles, string(r))
	}
	if len(out.Roles) == 0 {
		out.Roles = []string{"member", "admin"}
	}
	return out
}

// objectStoreStatus is what clients of object stores need to know.
func (m *model) objectStoreStatus() []storagev1.ObjectStoreStatus {
	var out []storagev1.ObjectStoreStatus
	for _, o := range m.spec.ObjectStores {
		s := storagev1.ObjectStoreStatus{
			Name: o.Name, Endpoint: common.URL(m.address(o.Name)), PublicEndpoint: common.URL(m.publicAddress(o)),
			CASecretRef: common.SecretKeyReference{Name: common.ObjectName(rook.GatewayName(o.Name)), Key: certificate.CAKey},
		}
		if o.Keystone != nil {
			s.KeystoneService, s.Keystone = common.ObjectName(m.serviceName(o.Name)), common.URL(m.keystoneURL(o.Name))
		}
		out = append(out, s)
	}
	return out
}
