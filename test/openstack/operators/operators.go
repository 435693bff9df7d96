//go:build linux

package operators

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
)

// Timeout is the maximum time for any object to become ready; sufficient on a busy machine.
var Timeout = 6 * time.Minute

// Operators are the owners of the objects of a cluster.
type Operators struct {
	Cluster *cluster.Cluster
	// Public is the publicly trusted CA: it signs for ClusterIssuers, the Gateway and external hosts.
	Public *pki.Authority
	// Trusted are additional CAs that RabbitMQ's topology operator trusts, as its Deployment mounts them: for external
	// brokers.
	Trusted         []byte
	mariaDBOperator string // the program of hack/tools/mariadb-operator

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // everything applied, by kind, namespace and name
	routes  map[string]*route                     // of the Gateway, by host name
	skew    atomic.Int64                          // of the companion's clock, in nanoseconds

	requests    sync.Once // serves CertificateSigningRequests
	requestsErr error
}

// New returns the operators of a cluster and starts the companion's controllers. MariaDBOperator is the program of
// hack/tools/mariadb-operator.
func New(ctx context.Context, c *cluster.Cluster, public *pki.Authority, mariaDBOperator string) *Operators {
	o := &Operators{
		Cluster: c, Public: public, mariaDBOperator: mariaDBOperator,
		objects: map[string]*unstructured.Unstructured{}, routes: map[string]*route{},
	}
	o.companion(ctx)
	return o
}

// An owner reconciles the objects of a kind until they are ready.
type owner struct {
	kind      string
	reconcile func(*Operators, context.Context, *unstructured.Unstructured) error
}

