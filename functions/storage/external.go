package storage

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/ceph"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// checkPrefix is the name prefix of the Deployments that check the access of users, keyPrefix the name prefix of copies of keys.
const (
	checkPrefix = checkComponent + "-"
	keyPrefix   = "tenant-"
)

// isExternal reports whether the claim uses an external Ceph cluster, runsCeph whether it runs its own.
func (m *model) isExternal() bool { return m.spec.External != nil }
func (m *model) runsCeph() bool   { return m.spec.External == nil }

// secretsNamespace returns the namespace of the Secrets that the claim references. A composite resource without a claim belongs to the
// platform team, and so do its Secrets.
func (m *model) secretsNamespace() string {
	return cmp.Or(m.claim.Namespace, string(m.platform.SecretsNamespace))
}

// keySet copies the keys that the claim references.
func (m *model) keySet() tenantsecret.Set {
	set := tenantsecret.Set{
		Name: keysComponent, Prefix: keyPrefix, Type: corev1.SecretTypeOpaque, From: m.secretsNamespace(), Instance: m.instance,
		Labels: m.meta(keysComponent).Labels, Keep: true,
	}
	if m.spec.External == nil {
		return set
	}
	for i, c := range m.spec.External.Clients {
		set.Requests = append(set.Requests, tenantsecret.Request{
			Name: string(c.SecretRef.Name), Keys: []string{rook.UserKey}, Fields: []string{fmt.Sprintf("spec.external.clients[%d].secretRef", i)},
		})
	}
	set.Requests = tenantsecret.Union(set.Requests)
	return set
}

// checkExternal rejects users without a pool, and pool settings that only the operator of an external Ceph cluster can apply.
func (m *model) checkExternal() error {
	if m.spec.External == nil {
		return nil
	}
	const remedy = "the operator of that Ceph cluster configures this; remove it"
	var errs []error
	if len(m.spec.Consumers) > 0 {
		errs = append(errs, invalid.Field("spec.consumers", "cannot be set for an external Ceph cluster: %s", remedy))
	}
	for _, p := range m.pools {
		if p.Application != blockDevices || p.Quota != nil || p.Redundancy != (storagev1.Redundancy{}) {
			errs = append(errs, invalid.Field(p.field, "only application rbd, and no quota or redundancy, can be set here: %s", remedy))
		}
	}
	for i, c := range m.spec.External.Clients {
		if serviceOf(c.Service).caps(m.pools) == nil {
			errs = append(errs, invalid.Field(fmt.Sprintf("spec.external.clients[%d]", i), "no pool has a purpose used by %s; add one to "+
				"spec.pools, or remove the user", c.Service))
		}
	}
	return errors.Join(errs...)
}

// serviceOf returns a service by name.
func serviceOf(name storagev1.Service) service {
	return services[slices.IndexFunc(services, func(s service) bool { return s.name == name })]
}

// pools returns the names of the given pools that a service's user reads or writes.
func (s service) pools(of []pool) []string {
	var out []string
	for _, p := range of {
		if slices.Contains(s.write, p.Purpose) || slices.Contains(s.read, p.Purpose) {
			out = append(out, p.name)
		}
	}
	return out
}

// externalUsers returns the users that the claim lists.
func (m *model) externalUsers() []user {
	var out []user
	for _, c := range m.spec.External.Clients {
		name := cmp.Or(c.User, string(c.Service))
		out = append(out, user{ClientAccess: storagev1.ClientAccess{
			Service: c.Service, User: name, SecretName: m.keys.Target(string(c.SecretRef.Name)), SecretUUID: uuid(m.instance, name),
		}})
	}
	return out
}

// externalAccess returns the claim's access data of an external Ceph cluster.
func (m *model) externalAccess() storagev1.Access {
	x := m.spec.External
	out := storagev1.Access{FSID: x.FSID, Networks: x.PublicCIDRs}
	for _, a := range x.Monitors {
		out.Monitors = append(out.Monitors, storagev1.MonitorAddress(a))
	}
	return out
}

// checkScript is executed by a pod periodically.
//
//go:embed check.sh
var checkScript string

// cephUser is the user of Ceph's images.
const cephUser = 167

// check periodically verifies the access of each user, with its own key and no other rights. A failed check does not restart the pod.
func check(m *model) ([]compose.Stage, error) {
	all := m.workload(checkComponent)
	all.Component = ""
	stage := compose.Stage{
		{Name: "default-deny", Object: workload.DenyAll(m.meta("default-deny"))},
		{Name: "check-network", Object: all.NetworkPolicy(nil, []workload.Flow{ceph.Traffic(m.spec.External.PublicCIDRs)})},
	}
	for _, u := range m.externalUsers() {
		name := checkPrefix + string(u.Service)
		w := all
		w.Name, w.Component, w.Replicas, w.PullSecrets = name, string(u.Service), 1, m.pullSecrets
		w.Resources = workload.Resources("10m", "64Mi", "256Mi")
		c := corev1.Container{
			Name: checkComponent, Image: m.image, Command: []string{"sleep", "infinity"},
			Env: []corev1.EnvVar{{Name: "CEPH_USER", Value: u.User}, {Name: "FSID", Value: m.spec.External.FSID}},
			VolumeMounts: []corev1.VolumeMount{
				workload.Mount("config", "/etc/ceph"), workload.Mount("key", "/keys"),
			},
		}
		workload.Readiness(&c, workload.Exec(append([]string{"sh", "-c", checkScript, "check"}, serviceOf(u.Service).pools(m.pools)...)...))
		stage = append(stage, compose.Resource{Name: name, Ready: reachable(u), Object: w.Deployment(workload.Pod{
			UserID: cephUser, Containers: []corev1.Container{c}, GraceSeconds: new(int64),
			Volumes: []corev1.Volume{
				workload.ConfigVolume("config", accessComponent), workload.SecretVolume("key", u.SecretName, rook.UserKey),
			},
		})})
	}
	return []compose.Stage{stage}, nil
}

// reachable returns the rule of Deployments, with a message that a tenant can act on.
func reachable(u user) ready.Check {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	return func(o *observe.Object) ready.Result {
		v := rule.Check(o)
		if v.Ready {
			return v
		}
		return ready.Wait("Unreachable", "client.%s cannot open its pools: see the events of pod %s. Check that key, capabilities, fsid "+
			"and monitors match the Ceph cluster", u.User, checkPrefix+string(u.Service))
	}
}
