package hypervisor

import (
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	neutron "github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Components of a pool whose control plane uses Neutron agents. The metadata component runs another process in that case.
const (
	openvswitchAgentComponent = "openvswitch-agent"
	l3AgentComponent          = "l3-agent"
	dhcpAgentComponent        = "dhcp-agent"
)

// usesAgents reports whether Neutron agents configure the networks, and usesOVN whether OVN does.
func (m *model) usesAgents() bool {
	return m.known() && m.plane.access.Networks.Mechanism == string(neutronv1.ByOVS)
}

func (m *model) usesOVN() bool { return m.known() && !m.usesAgents() }

// gatewayGroups returns the groups whose nodes connect routers to external networks. With Neutron agents, these nodes also run DHCP and
// metadata.
func (m *model) gatewayGroups() []group {
	var out []group
	for i := range m.groups {
		if m.groups[i].gateway() != nil {
			out = append(out, m.groups[i].gatewaySelector())
		}
	}
	return out
}

// gatewayAgents reports whether Neutron agents run on gateway nodes.
func (m *model) gatewayAgents() bool { return m.usesAgents() && len(m.gatewayGroups()) > 0 }

// agentRun is the folder on the node for agent state that outlives the pod. A restart of the node empties it.
const agentRun = "/run/neutron"

// agentLogins is the folder of the queue's login.
const agentLogins = "/etc/neutron"

// neutronAgents returns the settings of the control plane's Neutron that agents share.
func (m *model) neutronAgents() neutron.Agents {
	a := m.plane.access.Networks.Agents
	return neutron.Agents{Tunnels: a.Tunnels, Plugins: a.ServicePlugins, Distributed: a.Distributed, DNSDomain: a.DNSDomain}
}

// An agent is a Neutron agent on nodes.
type agent struct {
	component, program string
	// options and files are additional to the settings of all agents.
	options oslo.Config
	files   map[string]string
	env     []corev1.EnvVar
	// outlivesPod reports whether the agent creates network namespaces with processes that outlive its pod.
	outlivesPod bool
	privilege   workload.Privilege
	// first is an optional init container.
	first          *corev1.Container
	firstPrivilege workload.Privilege
}

// openvswitchAgent connects ports on a node and installs the flows of networks and security groups. The flows stay while the agent is
// replaced.
func openvswitchAgent(m *model) ([]compose.Stage, error) {
	return m.agentPerGroup(openvswitchAgentComponent, m.groups, func(g *group) agent {
		var bridges []neutron.Bridge
		for _, b := range g.network.BridgeMappings {
			bridges = append(bridges, neutron.Bridge{Network: string(b.PhysicalNetwork), Bridge: string(b.Bridge)})
		}
		return agent{
			program: "neutron-openvswitch-agent",
			options: m.neutronAgents().OpenvswitchOptions(bridges...).Merge(oslo.Config{"ovs": {"datapath_type": g.datapath()}}),
			files:   map[string]string{"address.sh": addressScript, "bridges.sh": bridgesScript},
			env: []corev1.EnvVar{
				{Name: "TUNNELS", Value: "yes"}, {Name: "INTERFACE", Value: g.tunnelInterface()}, {Name: "WATCHER", Value: "ovsdb-client"},
			},
			privilege: workload.Privilege{
				Reason: "the switch's socket is root's, and the addresses that tunnels end at are the node's; NET_ADMIN ends connections that a rule " +
					"forbids",
				Capabilities: []corev1.Capability{"NET_ADMIN"},
			},
			first: &corev1.Container{
				Name: "bridges", Image: m.images.openvswitch, Command: []string{"sh", scripts + "/bridges.sh"},
				VolumeMounts: []corev1.VolumeMount{workload.Mount("config", scripts)},
				Env:          []corev1.EnvVar{{Name: "DATAPATH", Value: g.datapath()}, {Name: "BRIDGES", Value: g.bridges()}},
			},
			firstPrivilege: workload.Privilege{
				Container: "bridges", RunAsUser: root, Reason: "the switch's socket is root's",
				HostPaths: []workload.HostPath{folder("run", switchRun)},
			},
		}
	})
}

// l3Agent creates routers, one network namespace each. Packets pass through them even while the agent is down.
func l3Agent(m *model) ([]compose.Stage, error) {
	return m.agentPerGroup(l3AgentComponent, m.gatewayGroups(), func(g *group) agent {
		return agent{
			program: "neutron-l3-agent", outlivesPod: true,
			options: m.neutronAgents().L3Options().Merge(m.vethOptions(g)).Merge(oslo.Config{
				"DEFAULT": {"enable_metadata_proxy": m.metadataEnabled()},
			}),
			privilege: workload.Privilege{
				Reason: "SYS_ADMIN makes a network namespace for each router, which is a mount, and lets its sysctls be set; NET_ADMIN plugs it in, " +
					"and translates addresses; NET_RAW is for keepalived, which tells other nodes that it is there, and says whose addresses are here; " +
					"SETGID and SETUID are for its watcher, which gives rights up, and DAC_OVERRIDE and DAC_READ_SEARCH for files that others own; " +
					"routers outlive the pod: they have processes of the node, outside of the pod's control group",
				Capabilities: []corev1.Capability{"DAC_OVERRIDE", "DAC_READ_SEARCH", "NET_ADMIN", "NET_RAW", "SETGID", "SETUID", "SYS_ADMIN"},
			},
		}
	})
}

// dhcpAgent assigns addresses to servers, with one dnsmasq per network.
func dhcpAgent(m *model) ([]compose.Stage, error) {
	return m.agentPerGroup(dhcpAgentComponent, m.gatewayGroups(), func(g *group) agent {
		return agent{
			program: "neutron-dhcp-agent", outlivesPod: true,
			options: m.neutronAgents().DHCPOptions().Merge(m.vethOptions(g)).Merge(oslo.Config{
				"DEFAULT": {"enable_isolated_metadata": m.metadataEnabled()},
			}),
			privilege: workload.Privilege{
				Reason: "SYS_ADMIN makes a network namespace for each network, which is a mount, and lets its sysctls be set; NET_ADMIN plugs it in; " +
					"NET_RAW and NET_BIND_SERVICE are for answers to who has no address yet; dnsmasq becomes nobody with SETGID and SETUID, and is " +
					"ended with KILL; DAC_OVERRIDE and DAC_READ_SEARCH are for files that it owns; it outlives the pod: it is a process of the node, " +
					"outside of the pod's control group",
				Capabilities: []corev1.Capability{
					"DAC_OVERRIDE", "DAC_READ_SEARCH", "KILL", "NET_ADMIN", "NET_BIND_SERVICE", "NET_RAW", "SETGID", "SETUID", "SYS_ADMIN",
				},
			},
		}
	})
}

// vethOptions returns the options of agents that connect network namespaces. A switch in userspace loses an internal port that moves into a
// namespace, so that it gets one end of a veth pair instead.
func (m *model) vethOptions(g *group) oslo.Config {
	c := oslo.Config{
		"DEFAULT": {"ovs_use_veth": g.network.Datapath == userspace}, "ovs": {"datapath_type": g.datapath()},
	}
	if g.zone != "" {
		c["agent"] = oslo.Options{"availability_zone": string(g.zone)}
	}
	return c
}

// disabledAgents returns the Neutron agents that an earlier spec may have enabled.
func (m *model) disabledAgents() []string {
	var out []string
	for _, a := range []struct {
		component string
		desired   bool
	}{
		{metadataComponent, m.metadataEnabled()}, {l3AgentComponent, m.gatewayAgents()}, {dhcpAgentComponent, m.gatewayAgents()},
		{sriovAgentComponent, m.hasCards()},
	} {
		if !a.desired {
			out = append(out, a.component)
		}
	}
	return out
}

// agentPerGroup builds an agent for each group, after its ConfigMaps. Groups may share a ConfigMap.
func (m *model) agentPerGroup(component string, groups []group, of func(*group) agent) ([]compose.Stage, error) {
	out := []compose.Stage{{}, {}}
	known := map[string]bool{}
	for i := range groups {
		g := &groups[i]
		a := of(g)
		a.component = component
		d, config, err := m.agentOf(a)
		if err != nil {
			return nil, err
		}
		if r := m.revision(config); !known[r.Name] {
			out[0], known[r.Name] = append(out[0], r), true
		}
		set, err := m.on(g, d)
		if err != nil {
			return nil, err
		}
		out[1] = append(out[1], compose.Resource{Name: g.name(a.component), Object: set})
	}
	return out, nil
}

// metadataProxy forwards metadata requests of servers, received by routers and networks, to Nova, and signs them.
func metadataProxy(m *model) ([]compose.Stage, error) {
	return m.agentPerGroup(metadataComponent, m.gatewayGroups(), func(*group) agent {
		return agent{
			program: "neutron-metadata-agent", options: m.novaMetadata(),
			env: []corev1.EnvVar{m.metadataSecret()},
			privilege: workload.Privilege{
				Reason: "its socket is in a folder of the node, which is root's",
			},
		}
	})
}

// agentOptions returns the options of all agents. The queue is configured as in the Neutron API.
func (m *model) agentOptions() oslo.Config {
	return oslo.Config{
		"DEFAULT":          {"use_stderr": true, "state_path": agentRun},
		"agent":            {"root_helper": ""},
		"ovs":              {"ovsdb_connection": switchSocket},
		"oslo_concurrency": {"lock_path": "/tmp"},
	}.Merge(service.QueueOptions(&m.plane.access.Networks.Agents.Queue, neutronv1.ServiceName, m.plane.release))
}

// agentOf builds an agent and its configuration.
func (m *model) agentOf(a agent) (daemon, files, error) {
	c := m.agentOptions().Merge(a.options)
	data := map[string]string{"neutron-agent.sh": neutronAgentScript, "login.sh": loginScript}
	maps.Copy(data, a.files)
	if a.outlivesPod {
		c["agent"]["root_helper"] = "sh " + scripts + "/outlive.sh"
		data["outlive.sh"] = detachScript
	}
	for _, context := range privsepContexts {
		if len(a.privilege.Capabilities) > 0 { // Without capabilities, it has no privsep helper.
			c[context] = oslo.Options{"helper_command": privsepCommand, "capabilities": numbers(a.privilege.Capabilities)}
		}
	}
	text, err := c.Render()
	data["neutron.conf"] = text
	config := files{a.component, data}
	return m.agentPod(&a, config), config, err
}

func (m *model) agentPod(a *agent, config files) daemon {
	to := m.plane.access.Networks.Agents
	c := corev1.Container{
		Name: a.component, Image: m.images.agents, Command: []string{"sh", scripts + "/neutron-agent.sh"},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts),
			workload.Mount("queue", agentLogins+"/queue"), workload.Mount("queue-authority", agentLogins+"/queue-authority"),
		},
		Env: append(append(nodeEnvVars(),
			corev1.EnvVar{Name: "PROGRAM", Value: a.program},
			corev1.EnvVar{Name: "QUEUE_HOST", Value: to.Queue.Host},
			corev1.EnvVar{Name: "QUEUE_PORT", Value: strconv.Itoa(int(to.Queue.Port))},
			corev1.EnvVar{Name: "QUEUE_VHOST", Value: to.VirtualHost},
			corev1.EnvVar{Name: "QUEUE_CA", Value: agentLogins + "/queue-authority/" + string(to.Queue.CASecretRef.Key)},
			corev1.EnvVar{Name: "LOGIN", Value: agentLogins + "/queue"}, corev1.EnvVar{Name: "STARTED", Value: "/tmp/login"},
			corev1.EnvVar{Name: "AGENT", Value: "/tmp/agent"},
			corev1.EnvVar{Name: "QUEUE_USER", Value: m.targetCredential(to.QueueSecretRef.Name)}, corev1.EnvVar{Name: "TAKEN", Value: "/tmp/taken"},
			corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "host"), Value: "$(" + nodeEnv + ")"},
			corev1.EnvVar{Name: oslo.MustEnvName("oslo_messaging_rabbit", "processname"), Value: a.component},
		), a.env...),
	}
	p := a.privilege
	p.Container, p.RunAsUser, p.HostNetwork = a.component, root, true
	p.HostPaths = []workload.HostPath{folder("run", switchRun), folder("state", agentRun)}
	if a.outlivesPod {
		c.Env = append(c.Env, corev1.EnvVar{Name: "KEEPER", Value: agentRun + "/" + a.component + ".keeper"})
		p.HostPID, p.Mounts = true, true
		namespaces := folder("netns", agentRun+"/"+a.component+".netns")
		namespaces.MountPath = "/run/netns"
		p.HostPaths = append(p.HostPaths, namespaces, workload.HostPath{
			Name: "cgroup", Path: "/sys/fs/cgroup", Type: corev1.HostPathDirectory,
		})
	}
	d := daemon{
		app: "neutron", component: a.component,
		pod: workload.Pod{
			UserID: agentUser, Annotations: m.credentialAnnotations(to.QueueSecretRef.Name),
			Volumes: []corev1.Volume{
				workload.ConfigVolume("config", config.revision()),
				m.secretVolume("queue", to.QueueSecretRef.Name, secret.UsernameKey, secret.PasswordKey),
				m.secretVolume("queue-authority", to.Queue.CASecretRef.Name, string(to.Queue.CASecretRef.Key)),
			},
		},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
	switch a.component {
	case metadataComponent:
		_, authority, mount := m.authority()
		c.Image = m.images.agent
		c.VolumeMounts, d.pod.Volumes = append(c.VolumeMounts, mount...), append(d.pod.Volumes, authority...)
		p.HostPaths = p.HostPaths[1:] // It does not use the switch.
	case sriovAgentComponent:
		p.HostPaths = nil // It does not use the switch either, and leaves no state behind.
	}
	workload.Readiness(&c, workload.LightExec("sh", scripts+"/neutron-agent.sh", "ready"))
	workload.Liveness(&c, workload.LightExec("sh", scripts+"/neutron-agent.sh", "alive"))
	c.StartupProbe.Exec.Command = []string{"sh", scripts + "/neutron-agent.sh", "started"}
	d.pod.Containers, d.privileges = []corev1.Container{c}, []workload.Privilege{p}
	if a.first != nil {
		d.pod.InitContainers, d.privileges = []corev1.Container{*a.first}, append(d.privileges, a.firstPrivilege)
	}
	return d
}

// queueUsers returns the components on nodes that log in to Neutron's virtual host, with their groups.
func (m *model) queueUsers() map[string][]group {
	out := map[string][]group{sriovAgentComponent: m.cardGroups()}
	if !m.usesAgents() {
		return out
	}
	out[openvswitchAgentComponent] = m.groups
	for _, c := range []string{l3AgentComponent, dhcpAgentComponent, metadataComponent} {
		if c != metadataComponent || m.metadataEnabled() {
			out[c] = m.gatewayGroups()
		}
	}
	return out
}

// capabilities are the numbers of capabilities in the kernel, as oslo.privsep expects them.
// https://github.com/torvalds/linux/blob/master/include/uapi/linux/capability.h
var capabilities = map[corev1.Capability]int{
	"DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7, "NET_BIND_SERVICE": 10, "NET_ADMIN": 12, "NET_RAW": 13,
	"SYS_ADMIN": 21,
}

func numbers(of []corev1.Capability) []string {
	var all []int
	for _, c := range of {
		all = append(all, capabilities[c])
	}
	slices.Sort(all)
	var out []string
	for _, n := range all {
		out = append(out, strconv.Itoa(n))
	}
	return out
}