// owners in the order in which they reconcile objects that appear together. Owners without a function have nothing to
// do here, or others read their objects; an unlisted kind is rejected.
var owners = []owner{
	{"Namespace", nil},
	{"ServiceAccount", nil},
	{"Role.rbac.authorization.k8s.io", nil},
	{"RoleBinding.rbac.authorization.k8s.io", nil},
	{"NetworkPolicy.networking.k8s.io", nil},
	{"ClusterRoleBinding.rbac.authorization.k8s.io", nil},
	{"CephCluster.ceph.rook.io", (*Operators).unsupported},
	{"CephBlockPool.ceph.rook.io", (*Operators).unsupported},
	{"CephClient.ceph.rook.io", (*Operators).unsupported},
	{"CephFilesystem.ceph.rook.io", (*Operators).unsupported},
	{"CephNFS.ceph.rook.io", (*Operators).unsupported},
	{"CephRBDMirror.ceph.rook.io", (*Operators).unsupported},
	{"StorageClass.storage.k8s.io", (*Operators).unsupported},
	{"CephObjectStore.ceph.rook.io", (*Operators).unsupported},
	{"PodDisruptionBudget.policy", nil},
	{"ValidatingWebhookConfiguration.admissionregistration.k8s.io", nil},
	{"Ingress.networking.k8s.io", (*Operators).unsupported},
	{"Usage.protection.crossplane.io", nil},
	// Kinds of a WorkloadCluster: a cloud of this suite has no other cluster.
	{"ProviderConfig.kubernetes.crossplane.io", (*Operators).unsupported},
	{"ClusterProviderConfig.kubernetes.m.crossplane.io", (*Operators).unsupported},
	{"ClusterCheck.c5c3.io", (*Operators).unsupported},
	{"ServiceMonitor.monitoring.coreos.com", nil},
	{"PodMonitor.monitoring.coreos.com", nil},
	{"PrometheusRule.monitoring.coreos.com", nil},
	{"PushSecret.external-secrets.io", (*Operators).unsupported},
	{"Password.generators.external-secrets.io", nil},
	{"Issuer.cert-manager.io", nil},
	{"SecretStore.external-secrets.io", nil},
	{"ExternalSecret.external-secrets.io", (*Operators).externalSecret},
	{"Certificate.cert-manager.io", (*Operators).certificate},
	{"ConfigMap", (*Operators).configMap},
	{"CredentialRotation.c5c3.io", (*Operators).credentialRotation},
	{"SecretAggregate.c5c3.io", (*Operators).secretAggregate},
	{"NodeIssuer.c5c3.io", (*Operators).nodeIssuer},
	{"RaftCluster.c5c3.io", (*Operators).raftCluster},
	{"RemoteConsumer.c5c3.io", (*Operators).remoteConsumer},
	{"Service", (*Operators).apply},
	{"PersistentVolumeClaim", nil}, // a folder, made with the first pod
	{"StatefulSet.apps", (*Operators).statefulSet},
	{"DaemonSet.apps", (*Operators).daemonSet},
	{"MariaDB.k8s.mariadb.com", (*Operators).mariaDB},
	{"ExternalMariaDB.k8s.mariadb.com", (*Operators).externalMariaDB},
	{"RabbitmqCluster.rabbitmq.com", (*Operators).rabbitMQ},
	{"Vhost.rabbitmq.com", (*Operators).vhost},
	{"Policy.rabbitmq.com", (*Operators).policy},
	{"User.rabbitmq.com", (*Operators).brokerUser},
	{"Permission.rabbitmq.com", (*Operators).permission},
	{"Valkey.cache.cs.sap.com", (*Operators).valkey},
	{"MaxScale.k8s.mariadb.com", (*Operators).maxScale},
	{"PhysicalBackup.k8s.mariadb.com", (*Operators).physicalBackup},
	{"Database.k8s.mariadb.com", (*Operators).database},
	{"User.k8s.mariadb.com", (*Operators).databaseUser},
	{"Grant.k8s.mariadb.com", (*Operators).grant},
	{"KeyRepository.openstack.c5c3.io", (*Operators).keyRepository},
	{"DatabaseSync.openstack.c5c3.io", (*Operators).databaseSync},
	{"CellMapping.openstack.c5c3.io", (*Operators).cellMapping},
	{"Job.batch", (*Operators).job},
	{"CronJob.batch", (*Operators).apply},
	{"Deployment.apps", (*Operators).deployment},
	{"BackendTLSPolicy.gateway.networking.k8s.io", nil},
	{"HTTPRoute.gateway.networking.k8s.io", (*Operators).httpRoute},
	{"Domain.openstack.k-orc.cloud", (*Operators).domain},
	{"Project.openstack.k-orc.cloud", (*Operators).project},
	{"Role.openstack.k-orc.cloud", (*Operators).role},
	{"Group.openstack.k-orc.cloud", (*Operators).group},
	{"User.openstack.k-orc.cloud", (*Operators).user},
	{"Service.openstack.k-orc.cloud", (*Operators).service},
	{"Endpoint.openstack.k-orc.cloud", (*Operators).endpoint},
	{"EndpointRegion.openstack.c5c3.io", (*Operators).endpointRegion},
	{"IdentityCheck.openstack.c5c3.io", (*Operators).identityCheck},
	{"RoleAssignment.openstack.c5c3.io", (*Operators).roleAssignment},
	{"ServiceCheck.openstack.c5c3.io", (*Operators).serviceCheck},
	{"ComputeCatalog.openstack.c5c3.io", (*Operators).computeCatalog},
	{"OVNSync.openstack.c5c3.io", (*Operators).ovnSync},
	{"TestReport.openstack.c5c3.io", (*Operators).apply},
}

// unsupported rejects kinds without an owner here: they would never become ready.
func (*Operators) unsupported(context.Context, *unstructured.Unstructured) error {
	return errors.New("its owner does not run here; change the claim")
}

// Reconcile applies new and changed objects, and waits until they are ready.
func (o *Operators) Reconcile(ctx context.Context, desired []map[string]any) error {
	byKind := map[string][]*unstructured.Unstructured{}
	for _, m := range desired {
		u := &unstructured.Unstructured{Object: m}
		kind := u.GroupVersionKind().GroupKind().String()
		if !slices.ContainsFunc(owners, func(o owner) bool { return o.kind == kind }) {
			return fmt.Errorf("no owner for %s %s: add an owner of %s to the table of test/openstack/operators",
				u.GetKind(), u.GetName(), kind)
		}
		byKind[kind] = append(byKind[kind], u)
		o.mu.Lock()
		if before, ok := o.objects[key(kind, u.GetNamespace(), u.GetName())]; ok && before.Object["status"] != nil {
			u.Object["status"] = before.Object["status"]
		}
		o.objects[key(kind, u.GetNamespace(), u.GetName())] = u
		o.mu.Unlock()
	}
	for _, owner := range owners {
		for _, u := range byKind[owner.kind] {
			if owner.reconcile == nil {
				continue
			}
			fmt.Fprintf(o.Cluster.Progress, "operators: %s %s\n", u.GetKind(), u.GetName())
			if err := owner.reconcile(o, ctx, u.DeepCopy()); err != nil {
				return fmt.Errorf("%s %s does not become ready: %w", u.GetKind(), u.GetName(), err)
			}
		}
	}
	return nil
}

