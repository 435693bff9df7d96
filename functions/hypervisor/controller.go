package hypervisor

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// gatewayComponent is the OVN controller of a gateway node, which registers as gateway in OVN. It runs the same process as ovn-controller:
// a node has one or the other.
const gatewayComponent = "ovn-gateway"

// tlsFolder is the folder of the certificate for OVN in containers.
const tlsFolder = "/etc/ovn/tls"

// ovnController installs the flows of logical networks on each node. The installed flows stay in effect while it is replaced.
func ovnController(m *model) ([]compose.Stage, error) {
	config := files{controllerComponent, map[string]string{
		"ovn-controller.sh": controllerScript, "address.sh": addressScript, "certificate.sh": certificateScript,
	}}
	stage := compose.Stage{}
	add := func(g group, component, options string) error {
		set, err := m.on(&g, m.controllerDaemon(&g, config, component, options))
		stage = append(stage, compose.Resource{Name: g.name(component), Object: set})
		return err
	}
	for _, g := range m.groups {
		if err := add(g.nonGatewaySelector(), controllerComponent, ""); err != nil {
			return nil, err
		}
		if g.gateway() == nil {
			continue
		}
		options := "enable-chassis-as-gw"
		if g.zone != "" {
			options += ",availability-zones=" + string(g.zone)
		}
		if err := add(g.gatewaySelector(), gatewayComponent, options); err != nil {
			return nil, err
		}
	}
	return []compose.Stage{{m.revision(config)}, stage}, nil
}

// defaultEncapsulation is the protocol of tunnels of OVN. The schema cannot have it: with Neutron agents the control plane sets the
// protocol, and a type in the spec is an error.
const defaultEncapsulation = "geneve"

func (m *model) controllerDaemon(g *group, config files, component, options string) daemon {
	encapsulation := ptr.Deref(g.network.Encapsulation, hypervisorv1.Encapsulation{})
	var mappings []string
	for _, b := range g.network.BridgeMappings {
		mappings = append(mappings, fmt.Sprintf("%s:%s", b.PhysicalNetwork, b.Bridge))
	}
	southbound, _ := m.southbound()
	c := corev1.Container{
		Name: controllerComponent, Image: m.images.controller, Command: []string{"sh", scripts + "/ovn-controller.sh"},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("config", scripts)},
		Env: append(nodeEnvVars(),
			corev1.EnvVar{Name: "SOUTHBOUND", Value: southbound},
			corev1.EnvVar{Name: "PROBE_MILLISECONDS", Value: fmt.Sprint(m.plane.access.Networks.ProbeMilliseconds())},
			corev1.EnvVar{Name: "TLS", Value: tlsFolder},
			corev1.EnvVar{Name: "ENCAPSULATION", Value: cmp.Or(encapsulation.Type, defaultEncapsulation)},
			corev1.EnvVar{Name: "INTERFACE", Value: g.tunnelInterface()},
			corev1.EnvVar{Name: "DATAPATH", Value: g.datapath()},
			corev1.EnvVar{Name: "MAPPINGS", Value: strings.Join(mappings, ",")},
			corev1.EnvVar{Name: "BRIDGES", Value: g.bridges()},
			corev1.EnvVar{Name: "OPTIONS", Value: options},
		),
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/ovn-controller.sh", "ready"))
	workload.Liveness(&c, workload.Exec("sh", scripts+"/ovn-controller.sh", "alive"))
	pod := workload.Pod{
		UserID: agentUser, Containers: []corev1.Container{c}, Volumes: []corev1.Volume{workload.ConfigVolume("config", config.revision())},
	}
	m.mountCertificate(&pod)
	return daemon{
		app: "ovn", component: component, agent: controllerComponent, pod: pod,
		privileges: []workload.Privilege{{
			Container: controllerComponent, RunAsUser: root, HostNetwork: true,
			Reason:    "the switch's socket is root's, and the addresses that tunnels end at are the node's",
			HostPaths: []workload.HostPath{folder("run", switchRun), folder("run-ovn", controllerRun)},
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}

// datapath returns the name of the datapath in Open vSwitch.
func (g *group) datapath() string {
	if g.network.Datapath == userspace {
		return "netdev"
	}
	return "system"
}

// bridges returns the bridges of physical networks with their interfaces.
func (g *group) bridges() string {
	var out []string
	for _, b := range g.network.BridgeMappings {
		out = append(out, fmt.Sprintf("%s=%s", b.Bridge, b.Interface))
	}
	return strings.Join(out, " ")
}

// tunnelInterface returns the interface whose address is the tunnel endpoint. Empty: the address of the node.
func (g *group) tunnelInterface() string {
	return string(ptr.Deref(g.network.Encapsulation, hypervisorv1.Encapsulation{}).Interface)
}
