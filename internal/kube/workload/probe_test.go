package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestProbe: each kind of check asks its own question, three times, and the same patience holds for all: a slow start is no failure, and a
// pod that does not answer is spared before it is restarted.
func TestProbe(t *testing.T) {
	port := intstr.FromString("api")
	for name, tc := range map[string]struct {
		reason string
		check  Check
		want   corev1.ProbeHandler
	}{
		"https": {
			reason: "The process serves TLS itself.", check: HTTPS("api", "/healthcheck"),
			want: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Scheme: "HTTPS", Path: "/healthcheck", Port: port}},
		},
		"http": {
			reason: "Something before it does.", check: HTTP("api", "/"),
			want: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Scheme: "HTTP", Path: "/", Port: port}},
		},
		"tcp":  {reason: "It speaks no HTTP.", check: TCP("api"), want: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}},
		"exec": {reason: "It listens nowhere.", check: Exec("ovn-nbctl", "show"), want: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ovn-nbctl", "show"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := corev1.Container{}
			Probe(&c, tc.check)
			for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
				if diff := cmp.Diff(tc.want, p.ProbeHandler); diff != "" {
					t.Errorf("%s\n%s (-want +got):\n%s", tc.reason, name, diff)
				}
				if p.TimeoutSeconds > p.PeriodSeconds && p.Exec != nil {
					t.Errorf("%s: commands of %d s are started every %d s and pile up", name, p.TimeoutSeconds, p.PeriodSeconds)
				}
			}
			tolerated := func(p *corev1.Probe) int32 { return p.PeriodSeconds * p.FailureThreshold }
			if tolerated(c.ReadinessProbe) >= tolerated(c.LivenessProbe) || tolerated(c.LivenessProbe) >= tolerated(c.StartupProbe) {
				t.Errorf("%d, %d and %d s of failures are tolerated", tolerated(c.ReadinessProbe), tolerated(c.LivenessProbe), tolerated(c.StartupProbe))
			}
		})
	}
}
