package controlplane

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

const (
	// Prefixes of the names of copied Secrets, which no other resources use.
	tenantPrefix       = "tenant-"
	claimPullPrefix    = "claim-pull-"
	platformPullPrefix = "platform-pull-"
	// platformNamespace is the default namespace of the platform's own Secrets.
	platformNamespace = "crossplane-system"
)

// secretReference is a field of a spec that references a Secret.
type secretReference struct {
	name  *common.ObjectName
	field string
	keys  []string
}

// secretsNamed lists all fields of a spec that reference a Secret, except pull secrets. Only these Secrets are available to workloads: a
// test compares the list with the types.
func secretsNamed(s *controlplanev1.ControlPlaneClusterSpec) []secretReference {
	var out []secretReference
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, secretReference{name: name, field: field, keys: keys})
	}
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			add(&r.Name, field, string(r.Key))
		}
	}
	db := &s.Infrastructure.MariaDB
	const mariaDB = "spec.infrastructure.mariadb."
	if e := db.External; e != nil {
		add(&e.SecretRef.Name, mariaDB+"external.secretRef", mariadb.ExternalKeys()...)
	}
	if b := db.Backup; b != nil {
		add(&b.S3.CredentialsSecretRef.Name, mariaDB+"backup.s3.credentialsSecretRef", mariadb.BucketKeys(b.S3.PrivateCA)...)
	}
	if r := db.RestoreFrom; r != nil {
		add(&r.S3.CredentialsSecretRef.Name, mariaDB+"restoreFrom.s3.credentialsSecretRef", mariadb.BucketKeys(r.S3.PrivateCA)...)
		key(r.RootPasswordSecretRef, mariaDB+"restoreFrom.rootPasswordSecretRef")
	}
	if q := s.Infrastructure.RabbitMQ.External; q != nil {
		key(&q.CASecretRef, "spec.infrastructure.rabbitmq.external.caSecretRef")
		key(&q.PasswordSecretRef, "spec.infrastructure.rabbitmq.external.passwordSecretRef")
	}
	for _, service := range services {
		if service.secrets != nil {
			out = append(out, service.secrets(&s.Services)...)
		}
	}
	return out
}

// addTenantSecrets selects the Secrets to copy to the instance, and replaces their names in the model by the names of the copies, so that
// builders can only use copies.
func (m *model) addTenantSecrets(observedState observe.State) error {
	// Deep copy, because other readers of the claim's spec expect the names that the tenant set.
	m.spec = *m.spec.DeepCopy()
	m.secrets = m.secretSet("claim-secrets", tenantPrefix, m.secretsNamespace(), corev1.SecretTypeOpaque)
	references := secretsNamed(&m.spec)
	var errs []error
	for _, p := range references {
		errs = append(errs, m.checkSecretReachable(p.field))
		m.secrets.Requests = append(m.secrets.Requests, tenantsecret.Request{Name: string(*p.name), Keys: p.keys, Fields: []string{p.field}})
	}
	m.secrets.Requests = tenantsecret.Union(m.secrets.Requests)
	for _, p := range references {
		*p.name = common.ObjectName(m.secrets.Target(string(*p.name)))
	}
	errs = append(errs, m.bringPullSecrets())
	m.copiesObserved = slices.ContainsFunc(observedState.Names(), m.secrets.Has)
	m.pullsObserved = slices.ContainsFunc(m.pull, func(s tenantsecret.Set) bool { return slices.ContainsFunc(observedState.Names(), s.Has) })
	return errors.Join(errs...)
}

// bringPullSecrets does the same for pull secrets. The platform's are always used for workloads with permissions of the platform; the
// claim's replace them for all other workloads. The copies outlive the claim: retained databases keep running, and may be rescheduled to
// other nodes.
func (m *model) bringPullSecrets() error {
	const field = "spec.global.images.pullSecrets"
	var ofPlatform, ofClaim []common.ObjectName
	if i := m.platform.Images; i != nil {
		ofPlatform = i.PullSecrets
	}
	if i := m.spec.Global.Images; i != nil {
		ofClaim = i.PullSecrets
	}
	const platformField = "images.pullSecrets of the PlatformConfig"
	platform := m.pullSet("platform-pull-secrets", platformPullPrefix, m.platformNamespace(), platformField, ofPlatform)
	claim := m.pullSet("claim-pull-secrets", claimPullPrefix, m.secretsNamespace(), field, ofClaim)
	m.pull = []tenantsecret.Set{platform, claim}
	m.platformPull = copiesOf(platform, ofPlatform)
	m.images.PullSecrets = m.platformPull
	if len(ofClaim) > 0 {
		m.images.PullSecrets = copiesOf(claim, ofClaim)
	}
	switch {
	case m.reached():
		return nil
	case len(ofClaim) > 0:
		return m.checkSecretReachable(field)
	case len(ofPlatform) > 0:
		return errors.New("images.pullSecrets of the platform cannot be copied to another cluster without a secret store; " +
			"the platform team must set secretStore in the PlatformConfig, or remove pullSecrets")
	}
	return nil
}

