package ovn

import (
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// memberService is a Service that exposes a pod to other clusters. It and its address outlive the pod.
//
// Each member has its own Service: clients connect to all members to find the leader
// (https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#clustered-database-service-model). Behind a common Service, they would find it only
// by chance.
type memberService struct {
	workload workload.Workload
	exposure *common.MemberExposure
	// resource is its composed resource, and port its port for clients.
	resource string
	port     int32
	// chassis is the port for nodes with a separate certificate. 0: it is not part of the Service.
	chassis int32
	// pods are labels of the pods that it selects, in addition to the workload's labels.
	pods            map[string]string
	observedService *observe.Object
}

// buildMemberServices returns the Services of a database's members: of all desired ones, and of members that have not left yet.
func (d *database) buildMemberServices(e *common.MemberExposure, observed observe.State) []memberService {
	if !externalaccess.IsExposed(e) {
		return nil
	}
	out := make([]memberService, max(d.targetMembers, d.workload.Replicas))
	for i := range out {
		w := d.workload
		w.Name = d.pod(int32(i))
		out[i] = memberService{
			workload: w, exposure: e, resource: fmt.Sprintf("%s-%d-service", d.part, i), port: d.port,
			pods: map[string]string{appsv1.StatefulSetPodNameLabel: w.Name},
		}
		out[i].observedService, _ = observed.Get(out[i].resource)
	}
	return out
}

// service returns the Service.
func (e *memberService) service() *corev1.Service {
	ports := []corev1.ServicePort{workload.Port("database", e.port)}
	if e.chassis > 0 {
		ports = append(ports, workload.Port(chassisPortName, e.chassis))
	}
	s := e.workload.Service(ports...)
	s.Spec.Selector = maps.Clone(s.Spec.Selector)
	maps.Copy(s.Spec.Selector, e.pods)
	return externalaccess.Open(s, e.exposure)
}

// externalEndpoint returns the host and the port for clients in other clusters. Empty host: it has no address yet.
func (e *memberService) externalEndpoint() (host string, port int32) {
	return externalaccess.Address(e.observedService, e.exposure, e.port)
}

// serviceReadiness reports whether the Service has an address.
func (e *memberService) serviceReadiness(o *observe.Object) ready.Result {
	if !externalaccess.HasAddress(o, e.exposure) {
		return ready.Wait("NoAddress", "no load balancer has given Service %s an address yet", e.workload.Name)
	}
	return ready.Yes
}

// external returns the addresses of Services in the format of OVN clients.
func external(all []memberService) string {
	var out []string
	for i := range all {
		if host, port := all[i].externalEndpoint(); host != "" {
			out = append(out, "ssl:"+net.JoinHostPort(host, strconv.Itoa(int(port))))
		}
	}
	return strings.Join(out, ",")
}

// hosts returns the names and addresses of Services for certificates, without duplicates.
func hosts(all []memberService) []string {
	var out []string
	known := map[string]bool{"": true}
	for i := range all {
		if host, _ := all[i].externalEndpoint(); !known[host] {
			known[host] = true
			out = append(out, host)
		}
	}
	return out
}

// exposed builds the Services. They precede the pods, because certificates contain their addresses.
func (m *model) exposed() ([]compose.Stage, error) {
	var out compose.Stage
	for i := range m.south.memberServices {
		e := &m.south.memberServices[i]
		out = append(out, compose.Resource{Name: e.resource, Object: e.service(), Ready: e.serviceReadiness})
	}
	return []compose.Stage{out}, nil
}
