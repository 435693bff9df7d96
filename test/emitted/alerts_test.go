package emitted

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// expression is that of an alert of a claim's Keystone.
func expression(t *testing.T, alert string) string {
	t.Helper()
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			if o.Kind != "PrometheusRule" || o.Name != "keystone" {
				continue
			}
			m := o.Manifest.AsMap()
			if o.Wrapped {
				m, _, _ = unstructured.NestedMap(m, "spec", "forProvider", "manifest")
			}
			groups, _, _ := unstructured.NestedSlice(m, "spec", "groups")
			for _, rule := range groups[0].(map[string]any)["rules"].([]any) {
				if r := rule.(map[string]any); r["alert"] == alert {
					return strings.ReplaceAll(r["expr"].(string), o.Namespace, "cloud")
				}
			}
		}
	}
	t.Fatalf("no alert %s", alert)
	return ""
}

// TestJobFailed: the alert is about the last Job of a kind that has ended, by Prometheus's own engine and the metrics of kube-state-metrics
// (https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/workload/job-metrics.md).
func TestJobFailed(t *testing.T) {
	tool := os.Getenv("PROMQL")
	if tool == "" {
		t.Skip("PROMQL names no engine; make test-package builds it")
	}
	type labels = map[string]string
	type series struct {
		Labels labels  `json:"labels"`
		Value  float64 `json:"value"`
	}
	type question struct {
		Expr   string   `json:"expr"`
		Series []series `json:"series"`
	}
	job := func(name string, created float64, end string) []series {
		with := func(metric, condition string) labels {
			l := labels{"__name__": metric, "namespace": "cloud", "job_name": name}
			if condition != "" {
				l["condition"] = condition
			}
			return l
		}
		out := []series{{with("kube_job_created", ""), created}, {with("kube_job_status_failed", ""), 1}}
		for _, how := range []string{"complete", "failed"} {
			if end == how {
				out = append(out, series{with("kube_job_"+how, "true"), 1}, series{with("kube_job_"+how, "false"), 0})
			}
		}
		return out
	}
	expr := expression(t, "KeystoneJobFailed")
	var questions []question
	var wants [][]string
	for _, tc := range []struct {
		reason string
		jobs   [][]series
		want   []string
	}{
		{"No Job at all.", nil, nil},
		{"A pod failed, and the Job goes on.", [][]series{job("keystone-bootstrap-a", 1, "")}, nil},
		{"A pod failed, and the next succeeded.", [][]series{job("keystone-bootstrap-a", 1, "complete")}, nil},
		{"The Job has given up.", [][]series{job("keystone-bootstrap-a", 1, "failed")}, []string{"keystone-bootstrap-a"}},
		{"A later one succeeded.", [][]series{job("keystone-bootstrap-a", 1, "failed"), job("keystone-bootstrap-b", 2, "complete")}, nil},
		{"A later one failed.", [][]series{job("keystone-bootstrap-a", 1, "complete"), job("keystone-bootstrap-b", 2, "failed")}, []string{"keystone-bootstrap-b"}},
		{
			"A later one runs, which tells nothing yet.",
			[][]series{job("keystone-trust-flush-1", 1, "failed"), job("keystone-trust-flush-2", 2, "")}, []string{"keystone-trust-flush-1"},
		},
		{
			"Another kind's success does not count.",
			[][]series{job("keystone-trust-flush-1", 1, "failed"), job("keystone-bootstrap-b", 2, "complete")}, []string{"keystone-trust-flush-1"},
		},
		{
			"Both.", [][]series{job("keystone-trust-flush-1", 1, "failed"), job("keystone-bootstrap-b", 2, "failed")},
			[]string{"keystone-bootstrap-b", "keystone-trust-flush-1"},
		},
		{"Somebody else's Job.", [][]series{job("glance-bootstrap-a", 1, "failed")}, nil},
	} {
		q := question{Expr: expr, Series: []series{}}
		for _, j := range tc.jobs {
			q.Series = append(q.Series, j...)
		}
		questions, wants = append(questions, q), append(wants, append([]string{tc.reason}, tc.want...))
	}
	in, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tool, "evaluate")
	command.Stdin = strings.NewReader(string(in))
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var answers [][]labels
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		got := map[string]bool{}
		for _, l := range answers[i] {
			got[l["job_name"]] = true
		}
		if len(got) != len(want)-1 {
			t.Errorf("%s The alert is raised for %v", want[0], answers[i])
		}
		for _, name := range want[1:] {
			if !got[name] {
				t.Errorf("%s The alert is not raised for %s", want[0], name)
			}
		}
	}
}
