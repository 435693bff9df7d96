package c5c3

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Grant returns a Role and its binding with the rights of the companion on named objects that are required to reconcile the given objects:
// Secrets, and the workloads that it restarts. They belong to one service, which composes the Role. Rights on objects without a predefined
// name are in Access, except for users of queues and chassis of OVN, which few services have. Rights on a name include watching it: a list
// or a watch has to select it by metadata.name
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).
func Grant(meta object.Meta, objects ...runtime.Object) (role, binding runtime.Object) {
	g := granted{read: set{}, written: set{}, rolled: map[string]set{}}
	for _, o := range objects {
		g.add(o)
		if k, ok := o.(*openstackv1.KeyRepository); ok && k.Spec.Migrate != nil {
			g.migration(k, objects)
		}
	}
	rules := g.rules()
	if slices.ContainsFunc(objects, createsQueueUsers) {
		rules = append(rules, queueUsers...)
	}
	if slices.ContainsFunc(objects, countsChassis) {
		rules = append(rules, chassisObjects...)
	}
	return roleOf(meta, rules), bindingOf(meta, meta.Name)
}

// queueUsers are rights on users of message queues, whose names are random, and on their virtual hosts. Of the Secrets of users, the
// companion has the right to create them only.
var queueUsers = []rbacv1.PolicyRule{
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"users"}, Verbs: []string{"list", "create", "update", "delete"}},
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"permissions"}, Verbs: []string{"list", "create", "delete"}},
	{APIGroups: []string{"rabbitmq.com"}, Resources: []string{"vhosts"}, Verbs: []string{"list"}},
}

func createsQueueUsers(o runtime.Object) bool {
	r, ok := o.(*c5c3v1.CredentialRotation)
	return ok && r.Spec.Queue != nil
}

// chassisObjects are rights on objects for the nodes that have registered in OVN's southbound database, where the companion finds them.
var chassisObjects = []rbacv1.PolicyRule{
	{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis"}, Verbs: []string{"list", "create", "update", "delete"}},
	{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis/status"}, Verbs: []string{"update"}},
}

func countsChassis(o runtime.Object) bool {
	r, ok := o.(*c5c3v1.RaftCluster)
	return ok && r.Spec.CountChassis
}

// workloads maps the kinds of consumers to their resource names in the API.
var workloads = map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}

type set map[string]bool

func (s set) add(name string) {
	if name != "" {
		s[name] = true
	}
}

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// granted contains names of Secrets to read, of Secrets to write, and of workloads to restart by resource.
type granted struct {
	read, written set
	rolled        map[string]set
}

// add adds the rights that the reconciliation of one object requires. It ignores objects of kinds that the companion does not reconcile.
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
	case *c5c3v1.NodeIssuer:
		if o.Spec.AuthorityNamespace == "" { // SecretReader grants the right to read one of another namespace.
			g.read.add(string(o.Spec.AuthoritySecretName))
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

// pod adds the Secrets that a pod requires to start: the companion checks that each of them exists.
func (g granted) pod(spec *corev1.PodSpec) {
	for _, r := range References(spec) {
		if r.Kind == "Secret" {
			g.read.add(r.Name)
		}
	}
}

// migration adds the Secrets of the Job that encrypts stored data again: a copy of the first container of a consumer. The API server admits
// Jobs of a companion only with Secrets that it is permitted to get.
func (g granted) migration(k *openstackv1.KeyRepository, objects []runtime.Object) {
	for _, o := range objects {
		d, ok := o.(*appsv1.Deployment)
		consumes := func(c openstackv1.Consumer) bool { return c.Kind == "Deployment" && string(c.Name) == d.Name }
		if !ok || !slices.ContainsFunc(k.Spec.Consumers, consumes) {
			continue
		}
		main := d.Spec.Template.Spec.Containers[0]
		pod := corev1.PodSpec{Containers: []corev1.Container{main}}
		for _, v := range d.Spec.Template.Spec.Volumes {
			if slices.ContainsFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }) {
				pod.Volumes = append(pod.Volumes, v)
			}
		}
		g.pod(&pod)
	}
}

func (g granted) cloud(ref common.CloudCredentialsReference) { g.read.add(string(ref.SecretName)) }

// roll adds a consumer that is a workload. It ignores a SecretAggregate, which is not restarted.
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
		if len(names) > 0 { // A rule without names would apply to all objects.
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
