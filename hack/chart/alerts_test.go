package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// TestClockMatchesFunctionsAndAlert checks that the CronJob has the name and the interval that the functions and the alert assume.
func TestClockMatchesFunctionsAndAlert(t *testing.T) {
	data, err := os.ReadFile(chart + "/templates/clock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n  name: " + freshness.ClockName + "\n", "\n  namespace: " + freshness.ClockNamespace + "\n",
		fmt.Sprintf("\n  schedule: \"*/%d * * * *\"\n", int(freshness.ClockInterval.Minutes())),
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the CronJob of the clock does not contain %q", want)
		}
	}
}

// TestAlertsOfChart checks that alerts are installed if monitoring of the platform is enabled, with its labels.
func TestAlertsOfChart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, monitoring string
		want               any
	}{
		"Default":  {"Monitoring is off by default.", "", nil},
		"Disabled": {"It is disabled.", ", monitoring: {enabled: false}", nil},
		"Enabled":  {"Prometheus's operator selects it by the label.", ", monitoring: {enabled: true, labels: {release: prometheus}}", "prometheus"},
	} {
		t.Run(name, func(t *testing.T) {
			o := rendered(t, "platformConfig: {spec: {domain: cloud.example.com"+tc.monitoring+"}}\n")["PrometheusRule/cobaltcore"]
			var got any
			if o != nil {
				got = at(o, "metadata", "labels", "release")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
