package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
)

// stacked returns a claim that enables Heat, with additional fields.
func stacked(more string) string { return "{services: {heat: {enabled: true" + more + "}}}" }

// heatOf returns the spec of Heat for a claim.
func heatOf(t *testing.T, spec, platform string) *heatv1.HeatSpec {
	t.Helper()
	m, err := derive(input(t, spec, platform, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &xrOf[*heatv1.Heat](t, m, heatv1.ServiceName).Spec
}

// TestHeatProcessesDefaultToSize checks that unset fields of a process come from the size.
func TestHeatProcessesDefaultToSize(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML string
		want              []string
	}{
		"size": {"The claim sets none.", "", []string{"2 × 250m, 512Mi", "2 × 250m, 512Mi", "2 × 250m, 512Mi"}},
		"claim": {
			"The claim sets all fields.", ", api: {replicas: 4}, engine: {memory: 2Gi}, cfn: {cpu: 100m}",
			[]string{"4 × 250m, 512Mi", "2 × 250m, 2Gi", "2 × 100m, 512Mi"},
		},
		"off": {"Servers send no signals.", ", cfn: {enabled: false}", []string{"2 × 250m, 512Mi", "2 × 250m, 512Mi", "none"}},
	} {
		h := heatOf(t, stacked(tc.extraYAML), queued)
		got := []string{summary(&h.API), summary(&h.Engine), "none"}
		if h.CFN != nil {
			got[2] = summary(&h.CFN.Process)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestCloudFormationAPIHasOwnHostname checks that the CloudFormation API has its own host name.
func TestCloudFormationAPIHasOwnHostname(t *testing.T) {
	const exposed = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}, " +
		"limits: [{name: a, namespaces: ['*'], domains: ['*']}]}"
	const internal = "https://heat-cfn." + instance + ".svc:8000/v1"
	for name, tc := range map[string]struct {
		reason, extraYAML, platform string
		want                        common.URL
	}{
		"inside":    {"Without exposure, the address is internal.", "", queued, internal},
		"outside":   {"The host name is below the domain.", "", exposed, "https://heat-cfn.cloud.tenant-a.example.com/v1"},
		"host name": {"The claim sets it.", ", cfn: {hostname: report.example.org}", exposed, "https://report.example.org/v1"},
	} {
		c := heatOf(t, stacked(tc.extraYAML), tc.platform).CFN
		if c.Endpoints.Public != tc.want || c.Endpoints.Internal != internal || (c.Exposure != nil) != (tc.want != internal) {
			t.Errorf("%s: %s %+v, %+v", name, tc.reason, c.Endpoints, c.Exposure)
		}
	}
}

// TestHeatConnectionsCountWorkersAndThreads checks that each worker of an engine has a pool, plus one connection for each thread.
func TestHeatConnectionsCountWorkersAndThreads(t *testing.T) {
	m, err := derive(input(t, stacked(", engine: {replicas: 3, memory: 1Gi}"), queued, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stateOf(t, m, heatv1.ServiceName).Model.Connections(), int64(3*4*(5+64)); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestRejectsUnsupportedHeatSettings checks the errors for settings that Heat does not support.
func TestRejectsUnsupportedHeatSettings(t *testing.T) {
	const exposed = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}}"
	const shared = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, routing: Paths, gateway: {name: a, namespace: b}}}"
	for name, tc := range map[string]struct{ spec, platform, field, message string }{
		"no issuer":     {stacked(""), bare, "spec.services.heat.enabled", "the PlatformConfig has no queueIssuer"},
		"paths":         {stacked(""), shared, "spec.services.heat.enabled", "use routing Hostnames"},
		"option":        {stacked(", config: {DEFAULT: {num_engines: 3}}"), queued, "spec.services.heat.config.DEFAULT.num_engines", ""},
		"memory":        {stacked(", api: {memory: 128Mi}, uwsgi: {processes: 4}"), queued, "spec.services.heat.api.memory", "4 uWSGI processes"},
		"engine's room": {stacked(", engine: {memory: 64Mi}"), queued, "spec.services.heat.engine.memory", "needs 128Mi"},
		"cfn's room":    {stacked(", cfn: {memory: 64Mi}"), queued, "spec.services.heat.cfn.memory", "needs 128Mi"},
		"no amount":     {stacked(", api: {cpu: much}"), queued, "spec.services.heat.api.cpu", "is not a quantity"},
		"schedule":      {stacked(", archive: {schedule: '0 0 30 2 *'}"), queued, "spec.services.heat.archive.schedule", ""},
		"same host": {
			stacked(", cfn: {hostname: heat.cloud.tenant-a.example.com}"), exposed, "spec.services.heat.cfn.hostname", "heat uses heat.cloud",
		},
	} {
		_, err := derive(input(t, tc.spec, tc.platform, nil))
		requireFieldError(t, name, err, tc.field, tc.message)
	}
}
