package hypervisor

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// ovsAgentComponent reports the state of Open vSwitch on each node in an OVSNode. The program is external and has no release:
// https://github.com/C5C3/C5C3/blob/1a3f39c380b9f983f9eaf61138ae79c9c0a874a3/docs/03-components/02-hypervisor.md#ovs-agent
const ovsAgentComponent = "ovs-agent"

// ovsAgentRole is a ClusterRole of the chart, bound in the pool's namespace: it lets the program create OVSNodes there.
const ovsAgentRole = "cobaltcore:ovs-agent"

func (m *model) ovsAgentEnabled() bool { return m.known() && on(m.agents().OVSAgent.Enabled) }

// ovsAgent builds the agent on every node. Nothing depends on it.
func ovsAgent(m *model) ([]compose.Stage, error) {
	w, sets := m.workload(ovsAgentComponent, ""), compose.Stage{}
	for i := range m.groups {
		set, err := m.on(&m.groups[i], m.ovsAgentDaemon())
		if err != nil {
			return nil, err
		}
		sets = append(sets, compose.Resource{Name: m.groups[i].name(ovsAgentComponent), Object: set})
	}
	return []compose.Stage{{
		{Name: ovsAgentComponent + "-account", Object: w.ServiceAccount()},
		m.localBinding(w, "-rights", ovsAgentRole),
	}, sets}, nil
}

// ovsAgentDaemon is the documented DaemonSet with less access to the node: the documented one is privileged, and shares the PID namespace
// of the node. No port, no probe and no argument of the program is documented.
func (m *model) ovsAgentDaemon() daemon {
	run := folder("run", switchRun)
	run.MountPath = "/var" + switchRun
	database := persistentFolder("openvswitch", "/etc/openvswitch")
	database.ReadOnly = true
	return daemon{
		app: ovsAgentComponent, component: ovsAgentComponent,
		pod: workload.Pod{
			UserID: agentUser, ServiceAccount: ovsAgentComponent, APIAccess: true,
			Containers: []corev1.Container{{
				Name: ovsAgentComponent, Image: m.images.ovsAgent,
				Env: []corev1.EnvVar{workload.FieldEnv(nodeEnv, "spec.nodeName")},
			}},
		},
		privileges: []workload.Privilege{{
			Container: ovsAgentComponent, RunAsUser: root, HostNetwork: true, HostPaths: []workload.HostPath{run, database},
			Reason: "the switch's sockets and its database are root's, and the network cards that it reports of are in the node's network",
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}
