package hypervisor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// volumesAttachable is the condition that reports whether servers of the pool can use volumes, and the backends whose volumes they cannot.
const volumesAttachable = "VolumesAttachable"

// keysName is the name prefix of the objects that copy the keys of volumes, keyPrefix the name prefix of the copies. They are separate from
// the logins of nodes: a missing key delays volumes only.
const (
	keysName  = "volume-secrets"
	keyPrefix = "volume-key-"
)

// keysFolder is the folder in containers with the keyring of each backend, by its name, and the key of servers' disks.
const keysFolder = "/etc/keys"

// inCeph returns the backends whose volumes are in Ceph.
func (m *model) inCeph() []controlplanev1.VolumeAccess {
	var out []controlplanev1.VolumeAccess
	if m.known() {
		for _, v := range m.plane.access.Volumes {
			if v.User != "" {
				out = append(out, v)
			}
		}
	}
	return out
}

// keySet returns the Secrets with the keys of these backends, and no others.
func (m *model) keySet() tenantsecret.Set {
	set := m.controlPlaneSecrets(keysName, keyPrefix)
	for _, v := range m.inCeph() {
		set.Requests = append(set.Requests, tenantsecret.Request{Name: v.SecretName, Keys: []string{volume.Keyring(v.Backend, v.User)}})
	}
	set.Requests = tenantsecret.Union(set.Requests)
	return set
}

// A libvirtSecret is a Ceph key that is defined as a secret in libvirt: its purpose, its Ceph user, and its UUID.
type libvirtSecret struct {
	name, user, uuid string
	// secret is the Secret with the key, under the key entry.
	secret, entry string
}

// libvirtSecrets returns the secrets of the backends, and of the Ceph pool of servers' disks.
func (m *model) libvirtSecrets() []libvirtSecret {
	var out []libvirtSecret
	keys := m.keySet()
	for _, v := range m.inCeph() {
		out = append(out, libvirtSecret{v.Backend, v.User, v.SecretUUID, keys.Target(v.SecretName), volume.Keyring(v.Backend, v.User)})
	}
	if c := m.disks.client; c != nil && m.known() {
		out = append(out, libvirtSecret{storageField, c.User, c.SecretUUID, m.diskKeySet().Target(c.SecretName), rook.UserKey})
	}
	return out
}

// volumeKeys defines on each node the libvirt secrets with which QEMU opens volumes and disks: Cinder and Nova reference a key only by its
// UUID.
func volumeKeys(m *model) ([]compose.Stage, error) {
	config, sets := files{volumeKeysComponent, map[string]string{"volume-keys.sh": volumeKeysScript}}, compose.Stage{}
	for i := range m.groups {
		set, err := m.on(&m.groups[i], m.keysDaemon(config))
		if err != nil {
			return nil, err
		}
		sets = append(sets, compose.Resource{Name: m.groups[i].name(volumeKeysComponent), Object: set, After: m.diskKeys()})
	}
	return append(m.keySet().Stages(), compose.Stage{m.revision(config)}, sets), nil
}

// keysDaemon runs in a separate pod, because libvirt's pod is not replaced for a new backend, and does not exist if the node runs libvirt.
// It connects to libvirt's socket only: it has its own network, in which everything is denied.
func (m *model) keysDaemon(config files) daemon {
	var volumes []string
	var keys []corev1.VolumeProjection
	for _, k := range m.libvirtSecrets() {
		volumes = append(volumes, strings.Join([]string{k.name, k.user, k.uuid}, ":"))
		keys = append(keys, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: k.secret},
			Items:                []corev1.KeyToPath{{Key: k.entry, Path: k.name}},
		}})
	}
	c := corev1.Container{
		Name: volumeKeysComponent, Image: m.images.libvirt, Command: []string{"sh", scripts + "/volume-keys.sh"},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("config", scripts), workload.Mount("keys", keysFolder)},
		Env: []corev1.EnvVar{
			{Name: "LIBVIRT", Value: libvirtURI}, {Name: "KEYS", Value: keysFolder}, {Name: "VOLUMES", Value: strings.Join(volumes, " ")},
			{Name: "TOLD", Value: "/tmp/told"},
		},
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/volume-keys.sh", "ready"))
	const groupReads = 0o440
	run := folder("run", libvirtRun)
	run.ReadOnly = true
	return daemon{
		app: "libvirt", component: volumeKeysComponent,
		pod: workload.Pod{
			UserID: agentUser, Containers: []corev1.Container{c},
			Volumes: []corev1.Volume{
				workload.ConfigVolume("config", config.revision()),
				{Name: "keys", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: keys, DefaultMode: ptr.To[int32](groupReads),
				}}},
			},
		},
		privileges: []workload.Privilege{{
			Container: volumeKeysComponent, RunAsUser: root, Reason: "libvirt's socket is root's", HostPaths: []workload.HostPath{run},
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}

// attachableBackends reports the backends whose volumes servers cannot use, and why. It is unset without backends.
func (m *model) attachableBackends() ready.Result {
	if !m.known() || len(m.plane.access.Volumes) == 0 {
		return ready.Result{}
	}
	var not []string
	reason, keys := "", m.keySet()
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "external-secrets.io", Kind: "ExternalSecret"})
	for _, v := range m.plane.access.Volumes {
		if v.User == "" {
			reason = "NotImplemented"
			not = append(not, v.Backend+": NFS backends are not implemented for hypervisors in this version")
			continue
		}
		if o, ok := m.observed.Get(keys.Resource(keys.Target(v.SecretName))); !ok || !rule.Check(o).Ready {
			reason = "KeyMissing"
			not = append(not, v.Backend+": waiting for the key of its user")
		}
	}
	// As many nodes as maxUnavailable tolerates may be down: they get the keys when they return.
	desired, has := m.nodesWith(volumeKeysComponent)
	if m.daemonsWait(volumeKeysComponent) {
		reason = "NodesOutOfDate"
		not = append(not, fmt.Sprintf("libvirt does not have all keys yet on %d of %d nodes", desired-has, desired))
	}
	if len(not) > 0 {
		return ready.Wait(reason, "%s", strings.Join(not, "; "))
	}
	if has < desired {
		message := fmt.Sprintf("libvirt has the keys of all backends on %d of %d nodes", has, desired)
		return ready.Result{Ready: true, Reason: "AllBackendsConfigured", Message: message}
	}
	return ready.Result{Ready: true, Reason: "AllBackendsConfigured", Message: "libvirt has the keys of all backends on all nodes"}
}

// daemonsWait reports whether a DaemonSet of a component is not ready.
func (m *model) daemonsWait(component string) bool {
	rule, _ := readiness.Rules.For(daemonSet)
	return slices.ContainsFunc(m.groups, func(g group) bool {
		set, ok := m.observed.Get(g.name(component))
		return ok && !rule.Check(set).Ready
	})
}

// nodesWith returns the number of nodes that must run a component, and the number on which it is ready.
func (m *model) nodesWith(component string) (desired, has int64) {
	for _, g := range m.groups {
		if set, ok := m.observed.Get(g.name(component)); ok {
			w, _ := set.Int("status", "desiredNumberScheduled")
			a, _ := set.Int("status", "numberAvailable")
			desired, has = desired+w, has+a
		}
	}
	return desired, has
}
