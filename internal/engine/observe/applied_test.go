package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// live is a Deployment as an API server has it: defaulted, annotated by its controller, scaled and restarted by others.
const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nova-api
  namespace: cloud
  uid: u
  labels: {app: nova}
  annotations: {deployment.kubernetes.io/revision: "3", hash: a}
  managedFields:
  - {manager: kubectl, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: apiextensions.crossplane.io/composed/0123, operation: Apply, subresource: status, fieldsV1: {"f:status": {}}}
  - {manager: apiextensions.crossplane.io/composed/0123, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - manager: apiextensions.crossplane.io/composed/0123
    operation: Apply
    fieldsV1:
      "f:metadata": {"f:labels": {"f:app": {}}, "f:annotations": {"f:hash": {}, "f:gone": {}}, "f:finalizers": {"v:\"a\"": {}}}
      "f:spec":
        "f:template":
          "f:metadata": {"f:labels": {".": {}, "f:app": {}}}
          "f:spec":
            "f:volumes": {"k:{\"name\":\"tmp\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}}
            "f:containers":
              "k:{\"name\":\"api\"}":
                ".": {}
                "f:name": {}
                "f:image": {}
                "f:command": {}
                "f:ports": {"k:{\"containerPort\":8774,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}
  finalizers: [a, b]
spec:
  replicas: 5
  template:
    metadata:
      labels: {app: nova}
      annotations: {restarted: now}
    spec:
      dnsPolicy: ClusterFirst
      volumes: [{name: injected, emptyDir: {}}, {name: tmp, emptyDir: {}}]
      containers:
      - {name: sidecar, image: mesh}
      - {name: api, image: nova:1, command: [a, b], imagePullPolicy: Always, ports: [{containerPort: 8774, protocol: TCP}, {containerPort: 9, protocol: TCP}]}
status: {replicas: 5}
`

// TestApplied tests that the last desired state contains the fields that Crossplane applied, and no later changes.
func TestApplied(t *testing.T) {
	const want = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nova-api
  namespace: cloud
  labels: {app: nova}
  annotations: {hash: a}
  finalizers: [a]
spec:
  template:
    metadata:
      labels: {app: nova}
    spec:
      volumes: [{name: tmp, emptyDir: {}}]
      containers:
      - {name: api, image: nova:1, command: [a, b], ports: [{containerPort: 8774}]}
`
	if diff := cmp.Diff(object(t, want), desired(t, object(t, live))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestUnmanagedObjectIsReturnedCompletely tests that an object without managed fields of Crossplane is returned completely.
func TestUnmanagedObjectIsReturnedCompletely(t *testing.T) {
	for name, managed := range map[string]any{
		"nothing":      nil,
		"somebody":     []any{map[string]any{"manager": "kubectl", "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}},
		"without them": []any{map[string]any{"manager": "apiextensions.crossplane.io/composed/1", "operation": "Apply"}},
		"nonsense":     []any{"text", map[string]any{"manager": "apiextensions.crossplane.io/composed/1", "operation": "Apply", "fieldsV1": "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, live)
			o["metadata"].(map[string]any)["managedFields"] = managed
			if diff := cmp.Diff(o, desired(t, o)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func desired(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	body, err := encode.Struct(o)
	if err != nil {
		t.Fatal(err)
	}
	observed, err := observe.New(map[string]encoded.Struct{"o": body})
	if err != nil {
		t.Fatal(err)
	}
	is, _ := observed.Get("o")
	return is.Desired().Map()
}
