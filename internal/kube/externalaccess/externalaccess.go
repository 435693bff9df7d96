// Package externalaccess builds Services for access to non-HTTP pods from other clusters. A Service is kept when its pods are replaced,
// and so is its address, which is in certificates.
package externalaccess

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// IsExposed reports whether access from other clusters is enabled.
func IsExposed(e *common.MemberExposure) bool {
	return e != nil && e.Type != "" && e.Type != common.ExposureNone
}

// Check repeats a check of the schema for callers without an API server. Field is the path of the exposure.
func Check(field string, e *common.MemberExposure) error {
	if IsExposed(e) && e.Type == common.ExposureNodePort && e.Nodes == "" {
		return invalid.Field(field+".nodes",
			"ports of nodes alone are no address; give a name or an address at which the nodes are reached")
	}
	return nil
}

// Open sets type, annotations and source ranges of a Service for access from other clusters.
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
		// Network policies need the client address, and a load balancer the nodes with a pod
		// (https://kubernetes.io/docs/tasks/access-application-cluster/create-external-load-balancer/#preserving-the-client-source-ip).
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		for _, n := range e.Networks {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, string(n))
		}
	}
	return s
}

// ObservedService is an observed Service.
type ObservedService interface {
	// List returns the list at a path, or nil.
	List(path ...string) []any
}

// HasAddress reports whether a Service has an address. Node ports are set on creation; a load balancer sets its address later.
func HasAddress(s ObservedService, e *common.MemberExposure) bool {
	return e.Type != common.ExposureLoadBalancer || len(s.List("status", "loadBalancer", "ingress")) > 0
}

// Address returns host and port of a Service in other clusters. Its own port is own. The host is empty if it has no address yet.
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

// ExternalClients returns the ingress from other clusters, or nil if the exposure is disabled.
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
