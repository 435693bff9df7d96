package hypervisor

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Three clusters are involved: the nodes' cluster, the cluster of the control plane's workloads, and the management cluster. Any of them
// may be the same cluster (docs/design/0026-pools-in-clusters-of-their-own.md).

// workloadNamespaceResource is the pool's namespace in the nodes' cluster, if that is not the management cluster.
const workloadNamespaceResource = "workload-namespace"

// publicCAs is the images' bundle of public authorities, which verifies public addresses.
const publicCAs = "/etc/ssl/certs/ca-certificates.crt"

// target resolves the nodes' cluster, and checks it for a new claim.
func (m *model) target(required map[string][]*structpb.Struct) error {
	var err error
	const role = workloadclusterv1.Hypervisor
	m.cluster, err = platform.Target(m.platform, required, m.claim.Namespace, m.spec.Cluster, role, m.observed.Len() > 0)
	return err
}

// remote reports whether the nodes are in another cluster than the management cluster.
func (m *model) remote() bool { return m.cluster != platform.Management(m.platform) }

// isSeparateCluster reports whether the control plane's workloads are in another cluster than the nodes: only exposed addresses are
// reachable, and Secrets are copied only through the platform's secret store.
func (m *model) isSeparateCluster() bool { return m.known() && m.plane.providerConfig != m.cluster }

// sameCluster reports whether the control plane's workloads are in the nodes' cluster.
func (m *model) sameCluster() bool { return m.known() && !m.isSeparateCluster() }

// resolveCluster resolves the cluster of a control plane.
func (m *model) resolveCluster(p *controlPlaneInfo, name common.ObjectName) (err error) {
	p.cluster = name
	p.providerConfig, err = platform.ClusterOf(m.platform, "the control plane", name)
	return err
}

// inPlaneCluster places a resource in the control plane's cluster.
func (m *model) inPlaneCluster(r compose.Resource) compose.Resource {
	r.Cluster = m.plane.providerConfig
	return r
}

// controlPlaneSecrets returns a set of Secrets of the control plane.
func (m *model) controlPlaneSecrets(name, prefix string) tenantsecret.Set {
	set := tenantsecret.Set{
		Name: name, Prefix: prefix, Type: corev1.SecretTypeOpaque, From: m.plane.Instance, Cluster: m.plane.providerConfig,
		Instance: m.instance, Labels: m.meta(name).Labels,
	}
	if m.isSeparateCluster() {
		set.Via = tenantsecret.HypervisorStore(m.platform.SecretStore)
	}
	return set
}

// withManagementSecrets adds to a set of Secrets of the management cluster the store through which they are copied to the nodes' cluster.
func (m *model) withManagementSecrets(set tenantsecret.Set) tenantsecret.Set {
	if m.remote() {
		set.Via = tenantsecret.HypervisorStore(m.platform.SecretStore)
	}
	return set
}

// disksInOtherCluster reports whether the Ceph cluster of the disks is in another cluster than the nodes.
func (m *model) disksInOtherCluster() bool {
	return m.disks.client != nil && m.disks.cluster != m.cluster
}

// clusterField returns the field that puts nodes and control plane into different clusters.
func (m *model) clusterField() string {
	if m.spec.Cluster != nil {
		return "spec.cluster"
	}
	return "spec.controlPlaneRef"
}

// checkStore rejects Secrets that cannot be copied to the nodes' cluster.
func (m *model) checkStore() error {
	const missing = "are copied to another cluster through the platform's secret store, which is not configured; ask the platform team to " +
		"set it (secretStore of the PlatformConfig)"
	switch {
	case m.platform.SecretStore != nil:
		return nil
	case m.isSeparateCluster():
		return invalid.Field(m.clusterField(), "nodes and control plane are in different clusters, and logins %s", missing)
	case m.disksInOtherCluster():
		return invalid.Field(storageField, "keys of a StorageCluster %s", missing)
	case m.remote() && m.operatorEnabled():
		return invalid.Field(credentialsField, "credentials %s", missing)
	case m.remote() && len(m.pulls.ofClaim.Requests) > 0:
		return invalid.Field(pullsField, "pull secrets %s", missing)
	case m.remote() && len(m.pulls.ofPlatform.Requests) > 0:
		return errors.New("the platform's images.pullSecrets cannot be copied to another cluster without a secret store; " +
			"ask the platform team to set secretStore in the PlatformConfig, or to remove pullSecrets")
	}
	return nil
}

