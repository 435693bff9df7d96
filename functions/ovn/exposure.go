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
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/outside"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// memberService is a Service by which other clusters reach a pod. It stays whatever becomes of the pod, and so does its address.
//
// Each member has one of its own: clients know all members, and look for the one that leads
// (https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#clustered-database-service-model). Behind one Service for all, they would find it by
// chance.
type memberService struct {
	workload workload.Workload
	exposure *common.MemberExposure
	// resource is its composed resource, and port the one that clients reach it at.
	resource string
	port     int32
	// pods that it leads to, besides the workload's labels.
	pods map[string]string
	seen *observe.Object
}

// buildMemberServices are those of a database's members: of all that are wanted, and of those that have not left yet.
func (d *database) buildMemberServices(e *common.MemberExposure, observed observe.State) []memberService {
	if !outside.IsExposed(e) {
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
		out[i].seen, _ = observed.Get(out[i].resource)
	}
	return out
}

// service makes the Service.
func (e *memberService) service() *corev1.Service {
	s := e.workload.Service(workload.Port("database", e.port))
	s.Spec.Selector = maps.Clone(s.Spec.Selector)
	maps.Copy(s.Spec.Selector, e.pods)
	return outside.Open(s, e.exposure)
}

// externalEndpoint is the host and the port at which other clusters reach it. No host: it has none yet.
func (e *memberService) externalEndpoint() (host string, port int32) {
	return outside.Address(e.seen, e.exposure, e.port)
}

// serviceReadiness is the verdict on the Service: it has an address.
func (e *memberService) serviceReadiness(o *observe.Object) ready.Result {
	if !outside.HasAddress(o, e.exposure) {
		return ready.Wait("NoAddress", "no load balancer has given Service %s an address yet", e.workload.Name)
	}
	return ready.Yes
}

// external are the addresses of entrances, as clients take them.
func external(all []memberService) string {
	var out []string
	for i := range all {
		if host, port := all[i].externalEndpoint(); host != "" {
			out = append(out, "ssl:"+net.JoinHostPort(host, strconv.Itoa(int(port))))
		}
	}
	return strings.Join(out, ",")
}

// hosts are the names and addresses of entrances, for certificates, each once.
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

// exposed are the Services. They come before the pods: certificates carry their addresses.
func (m *model) exposed() ([]compose.Stage, error) {
	var out compose.Stage
	for i := range m.south.memberServices {
		e := &m.south.memberServices[i]
		out = append(out, compose.Resource{Name: e.resource, Object: e.service(), Ready: e.serviceReadiness})
	}
	return []compose.Stage{out}, nil
}
