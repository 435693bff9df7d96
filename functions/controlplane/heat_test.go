package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
)

// stacked is Heat, with more that is said of it.
func stacked(more string) string { return "{services: {heat: {enabled: true" + more + "}}}" }

// heatOf is what Heat is told of a claim.
func heatOf(t *testing.T, spec, platform string) *heatv1.HeatSpec {
	t.Helper()
	m, err := derive(input(t, spec, platform, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &heat(m, m.services[len(m.services)-1]).(*heatv1.Heat).Spec
}

// TestHeatProcesses: what is not said of a process is its size's.
func TestHeatProcesses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML string
		want              []string
	}{
		"size": {"Nothing is said.", "", []string{"2 × 250m, 512Mi", "2 × 250m, 512Mi", "2 × 250m, 512Mi"}},
		"said": {
			"All of it.", ", api: {replicas: 4}, engine: {memory: 2Gi}, cfn: {cpu: 100m}",
			[]string{"4 × 250m, 512Mi", "2 × 250m, 2Gi", "2 × 100m, 512Mi"},
		},
		"off": {"Nobody reports.", ", cfn: {enabled: false}", []string{"2 × 250m, 512Mi", "2 × 250m, 512Mi", "none"}},
	} {
		h := heatOf(t, stacked(tc.extraYAML), queued)
		got := []string{says(&h.API), says(&h.Engine), "none"}
		if h.CFN != nil {
			got[2] = says(&h.CFN.Process)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestHeatReports: virtual machines report to a host name that nothing else has.
func TestHeatReports(t *testing.T) {
	const exposed = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}, " +
		"limits: [{name: a, namespaces: ['*'], domains: ['*']}]}"
	const internal = "https://heat-cfn." + instance + ".svc:8000/v1"
	for name, tc := range map[string]struct {
		reason, extraYAML, platform string
		want                        common.URL
	}{
		"inside":    {"Nothing is exposed.", "", queued, internal},
		"outside":   {"Below the domain.", "", exposed, "https://heat-cfn.cloud.tenant-a.example.com/v1"},
		"elsewhere": {"As the claim says.", ", cfn: {hostname: report.example.org}", exposed, "https://report.example.org/v1"},
	} {
		c := heatOf(t, stacked(tc.extraYAML), tc.platform).CFN
		if c.Endpoints.Public != tc.want || c.Endpoints.Internal != internal || (c.Exposure != nil) != (tc.want != internal) {
			t.Errorf("%s: %s %+v, %+v", name, tc.reason, c.Endpoints, c.Exposure)
		}
	}
}

// TestHeatConnections: each worker of an engine has a pool, and as many more as it has threads.
func TestHeatConnections(t *testing.T) {
	m, err := derive(input(t, stacked(", engine: {replicas: 3, memory: 1Gi}"), queued, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := heatConnections(m, m.services[len(m.services)-1]), int64(3*4*(5+64)); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestHeatValidation: the claim reports what Heat cannot do.
func TestHeatValidation(t *testing.T) {
	const exposed = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}}"
	const shared = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, routing: Paths, gateway: {name: a, namespace: b}}}"
	for name, tc := range map[string]struct{ spec, platform, field, words string }{
		"no issuer":     {stacked(""), bare, "spec.services.heat.enabled", "queueIssuer of the PlatformConfig"},
		"paths":         {stacked(""), shared, "spec.services.heat.enabled", "use routing Hostnames"},
		"option":        {stacked(", config: {DEFAULT: {num_engines: 3}}"), queued, "spec.services.heat.config.DEFAULT.num_engines", ""},
		"memory":        {stacked(", api: {memory: 128Mi}, uwsgi: {processes: 4}"), queued, "spec.services.heat.api.memory", "4 uWSGI processes"},
		"engine's room": {stacked(", engine: {memory: 64Mi}"), queued, "spec.services.heat.engine.memory", "needs 128Mi"},
		"cfn's room":    {stacked(", cfn: {memory: 64Mi}"), queued, "spec.services.heat.cfn.memory", "needs 128Mi"},
		"no amount":     {stacked(", api: {cpu: much}"), queued, "spec.services.heat.api.cpu", "is no amount"},
		"schedule":      {stacked(", archive: {schedule: '0 0 30 2 *'}"), queued, "spec.services.heat.archive.schedule", ""},
		"same host": {
			stacked(", cfn: {hostname: heat.cloud.tenant-a.example.com}"), exposed, "spec.services.heat.cfn.hostname", "heat is reached",
		},
	} {
		_, err := derive(input(t, tc.spec, tc.platform, nil))
		requireFieldError(t, name, err, tc.field, tc.words)
	}
}