// checkPodNetwork rejects a Ceph cluster whose daemons are unreachable from the nodes' cluster.
func (m *model) checkPodNetwork() error {
	if c := m.disks.client; c == nil || !c.PodNetwork || !m.disksInOtherCluster() {
		return nil
	}
	return invalid.Field(storageField+".clusterRef", "its daemons have pod addresses, which nodes of another cluster cannot "+
		"reach; select a StorageCluster with network.host or one in the nodes' cluster, or remove storage")
}

// checkSeparateCluster rejects features that require a component with access to both clusters.
func (m *model) checkSeparateCluster() error {
	if !m.isSeparateCluster() {
		return nil
	}
	var errs []error
	reject := func(field, message string) { errs = append(errs, invalid.Field(field, "%s", message)) }
	for i := range m.groups {
		g := &m.groups[i]
		const constraint = "the control plane's companion adds nodes by their pods, and cannot watch pods in another cluster; remove it, " +
			"and add them with openstack aggregate add host"
		if g.zone != "" {
			reject(g.field("availabilityZone"), constraint)
		}
		if len(g.node.Aggregates) > 0 {
			reject(g.field("aggregates"), constraint)
		}
	}
	if m.spec.Virtualization.EvictOnCordon {
		reject("spec.virtualization.evictOnCordon", "is not supported for nodes of another cluster, which the control plane's "+
			"companion cannot watch; remove it, and live-migrate servers manually")
	}
	if ptr.Deref(m.agents().Metadata.Enabled, true) {
		reject("spec.agents.metadata.enabled", "Nova's metadata API has no address outside of the control plane's cluster in this version; "+
			"set it to false, and servers use a config drive")
	}
	return errors.Join(errs...)
}

// checkQueue rejects a cell whose queue is unreachable from another cluster regardless of the control plane's exposure.
func (m *model) checkQueue(at controlPlaneInfo, owner string, controlPlane *controlplanev1.ControlPlaneClusterSpec) error {
	n := controlPlane.Services.Nova
	if n == nil || at.providerConfig == m.cluster {
		return nil
	}
	for _, c := range n.Cells {
		if c.Name == m.spec.Cell && c.Infrastructure != nil && c.Infrastructure.RabbitMQ != nil {
			return invalid.Field("spec.cell", "cell %s of the %s has its own queue, which is not exposed to other clusters in this version; "+
				"choose a cell without its own queue, or place the pool in the cluster of the control plane", m.spec.Cell, owner)
		}
	}
	return nil
}

// remoteAccess returns the access to a control plane for nodes of another cluster: its exposed addresses. If a required address is not
// exposed, waiting names it and the field that exposes it.
func remoteAccess(a controlplanev1.HypervisorAccess, owner string) (out controlplanev1.HypervisorAccess, waiting string) {
	cell, networks := &a.Cells[0], *a.Networks
	missing := func(endpoint, field string) (controlplanev1.HypervisorAccess, string) {
		return a, fmt.Sprintf("waiting for %s of %s, which is not reachable from other clusters yet: set %s, and check that it has an address",
			endpoint, owner, field)
	}
	switch {
	case a.PublicIdentityURL == "":
		return missing("the APIs", "spec.global.exposure")
	case networks.ExternalSouthbound == "":
		return missing("OVN's southbound database", "spec.services.neutron.ovn.southbound.exposure")
	case cell.ExternalQueue == nil:
		return missing("the queue of cell "+cell.Name, "spec.infrastructure.rabbitmq.exposure")
	}
	a.IdentityURL = a.PublicIdentityURL
	networks.Southbound = networks.ExternalSouthbound
	a.Networks = &networks
	cell.Queue.Host, cell.Queue.Port = cell.ExternalQueue.Host, cell.ExternalQueue.Port
	return a, ""
}

// authority returns the CA file that verifies the control plane's services, and its volume if it is not part of the image.
func (m *model) authority() (file string, volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	if m.isSeparateCluster() {
		return publicCAs, nil, nil
	}
	ref := m.plane.access.CASecretRef
	return authorityFile(ref), []corev1.Volume{m.secretVolume("authority", ref.Name, string(ref.Key))},
		[]corev1.VolumeMount{{Name: "authority", MountPath: authorityFolder, ReadOnly: true}}
}
