package outside

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// seen is a Service as it is observed: its lists by their last field.
type seen map[string][]any

func (s seen) List(path ...string) []any { return s[path[len(path)-1]] }

var (
	balancer = &common.MemberExposure{Type: common.ExposureLoadBalancer, Networks: []common.CIDR{"10.0.0.0/8"}}
	ports    = &common.MemberExposure{Type: common.ExposureNodePort, Nodes: "nodes.example.com"}
	none     = &common.MemberExposure{Type: common.ExposureNone}
)

// TestAt: a load balancer leads to the port of the Service, and nodes to one of their own; until either is given there is no host.
func TestAt(t *testing.T) {
	for name, tc := range map[string]struct {
		exposure  *common.MemberExposure
		seen      seen
		host      string
		port      int32
		addressed bool
	}{
		"balancer, new":     {balancer, seen{}, "", 0, false},
		"balancer":          {balancer, seen{"ingress": {map[string]any{"ip": "192.0.2.1"}}}, "192.0.2.1", 5671, true},
		"balancer's name":   {balancer, seen{"ingress": {map[string]any{"hostname": "lb.example.com"}}}, "lb.example.com", 5671, true},
		"ports, new":        {ports, seen{}, "", 0, true},
		"ports":             {ports, seen{"ports": {map[string]any{"nodePort": int64(30001)}}}, "nodes.example.com", 30001, true},
		"ports, as in JSON": {ports, seen{"ports": {map[string]any{"nodePort": 30001.0}}}, "nodes.example.com", 30001, true},
	} {
		host, port := Address(tc.seen, tc.exposure, 5671)
		if host != tc.host || port != tc.port || HasAddress(tc.seen, tc.exposure) != tc.addressed {
			t.Errorf("%s: %s:%d, addressed %t", name, host, port, HasAddress(tc.seen, tc.exposure))
		}
	}
}

// TestOpen: what was a Service's own stays, and a load balancer lets in whom a network policy does.
func TestOpen(t *testing.T) {
	own := map[string]string{"own": "x"}
	e := *balancer
	e.Annotations = map[string]common.AnnotationValue{"pool": "a"}
	got := Open(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: own}}, &e)
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"own": "x", "pool": "a"}},
		Spec: corev1.ServiceSpec{
			Type: "LoadBalancer", ExternalTrafficPolicy: "Local", LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(own) != 1 {
		t.Errorf("(-want +got):\n%s\nwhat others have: %v", diff, own)
	}
	if got := Open(&corev1.Service{}, ports); got.Spec.Type != "NodePort" || got.Spec.ExternalTrafficPolicy != "" {
		t.Errorf("a Service of ports: %+v", got.Spec)
	}
}

// TestExternalClients: nobody, those of some networks, or anybody.
func TestExternalClients(t *testing.T) {
	for name, tc := range map[string]struct {
		exposure *common.MemberExposure
		want     []workload.Flow
	}{
		"nothing":  {nil, nil},
		"none":     {none, nil},
		"networks": {balancer, []workload.Flow{{Ports: []int32{5671}, Blocks: []string{"10.0.0.0/8"}}}},
		"anybody":  {ports, []workload.Flow{{Ports: []int32{5671}, Anywhere: true}}},
	} {
		if diff := cmp.Diff(tc.want, ExternalClients(tc.exposure, 5671)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := Check("spec.exposure", &common.MemberExposure{Type: common.ExposureNodePort}); err == nil ||
		!strings.HasPrefix(err.Error(), "spec.exposure.nodes: ") {
		t.Errorf("ports without nodes: %v", err)
	}
	if err := Check("spec.exposure", ports); err != nil {
		t.Error(err)
	}
}
