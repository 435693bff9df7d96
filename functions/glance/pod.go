package glance

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Volumes of each pod, and their folders.
const (
	staging     = "staging"
	cache       = "cache"
	stagingPath = "/var/lib/glance/" + staging
	cachePath   = "/var/lib/glance/" + cache
)

// scratch is the limit of incoming data on a pod's node. The kubelet evicts a pod that exceeds it.
var scratch = resource.MustParse("50Gi")

// addUploadVolumes adds volumes for staged and cached images to each pod, and its host name: pods request staged images from each other.
// They verify each other's certificate with the default CAs of the requests library.
// https://docs.openstack.org/glance/latest/admin/interoperable-image-import.html#staging-directory-configuration
func (m *model) addUploadVolumes(x *service.Extension, observed observe.State) error {
	capacity := service.Volume{Volume: corev1.Volume{Name: staging}, Folder: stagingPath, Writable: true}
	var claims []workload.Claim
	if v := m.spec.Import.Staging; v != nil {
		claims = append(claims, claim(staging, v))
	} else {
		capacity.Volume = workload.Scratch(staging, scratch)
	}
	authority := m.ServerCA()
	peerAuthority := m.SecretVolume("peers", string(authority.Name), string(authority.Key))
	x.API.Volumes = append(x.API.Volumes, capacity, peerAuthority)
	if c := m.spec.ImageCache; c != nil {
		claims = append(claims, claim(cache, &c.Volume))
		x.API.Volumes = append(x.API.Volumes, service.Volume{Volume: corev1.Volume{Name: cache}, Folder: cachePath, Writable: true})
		x.API.Server.Upkeep = "glance-cache-pruner" // The API only adds to its cache: https://docs.openstack.org/glance/latest/admin/cache.html
	}
	x.API.Env = append(workload.Self(),
		corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "worker_self_reference_url"), Value: m.Workload.SelfURL(m.Port)},
		corev1.EnvVar{Name: "REQUESTS_CA_BUNDLE", Value: peerAuthority.Folder + "/" + string(authority.Key)})
	x.Network.Egress = []workload.Flow{{Pods: m.Workload.Selector(), Ports: []int32{m.Port}}}
	var err error
	x.API.Claims, err = m.VolumeClaims(observed, claims...)
	return err
}

// claim returns a volume claim of each pod. Staged data has no other copy yet.
func claim(name string, v *glancev1.Volume) workload.Claim {
	return workload.Claim{
		Name: name, Size: resource.MustParse(string(v.StorageSize)), Class: string(v.StorageClass), Disposable: name == cache,
	}
}
