package infrastructure

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
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

// ComposeCache composes memcached. All clients get the same list of servers in the same order, so that they use the same server for a
// token.
func (inf *Infrastructure) ComposeCache() ([]compose.Stage, error) {
	w := inf.cacheWorkload()
	image, err := inf.cacheImage()
	if err != nil {
		return nil, err
	}
	memory := inf.CacheMemory()
	w.Resources = inf.CacheResources()
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

// CacheMemory returns the memory for items of each server.
func (inf *Infrastructure) CacheMemory() resource.Quantity {
	return *cmp.Or(inf.Spec.Infrastructure.Memcached.Memory, claim.Quantity(inf.Size.CacheMemory))
}

// CacheResources returns the resources of each server: the memory for items with its overhead, and the CPU of the claim.
func (inf *Infrastructure) CacheResources() *common.Resources {
	memory := inf.CacheMemory()
	items := memory.Value() / mebibyte
	limit := fmt.Sprintf("%dMi", items+items/memcachedShare+memcachedOverhead)
	out := claim.Resources("50m", limit, limit)
	if cpu := inf.Spec.Infrastructure.Memcached.CPU; cpu != nil {
		out.Requests.CPU = cpu
	}
	return out
}

func (inf *Infrastructure) cacheWorkload() workload.Workload {
	w := inf.Workload("memcached")
	c := inf.Spec.Infrastructure.Memcached
	w.Replicas = ptr.Deref(c.Replicas, inf.Size.Cache)
	w.Placement = c.Placement
	return w
}

// cacheImage returns the image of the claim or, by default, of the platform.
func (inf *Infrastructure) cacheImage() (string, error) {
	i := inf.Spec.Infrastructure.Memcached.Image
	if t := inf.Platform.ThirdPartyImages; i == nil && t != nil {
		i = t.Memcached
	}
	return release.ImageFor(release.Memcached, inf.Release, over(inf.Images.Registry, i))
}

// CacheServers returns the list of servers for clients.
func (inf *Infrastructure) CacheServers() []common.CacheServer {
	w := inf.cacheWorkload()
	var out []common.CacheServer
	for i := range w.Replicas {
		out = append(out, common.CacheServer(fmt.Sprintf("%s-%d.%s.%s.svc:%d", w.Name, i, w.Name, inf.Instance, memcachedPort)))
	}
	return out
}
