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

// keystonePrefix is the name prefix of the resources that register an object store in a cloud, and of the copies of their Secrets.
const keystonePrefix = "keystone-"

// serviceName returns the name of the KeystoneService of an object store. The control plane decides which names it allows, as for any
// KeystoneService.
func (m *model) serviceName(store string) string { return m.claim.Name + "-" + store }

// supportsKeystone reports whether a protocol of an object store accepts users of Keystone.
func supportsKeystone(k *storagev1.KeystoneAuth, p storagev1.Protocol) bool {
	return len(k.Protocols) == 0 || slices.Contains(k.Protocols, p)
}

// checkKeystone rejects object stores that no control plane could allow.
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
			errs = append(errs, invalid.Field(field+".keystone", "a control plane grants access to claims in a namespace; create a claim "+
				"(StorageCluster) instead of an XStorageCluster"))
		case len(name) > longest:
			errs = append(errs, invalid.Field(field+".name", "the KeystoneService of this object store would be called %s, which has %d "+
				"characters of %d at most; choose a shorter name", name, len(name), longest))
		}
	}
	return errors.Join(errs...)
}

// address returns the URL of an object store inside the cluster.
func (m *model) address(store string) string { return "https://" + m.host(store) }

func (m *model) host(store string) string {
	return fmt.Sprintf("%s.%s.svc", rook.GatewayName(store), m.instance)
}

// catalogEntries returns an object store's entries in the service catalog, by the service types that clients look up
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

// keystoneService registers an object store in a cloud: the account with which gateways validate tokens, and the catalog entries.
func (m *model) keystoneService(o storagev1.ObjectStore) *unstructured.Unstructured {
	name, ref, entries := m.serviceName(o.Name), o.Keystone.ControlPlaneRef, m.catalogEntries(o)
	spec := object.Map{
		"controlPlaneRef": object.Map{"namespace": string(ref.Namespace), "name": string(ref.Name)},
		"catalog":         entries[0], "account": object.Map{"roles": object.List{string(keystoneservicev1.RoleService)}},
		"podNamespaces": object.List{m.instance},
	}
	if len(entries) > 1 {
		spec["additionalCatalog"] = entries[1:]
	}
	meta := m.meta(name)
	meta.Namespace = m.claim.Namespace
	apiVersion, kind := keystoneservicev1.GroupVersionKind.ToAPIVersionAndKind()
	return object.New(apiVersion, kind, meta, spec)
}

// loginSet copies the Secrets with the gateways' credentials. The copies are kept as long as the object stores.
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

// logsIn reports whether an object store accepts, or has accepted, users of Keystone.
func (m *model) logsIn() bool {
	return len(m.logins.Requests) > 0 || slices.ContainsFunc(m.observed.Names(), m.logins.Has)
}

// keystone registers object stores in clouds.
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

// keystoneURL returns the URL of the Keystone of an object store. Empty: it uses none, or no longer. While the KeystoneService has no
// status, because it was deleted and is re-created, the gateways' configured URL stays.
func (m *model) keystoneURL(store string) string {
	if s, _ := m.observed.Get(keystonePrefix + store); s.String("status", "phase") != "" {
		return s.String("status", "account", "authURL")
	}
	return m.store(store).String("spec", "auth", "keystone", "url")
}

// store returns the observed object store.
func (m *model) store(name string) *observe.Object {
	o, _ := m.observed.Get(objectsPrefix + name)
	return o
}

// keystoneRemoved reports whether the observed object store accepts users of a Keystone.
func (m *model) keystoneRemoved(store string) bool {
	_, once := m.store(store).Map("spec", "auth")["keystone"]
	return once
}

// login returns the Keystone settings of an object store's gateways. Nil: no Keystone is configured, or not yet, because Rook does not
// reconcile an object store whose Secret is missing.
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

// objectStoreStatus returns the access data for clients of object stores.
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
