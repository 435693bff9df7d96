package infrastructure

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

const (
	// cacheName is the name of the shared cache, and of the program of all caches.
	cacheName     = "memcached"
	memcachedPort = common.CachePort
	// memcachedUser is the UID of the public image.
	memcachedUser = 11211
	// memcachedOverhead is the memory that a server needs in addition to items, in MiB. memcachedShare adds 1/8 of the memory of items: -m
	// limits items only, and neither the hash table nor connections (https://docs.memcached.org/serverguide/hardware/).
	memcachedOverhead = 64
	memcachedShare    = 8
	mebibyte          = 1 << 20
)

// Cache is a set of memcached servers with its clients.
type Cache struct {
	name string
	// memory for items of each server.
	memory resource.Quantity
}

// SharedCache returns the cache of all services without a cache that only they use.
func (inf *Infrastructure) SharedCache() Cache {
	return Cache{name: cacheName, memory: inf.CacheMemory()}
}

// ServiceCache returns the cache that only one service uses, with half of the memory. No other service can remove its entries.
func (inf *Infrastructure) ServiceCache(service string) Cache {
	shared := inf.CacheMemory()
	memory := max(shared.Value()/2, minimum.Memory(minimum.Memcached))
	return Cache{name: cacheName + "-" + service, memory: *resource.NewQuantity(memory, resource.BinarySI)}
}

// CacheMemory returns the memory for items of each server of the shared cache.
func (inf *Infrastructure) CacheMemory() resource.Quantity {
	return *cmp.Or(inf.Spec.Infrastructure.Memcached.Memory, claim.Quantity(inf.Size.CacheMemory))
}

// ComposeCache composes the servers of a cache for clients, which are names of services. All clients get the same list of servers in the
// same order, so that they use the same server for a key.
func (inf *Infrastructure) ComposeCache(c Cache, clients []string) (compose.Stage, error) {
	w := inf.cacheWorkload(c)
	image, err := inf.cacheImage()
	if err != nil {
		return nil, err
	}
	w.Resources = inf.CacheResources(c)
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("memcached")}}}
	set := w.StatefulSet(workload.Pod{
		UserID: memcachedUser,
		Containers: []corev1.Container{{
			Name:           cacheName,
			Image:          image,
			Args:           []string{"-m", fmt.Sprint(c.memory.Value() / mebibyte), "-c", "4096", "-I", "2m"},
			Ports:          []corev1.ContainerPort{{Name: "memcached", ContainerPort: memcachedPort}},
			LivenessProbe:  probe,
			ReadinessProbe: probe,
		}},
	})
	// memcached does not authenticate clients.
	from := workload.Flow{Ports: []int32{memcachedPort}, Expressions: []metav1.LabelSelectorRequirement{
		{Key: "app.kubernetes.io/name", Operator: metav1.LabelSelectorOpIn, Values: clients},
	}}
	return compose.Stage{
		{Name: c.name, Object: set},
		{Name: c.name + "-service", Object: w.HeadlessService(workload.Port("memcached", memcachedPort))},
		{Name: c.name + "-disruption-budget", Object: w.DisruptionBudget()},
		{Name: c.name + "-network-policy", Object: w.NetworkPolicy([]workload.Flow{from}, nil)},
	}, nil
}

// CacheResources returns the resources of each server: the memory for items with its overhead, and the CPU of the claim.
func (inf *Infrastructure) CacheResources(c Cache) *common.Resources {
	items := c.memory.Value() / mebibyte
	limit := fmt.Sprintf("%dMi", items+items/memcachedShare+memcachedOverhead)
	out := claim.Resources("50m", limit, limit)
	if cpu := inf.Spec.Infrastructure.Memcached.CPU; cpu != nil {
		out.Requests.CPU = cpu
	}
	return out
}

func (inf *Infrastructure) cacheWorkload(c Cache) workload.Workload {
	w := inf.Workload(c.name)
	w.App = cacheName
	w.Replicas = inf.CacheReplicas()
	w.Placement = inf.Spec.Infrastructure.Memcached.Placement
	return w
}

// CacheReplicas returns the number of servers of each cache.
func (inf *Infrastructure) CacheReplicas() int32 {
	return ptr.Deref(inf.Spec.Infrastructure.Memcached.Replicas, inf.Size.Cache)
}

// cacheImage returns the image of the claim or, by default, of the platform.
func (inf *Infrastructure) cacheImage() (string, error) {
	i := inf.Spec.Infrastructure.Memcached.Image
	if t := inf.Platform.ThirdPartyImages; i == nil && t != nil {
		i = t.Memcached
	}
	return release.ImageFor(release.Memcached, inf.Release, over(inf.Images.Registry, i))
}

// CacheServers returns the list of servers of a cache for its clients.
func (inf *Infrastructure) CacheServers(c Cache) []common.CacheServer {
	w := inf.cacheWorkload(c)
	var out []common.CacheServer
	for i := range w.Replicas {
		out = append(out, common.CacheServer(fmt.Sprintf("%s-%d.%s.%s.svc:%d", w.Name, i, w.Name, inf.Instance, memcachedPort)))
	}
	return out
}
