package hypervisor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

const (
	// storageComponent prepares nova-compute for disks of servers in a pool of a StorageCluster.
	storageComponent = "storage"
	// storageField is the path of the claim's reference to the pool. No Cinder backend has this name.
	storageField = "spec." + storageComponent
)

// Names of the copy of the pool user's key, and its folder in nova-compute. A rotated key is read with the next connection.
const (
	diskKeysName  = "storage-secrets"
	diskKeyPrefix = "storage-key-"
	diskKeyVolume = "storage-key"
	diskKeyFolder = loginsFolder + "/storage"
	diskKeyFile   = diskKeyFolder + "/" + rook.UserKey
	cephFile      = "ceph.conf"
)

// diskUse is the known state of the Ceph pool with the disks of servers.
type diskUse struct {
	// client describes access to the pool. Nil: no pool is used, or its state is unknown and nova-compute does not exist.
	client *common.StorageClient
	// cluster is the provider config of the Ceph cluster's cluster.
	cluster string
	// waits is the reason for waiting, in a sentence. Empty: none.
	waits string
}

// findDisks resolves access to the pool as the Ceph user of the control plane's Nova. The control plane has allowed this claim; otherwise
// its state would be unknown here. While the StorageCluster publishes no state, or no longer to this claim, the last known state is used.
func (m *model) findDisks(required reference.Required) error {
	existing, pooled := m.pooled()
	pool := m.spec.Storage
	if existing && (pool != nil) != pooled {
		return m.checkDisksUnmoved()
	}
	if pool == nil {
		return nil
	}
	previous := m.previous.Storage
	if previous != nil && previous.Ref != storagepool.Ref(*pool) {
		if existing {
			return m.checkDisksUnmoved()
		}
		previous = nil
	}
	client, waiting, err := storagepool.Find(required, storagepool.User{
		Namespace: m.claim.Namespace, ControlPlane: m.spec.ControlPlaneRef, Service: storagev1.ServiceNova,
	}, storageField, *pool)
	switch {
	case client != nil:
		client.Name = storageComponent
	case previous != nil && (err == nil || invalid.Is(err)):
		if client = previous; err != nil {
			waiting = err.Error()
		}
	case err != nil:
		return err
	case existing:
		return invalid.Field(storageField, "%s; the previous configuration stays in effect until then", waiting)
	}
	m.disks = diskUse{client: client, waits: waiting}
	if client == nil {
		return nil
	}
	m.disks.cluster, err = platform.ClusterOf(m.platform, "the StorageCluster", client.Cluster)
	return err
}

// checkDisksUnmoved returns the error for a change of the location of disks.
func (m *model) checkDisksUnmoved() error {
	return invalid.Field(storageField, "storage is immutable: existing disks of servers cannot be moved; restore "+
		"the previous value, and create another HypervisorCluster")
}

// pooled reports whether pods of nova-compute exist, and whether their disks are in a Ceph pool.
func (m *model) pooled() (existing, pooled bool) {
	for _, name := range m.observed.Names() {
		o, _ := m.observed.Get(name)
		if o.Kind() != "DaemonSet" || !strings.HasPrefix(name, computeComponent) {
			continue
		}
		return true, slices.ContainsFunc(o.List("spec", "template", "spec", "volumes"), func(v any) bool {
			volume, _ := v.(map[string]any)
			return volume["name"] == diskKeyVolume
		})
	}
	return false, false
}

// diskKeySet returns the Secret with the key of the pool's user, and no others.
func (m *model) diskKeySet() tenantsecret.Set {
	set := tenantsecret.Set{
		Name: diskKeysName, Prefix: diskKeyPrefix, Type: corev1.SecretTypeOpaque, Instance: m.instance, Labels: m.meta(diskKeysName).Labels,
	}.ForClusters(m.disks.cluster, m.cluster, platform.Management(m.platform), tenantsecret.HypervisorStore(m.platform.SecretStore))
	if c := m.disks.client; c != nil {
		set.From, set.Requests = c.Instance, []tenantsecret.Request{{Name: c.SecretName, Keys: []string{rook.UserKey}}}
	}
	return set
}

// diskKeys returns the names of the resources that copy the key.
func (m *model) diskKeys() []string {
	c := m.disks.client
	if c == nil {
		return nil
	}
	set := m.diskKeySet()
	return []string{set.Resource(set.Target(c.SecretName))}
}

// storage copies the key, records the pool of the disks, and protects the StorageCluster while it is in use.
func storage(m *model) ([]compose.Stage, error) {
	pool, c := m.spec.Storage, m.disks.client
	data := map[string]string{"disks": storagepool.Ref(*pool)}
	if c != nil {
		data["disks"] = fmt.Sprintf("%s: pool %s of Ceph %s, as user %s", c.Ref, c.Pool, c.FSID, c.User)
	}
	rule, _ := readiness.Rules.For(configMap)
	requested := compose.Stage{{
		Name: storageComponent, Management: true, Object: workload.ConfigMap(m.meta(storageComponent), data),
		Ready: func(o *observe.Object) ready.Result {
			if m.disks.waits != "" {
				return ready.Wait("StorageNotReady", "%s", m.disks.waits)
			}
			return rule.Check(o)
		},
	}}
	if c != nil {
		requested = append(requested, usage.OfClaim(m.meta(storageComponent+"-in-use"), storageComponent, reference.APIVersion, storagepool.Kind,
			pool.ClusterRef, fmt.Sprintf("hypervisors %s of namespace %s keep disks of virtual machines in its pools", m.claim.Name,
				m.claim.Namespace)))
	}
	return append(m.diskKeySet().Stages(), requested), nil
}

// disksFirst returns the resources that must exist before nova-compute if disks are in a pool: servers are scheduled to a registered
// hypervisor, and libvirt starts them with the pool's key. Once nova-compute exists, nothing delays it any more.
func (m *model) disksFirst() []string {
	if existing, _ := m.pooled(); existing || m.spec.Storage == nil {
		return nil
	}
	out := []string{storageComponent}
	if len(m.libvirtSecrets()) > 0 {
		for i := range m.groups {
			out = append(out, m.groups[i].name(volumeKeysComponent))
		}
	}
	return out
}

// diskOptions returns the options of nova-compute. Raw images of Glance in the same Ceph cluster are cloned without copying data. Discards
// and flushes of servers reach the pool.
// https://docs.ceph.com/en/latest/rbd/rbd-openstack/#configuring-nova
func (m *model) diskOptions() oslo.Config {
	c := m.disks.client
	if c == nil {
		return nil
	}
	return oslo.Config{"libvirt": {
		"images_type": "rbd", "images_rbd_pool": c.Pool, "images_rbd_ceph_conf": scripts + "/" + cephFile,
		"rbd_user": c.User, "rbd_secret_uuid": c.SecretUUID,
		"disk_cachemodes": []string{"network=writeback"}, "hw_disk_discard": "unmap",
	}}
}

// mountDiskKey mounts the key of the pool's user into nova-compute.
func (m *model) mountDiskKey(pod *corev1.PodSpec) {
	c := m.disks.client
	if c == nil {
		return
	}
	pod.Volumes = append(pod.Volumes, workload.SecretVolume(diskKeyVolume, m.diskKeySet().Target(c.SecretName), rook.UserKey))
	mounts := &pod.Containers[0].VolumeMounts
	*mounts = append(*mounts, workload.Mount(diskKeyVolume, diskKeyFolder))
}
