package ovn

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// relayService is the composed resource of the relays' Service.
const relayService = relay + "-service"

// relays are read replicas of the southbound database. All are equal, so that one Service exposes all of them.
type relays struct {
	enabled        bool
	workload       workload.Workload
	exposure       *common.MemberExposure
	memberServices []memberService
	// servesChassis reports whether all relays have served the port for nodes with a separate certificate.
	servesChassis bool
}

func (m *model) relays(observed observe.State) (relays, error) {
	queried := m.spec.Relay
	if queried == nil {
		return relays{}, nil
	}
	w := m.workload(relay)
	w.Replicas = ptr.Deref(queried.Replicas, defaultDaemons)
	r, err := resources("spec.relay", *queried)
	if err != nil {
		return relays{}, err
	}
	w.Resources = r
	out := relays{enabled: true, workload: w, exposure: m.spec.Southbound.Exposure}
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	deployment, _ := observed.Get(relay)
	out.servesChassis = m.previous.Relay.ChassisEndpoint != "" || hasChassisPort(deployment) && rule.Check(deployment).Ready
	if externalaccess.IsExposed(out.exposure) {
		e := memberService{workload: w, exposure: out.exposure, resource: relayService, port: ovnv1.SouthboundPort, chassis: ovnv1.ChassisPort}
		e.observedService, _ = observed.Get(relayService)
		out.memberServices = []memberService{e}
	}
	return out, nil
}

// relayHost returns the host name of the relays' Service.
func (m *model) relayHost() string {
	return fmt.Sprintf("%s.%s.svc.%s", m.relay.workload.Name, m.namespace, m.spec.ClusterDomain)
}

// relayStatus returns the address of the relays for nodes.
func (m *model) relayStatus() ovnv1.RelayStatus {
	if !m.relay.enabled {
		return ovnv1.RelayStatus{}
	}
	at := func(port int) string { return "ssl:" + net.JoinHostPort(m.relayHost(), strconv.Itoa(port)) }
	out := ovnv1.RelayStatus{Endpoint: at(ovnv1.SouthboundPort), ExternalEndpoint: external(m.relay.memberServices)}
	if m.relay.servesChassis {
		out.ChassisEndpoint = at(ovnv1.ChassisPort)
	}
	return out
}

// relayPorts returns the ports of the relays' Service. Nodes of other clusters have no separate certificates, and use the first one.
func (m *model) relayPorts() []corev1.ServicePort {
	return []corev1.ServicePort{workload.Port("database", m.south.port), workload.Port(chassisPortName, m.south.chassis)}
}

// buildRelay builds the relays.
func (m *model) buildRelay() ([]compose.Stage, error) {
	w := m.relay.workload
	p := m.pod("relay.sh", m.secret(relay))
	c := &p.Containers[0]
	c.Env = append(workload.Self(),
		corev1.EnvVar{Name: "DATABASE", Value: m.south.schema}, corev1.EnvVar{Name: "SOURCE", Value: m.south.endpoint()},
		corev1.EnvVar{Name: "PORT", Value: strconv.Itoa(int(m.south.port))},
		corev1.EnvVar{Name: "CHASSIS_PORT", Value: m.south.chassisPort()}, corev1.EnvVar{Name: "CHASSIS_ROLE", Value: ovnv1.ChassisRole},
		corev1.EnvVar{Name: "PROBE_MILLISECONDS", Value: strconv.Itoa(int(m.south.probe()))},
		corev1.EnvVar{Name: "TLS", Value: tlsFolder})
	c.Ports = []corev1.ContainerPort{
		{Name: "database", ContainerPort: m.south.port}, {Name: chassisPortName, ContainerPort: m.south.chassis},
	}
	c.StartupProbe.FailureThreshold = startRetries
	service := compose.Resource{Name: relayService, Object: w.Service(m.relayPorts()...)}
	for i := range m.relay.memberServices {
		service.Object, service.Ready = m.relay.memberServices[i].service(), m.relay.memberServices[i].serviceReadiness
	}
	in := append([]workload.Flow{{Ports: []int32{m.south.port}}}, externalaccess.ExternalClients(m.relay.exposure, m.south.port)...)
	out := []workload.Flow{{Pods: m.south.workload.Selector(), Ports: []int32{m.south.port}}}
	hosts := append([]string{m.relayHost(), fmt.Sprintf("%s.%s.svc", w.Name, m.namespace)}, hosts(m.relay.memberServices)...)
	return []compose.Stage{
		{service, m.leaf(relay, hosts...)},
		{
			{Name: relay, Object: w.Deployment(p)},
			{Name: relay + "-disruption-budget", Object: w.DisruptionBudget()},
			{Name: relay + "-network-policy", Object: w.NetworkPolicy(in, out)},
		},
	}, nil
}
