package c5c3

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Grant names what the companion may read and write for the sake of objects that it reconciles: Secrets and the workloads that it rolls.
// They are the objects of one service, which composes the Role beside them; what the companion may do with things that have no name yet
// is in Access, but for users of queues and nodes of OVN, which few services have. Rights on a name include watching it, and nothing else
// of its kind: a list or a watch has to choose it by metadata.name
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).
func Grant(meta object.Meta, objects ...runtime.Object) (role, binding runtime.Object) {
	g := granted{read: set{}, written: set{}, rolled: map[string]set{}}
	for _, o := range objects {
		g.add(o)
	}
	rules := g.rules()
	if slices.ContainsFunc(objects, makesQueueUsers) {
		rules = append(rules, queueUsers...)
	}
	if slices.ContainsFunc(objects, countsChassis) {
		rules = append(rules, chassisObjects...)
	}
	return roleOf(meta, rules), bindingOf(meta, meta.Name)
}

// queueUsers are users of message queues, whose names are random, and whether the virtual hosts that they may use are there. Of the users'
// Secrets, the companion makes them and no more.
var queueUsers = []rbacv1.PolicyRule{
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"users"}, Verbs: []string{"list", "create", "update", "delete"}},
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"permissions"}, Verbs: []string{"list", "create", "delete"}},
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"vhosts"}, Verbs: []string{"list"}},
}

func makesQueueUsers(o runtime.Object) bool {
	r, ok := o.(*c5c3v1.CredentialRotation)
	return ok && r.Spec.Queue != nil
}

// chassisObjects show nodes that have registered in OVN's southbound database, whose names the companion finds there.
var chassisObjects = []rbacv1.PolicyRule{
	{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis"}, Verbs: []string{"list", "create", "update", "delete"}},
	{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis/status"}, Verbs: []string{"update"}},
}

func countsChassis(o runtime.Object) bool {
	r, ok := o.(*c5c3v1.RaftCluster)
	return ok && r.Spec.CountChassis
}

// workloads are the kinds that a consumer may be of, and what the API calls them.
var workloads = map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}

type set map[string]bool

func (s set) add(name string) {
	if name != "" {
		s[name] = true
	}
}

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// granted are names of Secrets that are read and of those that are written, too, and of workloads by their resource.
type granted struct {
	read, written set
	rolled        map[string]set
}

// add names what one object needs. An object of a kind that is not the companion's needs nothing.
func (g granted) add(o runtime.Object) {
	switch o := o.(type) {
	case *openstackv1.KeyRepository:
		g.written.add(string(o.Spec.SecretName))
		if o.Spec.Backup != nil {
			g.read.add(RestoreName(string(o.Spec.SecretName)))
		}
		for _, c := range o.Spec.Consumers {
			g.roll(c.Kind, string(c.Name))
		}
	case *openstackv1.DatabaseSync:
		g.pod(&o.Spec.Template.Spec)
	case *openstackv1.CellMapping:
		g.pod(&o.Spec.Template.Spec)
		if o.Spec.CloudCredentialsRef != nil {
			g.cloud(*o.Spec.CloudCredentialsRef)
		}
	case *openstackv1.OVNSync:
		g.pod(&o.Spec.Template.Spec)
	case *openstackv1.ComputeCatalog:
		g.cloud(o.Spec.CloudCredentialsRef)
	case *openstackv1.ServiceCheck:
		g.cloud(o.Spec.CloudCredentialsRef)
	case *openstackv1.IdentityCheck:
		g.cloud(o.Spec.CloudCredentialsRef)
	case *openstackv1.RoleAssignment:
		g.cloud(o.Spec.CloudCredentialsRef)
	case *openstackv1.EndpointRegion:
		g.cloud(o.Spec.CloudCredentialsRef)
	case *c5c3v1.SecretAggregate:
		g.written.add(string(o.Spec.TargetSecretName))
		for _, s := range o.Spec.Sources {
			g.read.add(string(s.SecretKeyRef.Name))
		}
	case *c5c3v1.RaftCluster:
		g.read.add(string(o.Spec.ClientSecretName))
	case *c5c3v1.CredentialRotation:
		g.written.add(string(o.Spec.SecretName))
		if o.Spec.CloudCredentialsRef != nil {
			g.cloud(*o.Spec.CloudCredentialsRef)
		}
		for _, c := range o.Spec.Consumers {
			g.roll(c.Kind, string(c.Name))
		}
	}
}

// pod names the Secrets without which a pod cannot start: whether they are there is asked for each of them.
func (g granted) pod(spec *corev1.PodSpec) {
	for _, r := range References(spec) {
		if r.Kind == "Secret" {
			g.read.add(r.Name)
		}
	}
}

func (g granted) cloud(ref common.CloudCredentialsReference) { g.read.add(string(ref.SecretName)) }

// roll names a consumer that is a workload. A SecretAggregate, which may be one too, is not rolled.
func (g granted) roll(kind, name string) {
	resource, ok := workloads[kind]
	if !ok {
		return
	}
	if g.rolled[resource] == nil {
		g.rolled[resource] = set{}
	}
	g.rolled[resource].add(name)
}

func (g granted) rules() []rbacv1.PolicyRule {
	all := maps.Clone(g.written)
	maps.Copy(all, g.read)
	var rules []rbacv1.PolicyRule
	name := func(group, resource string, names set, verbs ...string) {
		if len(names) > 0 { // Without a name, a rule is for all of them.
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names.sorted(), Verbs: verbs,
			})
		}
	}
	name("", "secrets", all, "get", "list", "watch")
	name("", "secrets", g.written, "update")
	for _, resource := range slices.Sorted(maps.Keys(g.rolled)) {
		name("apps", resource, g.rolled[resource], "patch")
	}
	return rules
}
