// Package outside makes Services by which other clusters reach pods that do not speak HTTP. A Service stays whatever becomes of its pods,
// and so does its address, which certificates carry.
package outside

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// IsExposed reports whether anybody outside is to reach them.
func IsExposed(e *common.MemberExposure) bool {
	return e != nil && e.Type != "" && e.Type != common.ExposureNone
}

// Check refuses what the schema refuses, too, for callers without an API server. Field is that of the exposure.
func Check(field string, e *common.MemberExposure) error {
	if IsExposed(e) && e.Type == common.ExposureNodePort && e.Nodes == "" {
		return invalid.Field(field+".nodes",
			"ports of nodes alone are no address; give a name or an address at which the nodes are reached")
	}
	return nil
}

// Open makes a Service one that other clusters reach.
func Open(s *corev1.Service, e *common.MemberExposure) *corev1.Service {
	s.Spec.Type = corev1.ServiceType(e.Type)
	if len(e.Annotations) > 0 {
		s.Annotations = maps.Clone(s.Annotations)
	}
	for name, value := range e.Annotations {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[name] = string(value)
	}
	if e.Type == common.ExposureLoadBalancer {
		// Network policies are to see who comes, and a load balancer which node has the pod
		// (https://kubernetes.io/docs/tasks/access-application-cluster/create-external-load-balancer/#preserving-the-client-source-ip).
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		for _, n := range e.Networks {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, string(n))
		}
	}
	return s
}

// ObservedService is a Service as it is observed.
type ObservedService interface {
	// List is the list at a path. Nil: there is none.
	List(path ...string) []any
}

// HasAddress reports whether a Service has its address. Ports of nodes are given to it when it is made; a load balancer takes its time.
func HasAddress(s ObservedService, e *common.MemberExposure) bool {
	return e.Type != common.ExposureLoadBalancer || len(s.List("status", "loadBalancer", "ingress")) > 0
}

// Address is the host and the port at which other clusters reach a Service, whose own port is the given one. No host: it has none yet.
func Address(s ObservedService, e *common.MemberExposure, own int32) (host string, port int32) {
	if e.Type == common.ExposureNodePort {
		for _, v := range s.List("spec", "ports") {
			p, _ := v.(map[string]any)
			switch n := p["nodePort"].(type) {
			case int64:
				return string(e.Nodes), int32(n) //nolint:gosec // a port
			case float64:
				return string(e.Nodes), int32(n)
			}
		}
		return "", 0
	}
	for _, v := range s.List("status", "loadBalancer", "ingress") {
		i, _ := v.(map[string]any)
		for _, field := range []string{"ip", "hostname"} {
			if host, _ := i[field].(string); host != "" {
				return host, own
			}
		}
	}
	return "", 0
}

// ExternalClients are who comes from other clusters, if anybody may.
func ExternalClients(e *common.MemberExposure, port int32) []workload.Flow {
	if !IsExposed(e) {
		return nil
	}
	f := workload.Flow{Ports: []int32{port}, Anywhere: len(e.Networks) == 0}
	for _, n := range e.Networks {
		f.Blocks = append(f.Blocks, string(n))
	}
	return []workload.Flow{f}
}
