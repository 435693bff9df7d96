package controlplane

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// Names of composed resources that other parts reference.
const (
	namespaceResource = "namespace"
	// workloadNamespaceResource is the namespace in another cluster, for a control plane whose pods run there.
	workloadNamespaceResource = "workload-namespace"
	databaseResource          = "database"
	rootSecretResource        = "database-root-secret"
	rootGeneratorResource     = "database-root-generator"
	proxyResource             = "database-proxy"
	messagingResource         = "messaging"
	locksResource             = "locks"
)

const (
	memcachedPort = common.CachePort
	// memcachedUser is the UID of the public image.
	memcachedUser = 11211
	// memcachedOverhead is the memory that a server needs in addition to items, in MiB. memcachedShare adds 1/8 of the memory of items: -m
	// limits items only, and neither the hash table nor connections (https://docs.memcached.org/serverguide/hardware/).
	memcachedOverhead = 64
	memcachedShare    = 8
	mebibyte          = 1 << 20
)

// namespace composes the namespace of this control plane: in the management cluster, and in the workload cluster if that is another one. It
// is retained, because the deletion of a Namespace deletes all objects in it.
func namespace(m *model) ([]compose.Stage, error) {
	ns := func() *corev1.Namespace {
		return &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name: m.instance,
				Labels: map[string]string{
					admission.InstanceLabel:              admission.InstanceLabelValue,
					"pod-security.kubernetes.io/enforce": m.podSecurity(),
					"pod-security.kubernetes.io/warn":    "restricted",
					"pod-security.kubernetes.io/audit":   "restricted",
				},
				Annotations: m.namespaceAnnotations(),
			},
		}
	}
	stage := compose.Stage{{Name: namespaceResource, Object: ns(), Retain: true, Management: true}}
	if m.remote {
		stage = append(stage, compose.Resource{Name: workloadNamespaceResource, Object: ns(), Retain: true})
	}
	return []compose.Stage{stage}, nil
}

// namespaceAnnotations returns the owner of the namespace, and the store and path that the companion may use with External Secrets. The
// chart's admission policies read them, and permit only the provider to write them.
func (m *model) namespaceAnnotations() map[string]string {
	out := map[string]string{admission.ClaimAnnotation: m.claim.Namespace + "/" + m.claim.Name}
	if s := m.secretStore; s != nil {
		out[admission.StoreAnnotation] = cmp.Or(s.Kind, "ClusterSecretStore") + "/" + string(s.Name)
		out[admission.PathAnnotation] = secret.Path(*s, m.instance)
	}
	return out
}

// podSecurity returns the enforced Pod Security Standard. A rejected pod would make a database unavailable, so it is restricted only if all
// pods were admitted with it on a real node. These were not:
//   - members of a Galera cluster. The operator's init container has no security context unless its image is set: the operator's own;
//   - MaxScale, whose user the operator selects by its image, and only if no other security context of the pod is set;
//   - Valkey, whose operator was not run there;
//   - pods with shares of an NFS server mounted by the node, which that standard does not permit.
func (m *model) podSecurity() string {
	if m.databaseReplicas() > 1 || m.proxy.replicas > 0 || m.locks() {
		return "baseline"
	}
	for _, s := range m.services {
		if s.unrestricted != nil && s.unrestricted(&m.spec.Services) {
			return "baseline"
		}
		if slices.ContainsFunc(m.databasesOf(s), func(d databaseServer) bool { return d.members > 1 }) {
			return "baseline"
		}
	}
	return "restricted"
}

// certificates composes the control plane's own certificate authority for endpoints inside the cluster.
func certificates(m *model) ([]compose.Stage, error) {
	const selfSigned = "self-signed"
	return []compose.Stage{{
		{Name: "self-signed-issuer", Object: certificate.SelfSigned(m.meta(selfSigned))},
		{Name: "authority", Object: certificate.Authority(m.meta(internalCA), selfSigned), Retain: true},
		{Name: "issuer", Object: certificate.CAIssuer(m.meta(internalCA), internalCA)},
	}}, nil
}