// Remove deletes objects that are no longer desired, with the resources that K-ORC is to delete in Keystone and their
// pods. The resource of an operator's object, such as a database, stays.
func (o *Operators) Remove(ctx context.Context, removed []map[string]any) error {
	for _, m := range removed {
		u := &unstructured.Unstructured{Object: m}
		kind := u.GroupVersionKind().GroupKind().String()
		o.mu.Lock()
		at := key(kind, u.GetNamespace(), u.GetName())
		if known, ok := o.objects[at]; ok {
			u = known
		}
		delete(o.objects, at)
		o.mu.Unlock()
		fmt.Fprintf(o.Cluster.Progress, "operators: removes %s %s\n", u.GetKind(), u.GetName())
		var err error
		switch gvk := u.GroupVersionKind(); {
		case gvk.Group == "openstack.k-orc.cloud":
			err = o.forget(ctx, u)
		case gvk.Kind == "HTTPRoute":
			o.withdraw(routeOwner(u), nil)
		case o.Cluster.Client.Scheme().Recognizes(gvk):
			err = o.Cluster.Delete(ctx, u)
		}
		if err != nil {
			return fmt.Errorf("cannot remove %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

func key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// Find returns the last desired version of an object: "Kind.group", namespace and name.
func (o *Operators) Find(kind, namespace, name string) (*unstructured.Unstructured, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u, ok := o.objects[key(kind, namespace, name)]
	if !ok {
		return nil, fmt.Errorf("there is no %s %s in namespace %s", kind, name, namespace)
	}
	return u, nil
}

// All returns every object of a kind, by name.
func (o *Operators) All(kind string) []*unstructured.Unstructured {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, k := range slices.Sorted(maps.Keys(o.objects)) {
		if strings.HasPrefix(k, kind+"/") {
			out = append(out, o.objects[k])
		}
	}
	return out
}

// typed converts an object to its Go type, strictly: an unknown field is an error.
func (o *Operators) typed(u *unstructured.Unstructured) (client.Object, error) {
	created, err := o.Cluster.Client.Scheme().New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, created, true); err != nil {
		return nil, err
	}
	object, ok := created.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", created)
	}
	return object, nil
}

// Apply writes an object of a kind with a Go type, without waiting.
func (o *Operators) Apply(ctx context.Context, u *unstructured.Unstructured) error {
	return o.apply(ctx, u)
}

func (o *Operators) apply(ctx context.Context, u *unstructured.Unstructured) error {
	defaulted, err := withDefaults(u)
	if err != nil {
		return err
	}
	object, err := o.typed(defaulted)
	if err != nil {
		return err
	}
	return o.Cluster.Apply(ctx, object)
}

// withDefaults returns an object of a kind of this project with the defaults of its schema, which the API server sets: without them, a
// rotation has no interval, and every credential is due. Objects of other kinds are returned unchanged.
func withDefaults(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if _, _, err := definition.For(u.GetAPIVersion(), u.GetKind()); err != nil {
		return u, nil //nolint:nilerr // a kind of Kubernetes or of an operator
	}
	v, err := definition.Validator(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	out := u.DeepCopy()
	v.Default(out.Object)
	return out, nil
}

// Secret returns the entries of a Secret.
func (o *Operators) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	s := &corev1.Secret{}
	if err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		return nil, fmt.Errorf("cannot read Secret %s: %w", name, err)
	}
	return s.Data, nil
}

// SetSecret writes a Secret.
func (o *Operators) SetSecret(ctx context.Context, namespace, name string, data map[string][]byte) error {
	return o.Cluster.Apply(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

func texts(u *unstructured.Unstructured, path ...string) []string {
	s, _, _ := unstructured.NestedStringSlice(u.Object, path...)
	return s
}
