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
	// These begin the names of what is copied into the instance, and nothing else's.
	tenantPrefix       = "tenant-"
	claimPullPrefix    = "claim-pull-"
	platformPullPrefix = "platform-pull-"
	// platformNamespace is where the platform's own Secrets lie unless the PlatformConfig says otherwise.
	platformNamespace = "crossplane-system"
)

// secretReference is a place in a spec that names a Secret.
type secretReference struct {
	name  *common.ObjectName
	field string
	keys  []string
}

// secretsNamed are all places of a spec that name a Secret, but for pull secrets. What is not among them reaches no workload: a test holds
// it against the types.
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

// addTenantSecrets says which Secrets are brought to the instance, and from now on the model names their copies wherever the claim and the
// platform name Secrets of theirs: no builder can name another.
func (m *model) addTenantSecrets(observedState observe.State) error {
	// The claim's spec was read for this call alone, but whoever reads it later should find what the tenant wrote.
	m.spec = *m.spec.DeepCopy()
	m.secrets = m.secretSet("claim-secrets", tenantPrefix, m.secretsNamespace(), corev1.SecretTypeOpaque)
	places := secretsNamed(&m.spec)
	var errs []error
	for _, p := range places {
		errs = append(errs, m.checkSecretReachable(p.field))
		m.secrets.Requests = append(m.secrets.Requests, tenantsecret.Request{Name: string(*p.name), Keys: p.keys, Fields: []string{p.field}})
	}
	m.secrets.Requests = tenantsecret.Union(m.secrets.Requests)
	for _, p := range places {
		*p.name = common.ObjectName(m.secrets.Target(string(*p.name)))
	}
	errs = append(errs, m.bringPullSecrets())
	m.copiesObserved = slices.ContainsFunc(observedState.Names(), m.secrets.Has)
	m.pullsObserved = slices.ContainsFunc(m.pull, func(s tenantsecret.Set) bool { return slices.ContainsFunc(observedState.Names(), s.Has) })
	return errors.Join(errs...)
}

// bringPullSecrets is the same for what images are pulled with: the platform's, with which whatever holds rights of the platform's is
// always pulled, and the claim's, which take their place for everything else. The copies outlive the claim: databases that are retained
// run on, and are moved to other nodes.
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
		return errors.New("the platform's images.pullSecrets cannot be brought to another cluster without a secret store; " +
			"the platform team has to set secretStore in the PlatformConfig, or to leave pullSecrets out")
	}
	return nil
}

// pullSet is a set of Secrets that images are pulled with.
func (m *model) pullSet(name, prefix, from, field string, secrets []common.ObjectName) tenantsecret.Set {
	s := m.secretSet(name, prefix, from, corev1.SecretTypeDockerConfigJson)
	s.Keep = true
	for _, n := range secrets {
		s.Requests = append(s.Requests, tenantsecret.Request{Name: string(n), Keys: []string{corev1.DockerConfigJsonKey}, Fields: []string{field}})
	}
	return s
}

// copiesOf names the copies of Secrets.
func copiesOf(s tenantsecret.Set, secrets []common.ObjectName) []common.ObjectName {
	var out []common.ObjectName
	for _, n := range secrets {
		out = append(out, common.ObjectName(s.Target(string(n))))
	}
	return out
}

// reached reports whether Secrets of this cluster can come to the workloads.
func (m *model) reached() bool { return !m.remote || m.secretStore != nil }

// checkSecretReachable refuses a Secret that cannot come to the workloads.
func (m *model) checkSecretReachable(field string) error {
	if m.reached() {
		return nil
	}
	return invalid.Field(field, "the workloads run in another cluster, to which a Secret comes through a secret store, and there is none; "+
		"name one in spec.global.secretStore, or ask the platform team for one")
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

// secretsNamespace is where the Secrets lie that the spec names. A composite resource without a claim is the platform team's own, and so
// are its Secrets.
func (m *model) secretsNamespace() string { return cmp.Or(m.claim.Namespace, m.platformNamespace()) }

func (m *model) platformNamespace() string {
	return cmp.Or(string(m.platform.SecretsNamespace), platformNamespace)
}

// namesSecrets and pulls report whether there is anything to bring, or was.
func (m *model) namesSecrets() bool { return len(m.secrets.Requests) > 0 || m.copiesObserved }

func (m *model) pulls() bool {
	return m.pullsObserved || slices.ContainsFunc(m.pull, func(s tenantsecret.Set) bool { return len(s.Requests) > 0 })
}

func claimSecrets(m *model) ([]compose.Stage, error) { return m.secrets.Stages(), nil }

// pullSecrets brings both sets, neither of which waits for the other.
func pullSecrets(m *model) ([]compose.Stage, error) { return tenantsecret.Parallel(m.pull), nil }

// sourceOf is where objects beside the workloads read a Secret of the claim's, of which a copy has the name.
func (m *model) sourceOf(name common.ObjectName) secret.Source {
	i := slices.IndexFunc(m.secrets.Requests, func(w tenantsecret.Request) bool { return m.secrets.Target(w.Name) == string(name) })
	return m.secrets.Source(m.secrets.Requests[i].Name)
}

// authority is a Secret with an authority that a Secret of the claim's has, and with nothing else of it: by which pods verify what somebody
// else runs, without having its administrator's login.
func (m *model) authority(resource, name string, of common.SecretKeyReference) compose.Resource {
	return compose.Resource{
		Name: resource, Object: certificate.CABundleSecret(m.meta(name), m.sourceOf(of.Name), string(of.Key)), After: m.copied(&of),
	}
}

// copied returns the resources that make the copies which a spec names, for what comes after them.
func (m *model) copied(refs ...*common.SecretKeyReference) []string {
	var out []string
	for _, r := range refs {
		if r != nil {
			out = append(out, m.secrets.Resource(string(r.Name)))
		}
	}
	return out
}

// copiesFor are the resources that make the copies which a service reads.
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
