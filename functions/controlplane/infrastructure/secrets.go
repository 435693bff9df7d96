package infrastructure

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Prefixes of the names of copied Secrets, which no other resources use.
const (
	tenantPrefix       = "tenant-"
	claimPullPrefix    = "claim-pull-"
	platformPullPrefix = "platform-pull-"
)

// Copies are the copies of Secrets in the instance.
type Copies struct {
	// Secrets are the Secrets in the claim, Pull the pull secrets of images: the platform's, and the claim's.
	Secrets tenantsecret.Set
	Pull    []tenantsecret.Set
	// PlatformPull are the copies of the platform's own pull secrets.
	PlatformPull []common.ObjectName
	// copiesObserved and pullsObserved report whether copies of the Secrets exist already.
	copiesObserved, pullsObserved bool
}

// deriveCopies selects the Secrets to copy to the instance. The returned claim contains the names of the copies in place of the names of
// the Secrets, so that builders can only use copies.
func deriveCopies(
	c *claim.Claim, secretsNamed func(*controlplanev1.ControlPlaneClusterSpec) []claim.SecretReference,
) (*claim.Claim, Copies, error) {
	out := *c
	// Deep copy, because other readers of the claim's spec expect the names that the tenant set.
	out.Spec = *c.Spec.DeepCopy()
	secrets := c.SecretSet("claim-secrets", tenantPrefix, c.SecretsNamespace(), corev1.SecretTypeOpaque)
	references := secretsNamed(&out.Spec)
	var errs []error
	for _, p := range references {
		errs = append(errs, c.CheckSecretReachable(p.Field))
		secrets.Requests = append(secrets.Requests, tenantsecret.Request{Name: string(*p.Name), Keys: p.Keys, Fields: []string{p.Field}})
	}
	secrets.Requests = tenantsecret.Union(secrets.Requests)
	for _, p := range references {
		*p.Name = common.ObjectName(secrets.Target(string(*p.Name)))
	}
	copies := Copies{Secrets: secrets}
	var err error
	copies.Pull, copies.PlatformPull, out.Images.PullSecrets, err = derivePullSecrets(c)
	copies.copiesObserved = slices.ContainsFunc(c.Observed.Names(), secrets.Has)
	copies.pullsObserved = slices.ContainsFunc(copies.Pull, func(s tenantsecret.Set) bool {
		return slices.ContainsFunc(c.Observed.Names(), s.Has)
	})
	return &out, copies, errors.Join(append(errs, err)...)
}

// derivePullSecrets does the same for pull secrets. The platform's are always used for workloads with permissions of the platform; the
// claim's replace them for all other workloads. The copies outlive the claim: retained databases keep running, and may be rescheduled to
// other nodes.
func derivePullSecrets(c *claim.Claim) (sets []tenantsecret.Set, platformCopies, copies []common.ObjectName, err error) {
	const field = "spec.global.images.pullSecrets"
	var ofPlatform, ofClaim []common.ObjectName
	if i := c.Platform.Images; i != nil {
		ofPlatform = i.PullSecrets
	}
	if i := c.Spec.Global.Images; i != nil {
		ofClaim = i.PullSecrets
	}
	const platformField = "images.pullSecrets of the PlatformConfig"
	platformSet := pullSet(c, "platform-pull-secrets", platformPullPrefix, c.PlatformNamespace(), platformField, ofPlatform)
	claimSet := pullSet(c, "claim-pull-secrets", claimPullPrefix, c.SecretsNamespace(), field, ofClaim)
	platformCopies = copiesOf(platformSet, ofPlatform)
	copies = platformCopies
	if len(ofClaim) > 0 {
		copies = copiesOf(claimSet, ofClaim)
	}
	switch {
	case c.Reached():
	case len(ofClaim) > 0:
		err = c.CheckSecretReachable(field)
	case len(ofPlatform) > 0:
		err = errors.New("images.pullSecrets of the platform cannot be copied to another cluster without a secret store; " +
			"the platform team must set secretStore in the PlatformConfig, or remove pullSecrets")
	}
	return []tenantsecret.Set{platformSet, claimSet}, platformCopies, copies, err
}

// pullSet returns a set of pull secrets.
func pullSet(c *claim.Claim, name, prefix, from, field string, secrets []common.ObjectName) tenantsecret.Set {
	s := c.SecretSet(name, prefix, from, corev1.SecretTypeDockerConfigJson)
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

// NamesSecrets reports whether there are Secrets to copy, or copies to remove.
func (inf *Infrastructure) NamesSecrets() bool {
	return len(inf.Secrets.Requests) > 0 || inf.copiesObserved
}

// Pulls reports whether there are pull secrets to copy, or copies to remove.
func (inf *Infrastructure) Pulls() bool {
	return inf.pullsObserved || slices.ContainsFunc(inf.Pull, func(s tenantsecret.Set) bool { return len(s.Requests) > 0 })
}

// ComposeSecrets composes the copies of the Secrets in the claim.
func (inf *Infrastructure) ComposeSecrets() ([]compose.Stage, error) {
	return inf.Secrets.Stages(), nil
}

// ComposePullSecrets composes both sets in parallel.
func (inf *Infrastructure) ComposePullSecrets() ([]compose.Stage, error) {
	return tenantsecret.Parallel(inf.Pull), nil
}

// sourceOf returns the source of a Secret of the claim, by the name of its copy, for objects outside of the workload cluster.
func (inf *Infrastructure) sourceOf(name common.ObjectName) secret.Source {
	i := slices.IndexFunc(inf.Secrets.Requests, func(w tenantsecret.Request) bool { return inf.Secrets.Target(w.Name) == string(name) })
	return inf.Secrets.Source(inf.Secrets.Requests[i].Name)
}

// authority composes a Secret that contains only the CA certificate of a Secret of the claim: pods use it to verify an external service,
// without access to its administrator credentials.
func (inf *Infrastructure) authority(resource, name string, of common.SecretKeyReference) compose.Resource {
	return compose.Resource{
		Name: resource, Object: certificate.CABundleSecret(inf.Meta(name), inf.sourceOf(of.Name), string(of.Key)), After: inf.copied(&of),
	}
}

// copied returns the resources that copy the referenced Secrets, as dependencies of other resources.
func (inf *Infrastructure) copied(refs ...*common.SecretKeyReference) []string {
	var out []string
	for _, r := range refs {
		if r != nil {
			out = append(out, inf.Secrets.Resource(string(r.Name)))
		}
	}
	return out
}