// pullSet returns a set of pull secrets.
func (m *model) pullSet(name, prefix, from, field string, secrets []common.ObjectName) tenantsecret.Set {
	s := m.secretSet(name, prefix, from, corev1.SecretTypeDockerConfigJson)
	s.Keep = true
	for _, n := range secrets {
		s.Requests = append(s.Requests, tenantsecret.Request{
			Name: string(n), Keys: []string{corev1.DockerConfigJsonKey}, Fields: []string{field},
		})
	}
	return s
}

// copiesOf returns the names of the copies of Secrets.
func copiesOf(s tenantsecret.Set, secrets []common.ObjectName) []common.ObjectName {
	var out []common.ObjectName
	for _, n := range secrets {
		out = append(out, common.ObjectName(s.Target(string(n))))
	}
	return out
}

// reached reports whether Secrets of this cluster can be transferred to the workloads.
func (m *model) reached() bool { return !m.remote || m.secretStore != nil }

// checkSecretReachable returns an error for a Secret that cannot be transferred to the workloads.
func (m *model) checkSecretReachable(field string) error {
	if m.reached() {
		return nil
	}
	return invalid.Field(field, "the workloads run in another cluster, which requires a secret store to transfer Secrets, and none is "+
		"configured; set spec.global.secretStore, or ask the platform team for one")
}

func (m *model) secretSet(name, prefix, from string, typ corev1.SecretType) tenantsecret.Set {
	s := tenantsecret.Set{
		Name: name, Prefix: prefix, From: from, Type: typ, Instance: m.instance, Labels: m.workload(name).Labels(),
	}
	if m.remote {
		s.Via = m.secretStore
	}
	return s
}

// secretsNamespace returns the namespace of the Secrets that the spec references. A composite resource without a claim belongs to the
// platform team, and so do its Secrets.
func (m *model) secretsNamespace() string { return cmp.Or(m.claim.Namespace, m.platformNamespace()) }

func (m *model) platformNamespace() string {
	return cmp.Or(string(m.platform.SecretsNamespace), platformNamespace)
}

// namesSecrets and pulls report whether there are Secrets to copy, or copies to remove.
func (m *model) namesSecrets() bool { return len(m.secrets.Requests) > 0 || m.copiesObserved }

func (m *model) pulls() bool {
	return m.pullsObserved || slices.ContainsFunc(m.pull, func(s tenantsecret.Set) bool { return len(s.Requests) > 0 })
}

func claimSecrets(m *model) ([]compose.Stage, error) { return m.secrets.Stages(), nil }

// pullSecrets composes both sets in parallel.
func pullSecrets(m *model) ([]compose.Stage, error) { return tenantsecret.Parallel(m.pull), nil }

// sourceOf returns the source of a Secret of the claim, by the name of its copy, for objects outside of the workload cluster.
func (m *model) sourceOf(name common.ObjectName) secret.Source {
	i := slices.IndexFunc(m.secrets.Requests, func(w tenantsecret.Request) bool { return m.secrets.Target(w.Name) == string(name) })
	return m.secrets.Source(m.secrets.Requests[i].Name)
}

// authority composes a Secret that contains only the CA certificate of a Secret of the claim: pods use it to verify an external service,
// without access to its administrator credentials.
func (m *model) authority(resource, name string, of common.SecretKeyReference) compose.Resource {
	return compose.Resource{
		Name: resource, Object: certificate.CABundleSecret(m.meta(name), m.sourceOf(of.Name), string(of.Key)), After: m.copied(&of),
	}
}

// copied returns the resources that copy the referenced Secrets, as dependencies of other resources.
func (m *model) copied(refs ...*common.SecretKeyReference) []string {
	var out []string
	for _, r := range refs {
		if r != nil {
			out = append(out, m.secrets.Resource(string(r.Name)))
		}
	}
	return out
}

// copiesFor returns the resources that copy the Secrets of a service.
func (m *model) copiesFor(s *serviceState) []string {
	out := m.poolsFor(s)
	if s.secrets == nil {
		return out
	}
	for _, n := range s.secrets(&m.spec.Services) {
		out = append(out, m.secrets.Resource(string(*n.name)))
	}
	return out
}
