package externalaccess

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// observed is an observed Service: its lists by the last element of the path.
type observed map[string][]any

func (s observed) List(path ...string) []any { return s[path[len(path)-1]] }

var (
	balancer = &common.MemberExposure{Type: common.ExposureLoadBalancer, Networks: []common.CIDR{"10.0.0.0/8"}}
	ports    = &common.MemberExposure{Type: common.ExposureNodePort, Nodes: "nodes.example.com"}
	none     = &common.MemberExposure{Type: common.ExposureNone}
)

// TestAddressFollowsExposureType tests that the address of a load balancer has the port of the Service, and an address of nodes has the
// node port; before, it is empty.
func TestAddressFollowsExposureType(t *testing.T) {
	for name, tc := range map[string]struct {
		exposure  *common.MemberExposure
		observed  observed
		host      string
		port      int32
		addressed bool
	}{
		"balancer, new":     {balancer, observed{}, "", 0, false},
		"balancer":          {balancer, observed{"ingress": {map[string]any{"ip": "192.0.2.1"}}}, "192.0.2.1", 5671, true},
		"balancer's name":   {balancer, observed{"ingress": {map[string]any{"hostname": "lb.example.com"}}}, "lb.example.com", 5671, true},
		"ports, new":        {ports, observed{}, "", 0, true},
		"ports":             {ports, observed{"ports": {map[string]any{"nodePort": int64(30001)}}}, "nodes.example.com", 30001, true},
		"ports, as in JSON": {ports, observed{"ports": {map[string]any{"nodePort": 30001.0}}}, "nodes.example.com", 30001, true},
	} {
		host, port := Address(tc.observed, tc.exposure, 5671)
		if host != tc.host || port != tc.port || HasAddress(tc.observed, tc.exposure) != tc.addressed {
			t.Errorf("%s: %s:%d, addressed %t", name, host, port, HasAddress(tc.observed, tc.exposure))
		}
	}
}

// TestOpen tests that other fields of a Service are kept, and that a load balancer allows the same sources as a network policy.
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

// TestExternalClients tests the ingress for no clients, some networks, and all addresses.
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
