package hypervisor

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Three clusters take part: that of the nodes, that of the control plane's workloads, and the management cluster. They may be one, or each
// another (docs/design/0026-pools-in-clusters-of-their-own.md).

// workloadNamespaceResource is the pool's namespace in its nodes' cluster, where that is not the management cluster.
const workloadNamespaceResource = "workload-namespace"

// publicCAs is the images' bundle of public authorities, by which public addresses are verified.
const publicCAs = "/etc/ssl/certs/ca-certificates.crt"

// target finds the cluster of the nodes.
func (m *model) target() error {
	var err error
	m.cluster, err = platform.Cluster(m.platform, m.claim.Namespace, m.spec.Cluster)
	return err
}

// remote says that the nodes are in another cluster than the management cluster.
func (m *model) remote() bool { return m.cluster != platform.Management(m.platform) }

// isSeparateCluster says that the control plane's workloads are in another cluster than the nodes: there is no way from one to the other but that which
// is exposed, and no Secret comes but through the platform's store.
func (m *model) isSeparateCluster() bool { return m.known() && m.plane.providerConfig != m.cluster }

// sameCluster says that they are in the same one.
func (m *model) sameCluster() bool { return m.known() && !m.isSeparateCluster() }

// resolveCluster finds the cluster of a control plane.
func (m *model) resolveCluster(p *controlPlaneInfo, name common.ObjectName) (err error) {
	p.cluster = name
	p.providerConfig, err = platform.ClusterOf(m.platform, "the control plane", name)
	return err
}

// theirs is a resource in the control plane's namespace.
func (m *model) theirs(r compose.Resource) compose.Resource {
	r.Cluster = m.plane.providerConfig
	return r
}

// controlPlaneSecrets is a set of Secrets of the control plane.
func (m *model) controlPlaneSecrets(name, prefix string) tenantsecret.Set {
	set := tenantsecret.Set{
		Name: name, Prefix: prefix, Type: corev1.SecretTypeOpaque, From: m.plane.instance, Cluster: m.plane.providerConfig,
		Instance: m.instance, Labels: m.meta(name).Labels,
	}
	if m.isSeparateCluster() {
		set.Via = tenantsecret.HypervisorStore(m.platform.SecretStore)
	}
	return set
}

// withManagementSecrets adds to a set of Secrets of the management cluster how they come to the nodes.
func (m *model) withManagementSecrets(set tenantsecret.Set) tenantsecret.Set {
	if m.remote() {
		set.Via = tenantsecret.HypervisorStore(m.platform.SecretStore)
	}
	return set
}

// disksInOtherCluster says that the Ceph of disks in a pool is in another cluster than the nodes.
func (m *model) disksInOtherCluster() bool {
	return m.disks.client != nil && m.disks.cluster != m.cluster
}

// clusterField is where the claim says that nodes and control plane are in different clusters.
func (m *model) clusterField() string {
	if m.spec.Cluster != nil {
		return "spec.cluster"
	}
	return "spec.controlPlaneRef"
}

// checkStore refuses Secrets that cannot come to the nodes.
func (m *model) checkStore() error {
	const missing = "come to another cluster through the platform's secret store, and there is none; ask the platform team for one " +
		"(secretStore of the PlatformConfig)"
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
		return invalid.Field(pullsField, "they %s", missing)
	case m.remote() && len(m.pulls.ofPlatform.Requests) > 0:
		return errors.New("the platform's images.pullSecrets cannot be brought to another cluster without a secret store; " +
			"the platform team has to set secretStore in the PlatformConfig, or to leave pullSecrets out")
	}
	return nil
}

// checkPodNetwork refuses a Ceph whose daemons nodes of another cluster do not reach.
func (m *model) checkPodNetwork() error {
	if c := m.disks.client; c == nil || !c.PodNetwork || !m.disksInOtherCluster() {
		return nil
	}
	return invalid.Field(storageField+".clusterRef", "its daemons are pods with addresses of their own, which nodes of another cluster do "+
		"not reach; name a StorageCluster with network.host or one in the nodes' cluster, or leave storage out")
}

// checkSeparateCluster refuses what takes somebody who sees both clusters.
func (m *model) checkSeparateCluster() error {
	if !m.isSeparateCluster() {
		return nil
	}
	var errs []error
	refuse := func(field, words string) { errs = append(errs, invalid.Field(field, "%s", words)) }
	for i := range m.groups {
		g := &m.groups[i]
		const words = "the control plane's companion puts nodes in by their pods, and sees none in another cluster; leave it out, and put " +
			"them in with openstack aggregate add host"
		if g.zone != "" {
			refuse(g.field("availabilityZone"), words)
		}
		if len(g.node.Aggregates) > 0 {
			refuse(g.field("aggregates"), words)
		}
	}
	if m.spec.Virtualization.EvictOnCordon {
		refuse("spec.virtualization.evictOnCordon", "the control plane's companion empties nodes by what it sees of them, and sees none in "+
			"another cluster; leave it out, and empty them by hand")
	}
	if ptr.Deref(m.agents().Metadata.Enabled, true) {
		refuse("spec.agents.metadata.enabled", "Nova's metadata API has no address outside of the control plane's cluster in this version; "+
			"say false: virtual machines get a drive with their configuration")
	}
	return errors.Join(errs...)
}

// checkQueue refuses a cell whose queue nodes of another cluster would not reach, whatever the control plane exposes.
func (m *model) checkQueue(at controlPlaneInfo, owner string, theirs *controlplanev1.ControlPlaneClusterSpec) error {
	n := theirs.Services.Nova
	if n == nil || at.providerConfig == m.cluster {
		return nil
	}
	for _, c := range n.Cells {
		if c.Name == m.spec.Cell && c.Infrastructure != nil && c.Infrastructure.RabbitMQ != nil {
			return invalid.Field("spec.cell", "cell %s of the %s has a queue of its own, which other clusters do not reach in this version; "+
				"choose a cell without, or have the pool in the control plane's cluster", m.spec.Cell, owner)
		}
	}
	return nil
}

// remoteAccess is a control plane as nodes of another cluster reach it: the addresses that it exposes. If it does not expose all that they need,
// the sentence says which, and by which field.
func remoteAccess(a controlplanev1.HypervisorAccess, owner string) (out controlplanev1.HypervisorAccess, waiting string) {
	cell, networks := &a.Cells[0], *a.Networks
	missing := func(what, field string) (controlplanev1.HypervisorAccess, string) {
		return a, fmt.Sprintf("waits for %s of %s, which other clusters do not reach yet: set %s there, and see that it is given an address",
			what, owner, field)
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

// authority is the file by which what the control plane's services serve is verified, where there is a volume with it.
func (m *model) authority() (file string, volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	if m.isSeparateCluster() {
		return publicCAs, nil, nil
	}
	ref := m.plane.access.CASecretRef
	return authorityFile(ref), []corev1.Volume{m.secretVolume("authority", ref.Name, string(ref.Key))},
		[]corev1.VolumeMount{{Name: "authority", MountPath: authorityFolder, ReadOnly: true}}
}
