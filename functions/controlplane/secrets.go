package controlplane

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenantsecret"
)

const (
	// tenantPrefix and pullPrefix begin the names of what is copied into the instance, and nothing else's.
	tenantPrefix = "tenant-"
	pullPrefix   = "pull-"
	// platformNamespace is where the platform's own Secrets lie unless the PlatformConfig says otherwise.
	platformNamespace = "crossplane-system"
)

// named is a place in a spec that names a Secret.
type named struct {
	name  *common.ObjectName
	field string
	keys  []string
}

// secretsNamed are all places of a spec that name a Secret, but for pull secrets. What is not among them reaches no workload: a test holds
// it against the types.
func secretsNamed(s *controlplanev1.ControlPlaneClusterSpec) []named {
	var out []named
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, named{name: name, field: field, keys: keys})
	}
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			add(&r.Name, field, string(r.Key))
		}
	}
	db := &s.Infrastructure.MariaDB
	const mariaDB = "spec.infrastructure.mariadb."
	if b := db.Backup; b != nil {
		add(&b.S3.CredentialsSecretRef.Name, mariaDB+"backup.s3.credentialsSecretRef", mariadb.BucketKeys(b.S3.PrivateCA)...)
	}
	if r := db.RestoreFrom; r != nil {
		add(&r.S3.CredentialsSecretRef.Name, mariaDB+"restoreFrom.s3.credentialsSecretRef", mariadb.BucketKeys(r.S3.PrivateCA)...)
		key(r.RootPasswordSecretRef, mariaDB+"restoreFrom.rootPasswordSecretRef")
	}
	k := &s.Services.Keystone
	for i := range k.IdentityBackends {
		l := &k.IdentityBackends[i].LDAP
		field := fmt.Sprintf("spec.services.keystone.identityBackends[%d].ldap.", i)
		key(l.PasswordSecretRef, field+"passwordSecretRef")
		key(l.CASecretRef, field+"caSecretRef")
	}
	if f := k.Federation; f != nil {
		key(&f.ClientSecretRef, "spec.services.keystone.federation.clientSecretRef")
	}
	return out
}

// bringSecrets says which Secrets are brought to the instance, and from now on the model names their copies wherever the claim and the
// platform name Secrets of theirs: no builder can name another.
func (m *model) bringSecrets(seen observe.State) error {
	// The claim's spec was read for this call alone, but whoever reads it later should find what the tenant wrote.
	m.spec = *m.spec.DeepCopy()
	m.secrets = m.secretSet("claim-secrets", tenantPrefix, m.secretsNamespace(), corev1.SecretTypeOpaque)
	places := secretsNamed(&m.spec)
	var errs []error
	for _, p := range places {
		errs = append(errs, m.checkReach(p.field))
		m.secrets.Wanted = append(m.secrets.Wanted, tenantsecret.Wanted{Name: string(*p.name), Keys: p.keys, Fields: []string{p.field}})
	}
	m.secrets.Wanted = tenantsecret.Union(m.secrets.Wanted)
	for _, p := range places {
		*p.name = common.ObjectName(m.secrets.Target(string(*p.name)))
	}
	errs = append(errs, m.bringPullSecrets())
	m.copiesSeen = slices.ContainsFunc(seen.Names(), m.secrets.Has)
	m.pullsSeen = slices.ContainsFunc(seen.Names(), m.pull.Has)
	return errors.Join(errs...)
}

// bringPullSecrets is the same for what images are pulled with. The copies outlive the claim: databases that are retained run on, and are
// moved to other nodes.
func (m *model) bringPullSecrets() error {
	field, from := "spec.global.images.pullSecrets", m.secretsNamespace()
	g := m.spec.Global.Images
	ofClaim := g != nil && g.PullSecrets != nil
	if !ofClaim {
		field, from = "images.pullSecrets of the PlatformConfig", m.platformNamespace()
	}
	m.pull = m.secretSet("pull-secrets", pullPrefix, from, corev1.SecretTypeDockerConfigJson)
	m.pull.Keep = true
	var copies []common.ObjectName
	for _, name := range m.images.PullSecrets {
		m.pull.Wanted = append(m.pull.Wanted, tenantsecret.Wanted{
			Name: string(name), Keys: []string{corev1.DockerConfigJsonKey}, Fields: []string{field},
		})
		copies = append(copies, common.ObjectName(m.pull.Target(string(name))))
	}
	m.images.PullSecrets = copies
	switch {
	case len(copies) == 0 || m.reached():
		return nil
	case ofClaim:
		return m.checkReach(field)
	}
	return errors.New("the platform's images.pullSecrets cannot be brought to another cluster without a secret store; " +
		"the platform team has to set secretStore in the PlatformConfig, or to leave pullSecrets out")
}

// reached tells whether Secrets of this cluster can come to the workloads.
func (m *model) reached() bool { return !m.remote || m.secretStore != nil }

// checkReach refuses a Secret that cannot come to the workloads.
func (m *model) checkReach(field string) error {
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
func (m *model) secretsNamespace() string { return or(m.claim.Namespace, m.platformNamespace()) }

func (m *model) platformNamespace() string {
	return or(string(m.platform.SecretsNamespace), platformNamespace)
}

// namesSecrets and pulls tell whether there is anything to bring, or was.
func (m *model) namesSecrets() bool { return len(m.secrets.Wanted) > 0 || m.copiesSeen }

func (m *model) pulls() bool { return len(m.pull.Wanted) > 0 || m.pullsSeen }

func claimSecrets(m *model) ([]compose.Stage, error) { return m.secrets.Stages(), nil }

func pullSecrets(m *model) ([]compose.Stage, error) { return m.pull.Stages(), nil }

// copied gives the resources that make the copies which a spec names, for what comes after them.
func (m *model) copied(refs ...*common.SecretKeyReference) []string {
	var out []string
	for _, r := range refs {
		if r != nil {
			out = append(out, m.secrets.Resource(string(r.Name)))
		}
	}
	return out
}

// keystoneSecrets are the resources that make the copies which Keystone reads.
func (m *model) keystoneSecrets() []string {
	k := m.spec.Services.Keystone
	var out []string
	for _, b := range k.IdentityBackends {
		out = append(out, m.copied(b.LDAP.PasswordSecretRef, b.LDAP.CASecretRef)...)
	}
	if f := k.Federation; f != nil {
		out = append(out, m.copied(&f.ClientSecretRef)...)
	}
	return out
}
