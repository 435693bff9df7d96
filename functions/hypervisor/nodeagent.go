package hypervisor

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// nodeAgentComponent reports the state of libvirt and systemd of each node in its Hypervisor. The program is external:
// https://github.com/cobaltcore-dev/kvm-node-agent/tree/v0.2.0
const nodeAgentComponent = "kvm-node-agent"

// nodeAgentRole is a ClusterRole of the chart, for the nodes that its value hypervisors.agentNodes names.
const nodeAgentRole = "cobaltcore:kvm-node-agent"

// nodeAgentUser is the user of the program's image. D-Bus authenticates the agent by it, and the node's policy defines its access to
// systemd.
const nodeAgentUser = 42438

const nodeAgentField = "spec.agents.kvmNodeAgent.enabled"

// on returns the value of a switch that is off by default.
func on(enabled *bool) bool { return ptr.Deref(enabled, false) }

func (m *model) nodeAgentEnabled() bool { return m.known() && on(m.agents().KVMNodeAgent.Enabled) }

// checkNodeAgent rejects the agent where it would exit at startup or observe nothing.
func (m *model) checkNodeAgent() error {
	if !on(m.agents().KVMNodeAgent.Enabled) {
		return nil
	}
	var errs []error
	if !m.operatorEnabled() {
		errs = append(errs, invalid.Field(nodeAgentField, "the KVM node agent reports to the Hypervisor of its node, which the hypervisor "+
			"operator creates, and exits without one; set lifecycle.enabled: true, or remove it"))
	}
	if m.spec.Virtualization.Libvirt.Mode == managed {
		errs = append(errs, invalid.Field(nodeAgentField, "the KVM node agent supports libvirt only if systemd of the node runs it, as "+
			"libvirtd.service; set virtualization.libvirt.mode to Host, or remove it"))
	}
	return errors.Join(errs...)
}

// nodeAgent builds the agent on every node. Nothing depends on it.
func nodeAgent(m *model) ([]compose.Stage, error) {
	requested := ptr.Deref(ptr.Deref(m.platform.ThirdPartyImages, platformv1.ThirdPartyImages{}).KVMNodeAgent, common.InfrastructureImage{})
	image, err := release.ImageFor(release.KVMNodeAgent, "", release.Override{
		Registry: m.platformImages().Registry, Repository: requested.Repository, Tag: requested.Tag, Digest: requested.Digest,
	})
	if err != nil {
		return nil, err
	}
	w := m.workload(nodeAgentComponent, "")
	w.PullSecrets = m.platformPulls
	server := []workload.Flow{{Anywhere: true, Ports: platform.APIServerPorts(m.platform.Network)}}
	sets := compose.Stage{}
	for i := range m.groups {
		set, err := m.on(&m.groups[i], m.nodeAgentDaemon(image))
		if err != nil {
			return nil, err
		}
		sets = append(sets, compose.Resource{Name: m.groups[i].name(nodeAgentComponent), Object: set})
	}
	return []compose.Stage{{
		{Name: nodeAgentComponent + "-account", Object: w.ServiceAccount()},
		m.clusterBinding(w, "-rights", nodeAgentRole),
		{Name: nodeAgentComponent + "-network-policy", Object: w.NetworkPolicy(nil, server)},
	}, sets}, nil
}

// nodeAgentDaemon is the DaemonSet of the upstream chart with less access to the node. It uses libvirt's read-only socket, and writes
// certificates that it finds for its node to an unused folder: certificates of the node's libvirt belong to the operator of the node. The
// chart lets it write below /etc/pki of the node, for which an init container of root first reads all files of the node.
func (m *model) nodeAgentDaemon(image string) daemon {
	const bus, port = "/run/dbus/system_bus_socket", 8081
	run := folder("run", libvirtRun)
	run.Type, run.ReadOnly = corev1.HostPathDirectory, true
	c := corev1.Container{
		Name: nodeAgentComponent, Image: image, Args: []string{"--health-probe-bind-address=:8081"},
		Env: []corev1.EnvVar{
			workload.FieldEnv("HOSTNAME", "spec.nodeName"), workload.FieldEnv("NODE_LABEL", "spec.nodeName"),
			{Name: "NAMESPACE", Value: m.instance}, {Name: "PKI_PATH", Value: "/tmp/pki"},
			{Name: "LIBVIRT_DEFAULT_URI", Value: "qemu:///system"}, {Name: "LIBVIRT_SOCKET", Value: libvirtRun + "/libvirt-sock-ro"},
		},
		Ports: []corev1.ContainerPort{{Name: injectorHealth, ContainerPort: port}},
	}
	workload.Readiness(&c, workload.HTTP(injectorHealth, "/readyz"))
	workload.Liveness(&c, workload.HTTP(injectorHealth, "/healthz"))
	return daemon{
		app: nodeAgentComponent, component: nodeAgentComponent, ofPlatform: true,
		pod: workload.Pod{
			UserID: nodeAgentUser, ServiceAccount: nodeAgentComponent, APIAccess: true, Containers: []corev1.Container{c},
		},
		privileges: []workload.Privilege{{
			Container: nodeAgentComponent,
			Reason: "what it reports are the node's libvirt, by the socket that changes nothing, and the node's systemd, by its bus, which " +
				"knows it as a user without rights",
			HostPaths: []workload.HostPath{
				run, {Name: "bus", Path: bus, MountPath: "/var" + bus, Type: corev1.HostPathSocket, ReadOnly: true},
			},
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}