// companionController composes the companion, which performs the tasks that require state, randomness or a running service.
func companionController(m *model) ([]compose.Stage, error) {
	w, image, err := m.ofThePlatform(release.Companion)
	if err != nil {
		return nil, err
	}
	var prometheus []string
	if m.monitoring.Enabled {
		prometheus = workload.Names(m.neighbours.Monitoring)
	}
	names := []string{"companion-account", "companion-role", "companion-role-binding"}
	var access compose.Stage
	for i, o := range c5c3.Access(w) {
		access = append(access, compose.Resource{Name: names[i], Object: o})
	}
	run := compose.Stage{
		{Name: "companion", Object: c5c3.Deployment(w, image)},
		{Name: "companion-service", Object: c5c3.Service(w)},
		{Name: "companion-disruption-budget", Object: w.DisruptionBudget()},
		{Name: "companion-network-policy", Object: c5c3.Network(
			w, prometheus, m.neighbours.APIServerPorts, m.companionEgressPorts(), m.visited()...)},
	}
	return []compose.Stage{access, run}, nil
}

// cache composes memcached. All clients get the same list of servers in the same order, so that they use the same server for a token.
func cache(m *model) ([]compose.Stage, error) {
	w := m.cacheWorkload()
	image, err := m.cacheImage()
	if err != nil {
		return nil, err
	}
	memory := m.cacheMemory()
	w.Resources = cacheResources(memory)
	if q := m.spec.Infrastructure.Memcached.CPU; q != nil {
		w.Resources.Requests.CPU = q
	}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("memcached")}}}
	set := w.StatefulSet(workload.Pod{
		UserID: memcachedUser,
		Containers: []corev1.Container{{
			Name:           "memcached",
			Image:          image,
			Args:           []string{"-m", fmt.Sprint(memory.Value() / mebibyte), "-c", "4096", "-I", "2m"},
			Ports:          []corev1.ContainerPort{{Name: "memcached", ContainerPort: memcachedPort}},
			LivenessProbe:  probe,
			ReadinessProbe: probe,
		}},
	})
	return []compose.Stage{{
		{Name: "memcached", Object: set},
		{Name: "memcached-service", Object: w.HeadlessService(workload.Port("memcached", memcachedPort))},
		{Name: "memcached-disruption-budget", Object: w.DisruptionBudget()},
		// memcached does not authenticate clients, so only the control plane's own pods may connect.
		{Name: "memcached-network-policy", Object: w.NetworkPolicy([]workload.Flow{{Ports: []int32{memcachedPort}}}, nil)},
	}}, nil
}

func (m *model) cacheMemory() resource.Quantity {
	return *cmp.Or(m.spec.Infrastructure.Memcached.Memory, quantity(m.size.cacheMemory))
}

// cacheResources returns the resources of a server with this memory for items.
func cacheResources(memory resource.Quantity) *common.Resources {
	items := memory.Value() / mebibyte
	limit := fmt.Sprintf("%dMi", items+items/memcachedShare+memcachedOverhead)
	return resources("50m", limit, limit)
}

func (m *model) cacheWorkload() workload.Workload {
	w := m.workload("memcached")
	c := m.spec.Infrastructure.Memcached
	w.Replicas = ptr.Deref(c.Replicas, m.size.cache)
	w.Placement = c.Placement
	return w
}

// cacheImage returns the image of the claim or, by default, of the platform.
func (m *model) cacheImage() (string, error) {
	i := m.spec.Infrastructure.Memcached.Image
	if t := m.platform.ThirdPartyImages; i == nil && t != nil {
		i = t.Memcached
	}
	return release.ImageFor(release.Memcached, m.release, over(m.images.Registry, i))
}

// cacheServers returns the list of servers for clients.
func (m *model) cacheServers() []common.CacheServer {
	w := m.cacheWorkload()
	var out []common.CacheServer
	for i := range w.Replicas {
		out = append(out, common.CacheServer(fmt.Sprintf("%s-%d.%s.%s.svc:%d", w.Name, i, w.Name, m.instance, memcachedPort)))
	}
	return out
}
