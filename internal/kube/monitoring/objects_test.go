package monitoring_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
)

// TestObjectsMatchReviewedManifests compares complete objects of Prometheus and Grafana.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	meta := object.Meta{Name: "keystone", Namespace: "cloud", Labels: map[string]string{"app": "keystone"}}
	conf := common.Monitoring{Labels: map[string]common.LabelValue{"prometheus": "platform"}}
	selector := map[string]string{"app": "keystone"}
	dashboard, err := monitoring.Dashboard(meta, conf, "Keystone",
		monitoring.Panel{Title: "One", Unit: monitoring.Seconds, Lines: []monitoring.Query{{Expr: "up", Legend: "{{name}}"}}},
		monitoring.Panel{Title: "Two", Unit: monitoring.Number}, monitoring.Panel{Title: "Three"},
	)
	if err != nil {
		t.Fatal(err)
	}
	objecttest.Run(t, map[string]objecttest.Case{
		"metrics": {
			Reason: "Metrics are read from a named port, with https if an authority is set.",
			Got: []runtime.Object{
				monitoring.Service(meta, conf, "metrics", selector),
				monitoring.ServiceTLS(meta, conf, "metrics", selector, monitoring.Authority{Secret: "internal-ca", Host: "keystone.cloud.svc"}),
			},
			Want: `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  labels:
    app: keystone
    prometheus: platform
  name: keystone
  namespace: cloud
spec:
  endpoints:
  - interval: 30s
    port: metrics
  selector:
    matchLabels:
      app: keystone
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  labels:
    app: keystone
    prometheus: platform
  name: keystone
  namespace: cloud
spec:
  endpoints:
  - interval: 30s
    port: metrics
    scheme: https
    tlsConfig:
      ca:
        secret:
          key: ca.crt
          name: internal-ca
      serverName: keystone.cloud.svc
  selector:
    matchLabels:
      app: keystone
`,
		},
		"alert": {
			Reason: "A certificate that was not renewed in time waits for the morning.",
			Got:    []runtime.Object{monitoring.Rules(meta, conf, monitoring.CertificatesExpiring("Expiring", "cloud"))},
			Want: `
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  labels:
    app: keystone
    prometheus: platform
  name: keystone
  namespace: cloud
spec:
  groups:
  - name: keystone
    rules:
    - alert: Expiring
      annotations:
        description: Check the events of the Certificate and its issuer.
        runbook_url: https://github.com/c5c3/crossplane-cobaltcore/blob/main/docs/runbooks/Expiring.md
        summary: Certificate {{ $labels.name }} expires within a week and was not
          renewed.
      expr: certmanager_certificate_expiration_timestamp_seconds{namespace="cloud"}
        - time() < 7 * 24 * 3600
      for: 1h
      labels:
        namespace: cloud
        severity: warning
`,
		},
		"dashboard": {
			Reason: "Two panels stand in a row, read only, of a data source that is chosen.",
			Got:    []runtime.Object{dashboard},
			Want: `
apiVersion: v1
data:
  keystone.json: |
    {"editable":false,"panels":[{"datasource":{"type":"prometheus","uid":"${datasource}"},"fieldConfig":{"defaults":{"unit":"s"},"overrides":[]},"gridPos":{"h":8,"w":12,"x":0,"y":0},"id":1,"targets":[{"expr":"up","legendFormat":"{{name}}","refId":"A"}],"title":"One","type":"timeseries"},{"datasource":{"type":"prometheus","uid":"${datasource}"},"fieldConfig":{"defaults":{"unit":"short"},"overrides":[]},"gridPos":{"h":8,"w":12,"x":12,"y":0},"id":2,"targets":[],"title":"Two","type":"timeseries"},{"datasource":{"type":"prometheus","uid":"${datasource}"},"fieldConfig":{"defaults":{"unit":""},"overrides":[]},"gridPos":{"h":8,"w":12,"x":0,"y":8},"id":3,"targets":[],"title":"Three","type":"timeseries"}],"refresh":"1m","schemaVersion":39,"tags":["cobaltcore"],"templating":{"list":[{"name":"datasource","query":"prometheus","type":"datasource"}]},"time":{"from":"now-7d","to":"now"},"title":"Keystone","uid":"832c7c2e3807c7c7ad0a"}
kind: ConfigMap
metadata:
  labels:
    app: keystone
    grafana_dashboard: "1"
    prometheus: platform
  name: keystone
  namespace: cloud
`,
		},
	})
}
