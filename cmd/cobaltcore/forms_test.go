package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
)

const formFolder = "../../docs/reference/form"

// readForm returns a file with a form.
func readForm(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	form := map[string]any{}
	if err := yaml.Unmarshal(data, &form); err != nil {
		t.Fatal(err)
	}
	return form
}

// formKinds returns the kinds with a form.
func formKinds(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(formFolder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, file := range files {
		kind, _, _ := unstructured.NestedString(readForm(t, file), "schema", "title")
		kinds = append(kinds, kind)
	}
	if len(kinds) < 4 {
		t.Fatalf("forms of %v only", kinds)
	}
	return kinds
}

// claimForm returns the schema of a kind's form.
func claimForm(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	form := readForm(t, filepath.Join(formFolder, strings.ToLower(kind)+".json"))
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("form.json", decoded(t, form["schema"])); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("form.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestFormsAcceptExamples tests that a form accepts each claim of the examples.
func TestFormsAcceptExamples(t *testing.T) {
	accepted := map[string]int{}
	forms := map[string]*jsonschema.Schema{}
	for _, kind := range formKinds(t) {
		forms[kind] = claimForm(t, kind)
	}
	for _, file := range yamlFiles(t, "../../examples") {
		docs, err := input.Read([]string{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			claim := map[string]any{}
			if err := yaml.Unmarshal(d.Data, &claim); err != nil {
				t.Fatal(err)
			}
			kind, _ := claim["kind"].(string)
			if forms[kind] == nil {
				continue
			}
			accepted[kind]++
			if err := forms[kind].Validate(decoded(t, claim)); err != nil {
				t.Errorf("%s: the form does not accept the claim: %v", file, err)
			}
		}
	}
	for kind := range forms {
		if accepted[kind] == 0 {
			t.Errorf("no example of %s", kind)
		}
	}
}

// TestFormAgreesWithAPI compares the form with the API for values that users enter.
func TestFormAgreesWithAPI(t *testing.T) {
	const ref = "{name: cloud, namespace: tenant-a}"
	for _, tc := range []struct {
		reason, kind, spec string
		want               bool
	}{
		{"only the preset is set", "ControlPlaneCluster", `openStackRelease: "2026.2"`, true},
		{"the reference is the only decision", "HypervisorCluster", "controlPlaneRef: " + ref, true},
		{"the reference is the only decision", "KeystoneService", "controlPlaneRef: " + ref, true},
		{"devices are the only decision", "StorageCluster", "deviceSelector: {all: true}", true},
		{"a pattern of devices", "StorageCluster", "deviceSelector: {filter: ^nvme}", true},
		{"a required field is missing", "ControlPlaneCluster", "size: small", false},
		{"no such release", "ControlPlaneCluster", `openStackRelease: "2019.1"`, false},
		{"an unknown field", "ControlPlaneCluster", `{openStackRelease: "2026.2", unknown: 1}`, false},
		{"no control plane", "HypervisorCluster", "cell: cell1", false},
		{"no devices", "StorageCluster", "replicationFactor: 3", false},
		{"two choices of devices", "StorageCluster", "{deviceSelector: {all: true}, nodes: [{name: a, devices: [{name: sda}]}]}", false},
		{"two selections", "StorageCluster", "deviceSelector: {filter: ^nvme, pathFilter: ^/dev}", false},
		{"no selection", "StorageCluster", "deviceSelector: {}", false},
		{"all is false", "StorageCluster", "deviceSelector: {all: false}", false},
		{"two kinds of redundancy", "StorageCluster",
			"{deviceSelector: {all: true}, pools: [{name: a, application: rgw, replicated: {size: 3}, erasureCoded: {dataChunks: 2, codingChunks: 1}}]}", false},
		{"an external cluster has no monitors of its own", "StorageCluster",
			"{external: {fsid: 3c5b9d9e-0000-4000-8000-000000000000, monitors: [10.0.0.1], clients: [{service: nova, secretRef: {name: a}}]}, monitors: {count: 3}}", false},
		{"an external database", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", infrastructure: {mariadb: {external: {host: db.example.com, user: root, secretRef: {name: db}}}}}`, true},
		{"an external database has no replicas", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", infrastructure: {mariadb: {replicas: 3, external: {host: db.example.com, user: root, secretRef: {name: db}}}}}`, false},
		{"an external database without a host", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", infrastructure: {mariadb: {external: {user: root, secretRef: {name: db}}}}}`, false},
		{"an external queue has no volume", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", infrastructure: {rabbitmq: {storageSize: 1Gi, external: {host: q.example.com, user: a, secretRef: {name: q}}}}}`, false},
		{"a Gateway", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", global: {exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}}}`, true},
		{"a Gateway without a name", "ControlPlaneCluster", `{openStackRelease: "2026.2", global: {exposure: {type: GatewayAPI}}}`, false},
		{"an Ingress has no paths", "ControlPlaneCluster", `{openStackRelease: "2026.2", global: {exposure: {type: Ingress, routing: Paths}}}`, false},
		{"an exposure without a type", "ControlPlaneCluster", `{openStackRelease: "2026.2", global: {exposure: {}}}`, false},
		{"an issuer", "ControlPlaneCluster", `{openStackRelease: "2026.2", global: {tls: {issuerRef: {name: a, kind: Issuer}}}}`, true},
		{"an unknown kind of issuer", "ControlPlaneCluster", `{openStackRelease: "2026.2", global: {tls: {issuerRef: {name: a, kind: Other}}}}`, false},
		{"two storages of a store", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", services: {glance: {stores: [{name: a, file: {storageSize: 1Gi}, rbd: {secretRef: {name: a}}}]}}}`, false},
		{"no storage of a store", "ControlPlaneCluster", `{openStackRelease: "2026.2", services: {glance: {stores: [{name: a}]}}}`, false},
		{"no storage of a backend", "ControlPlaneCluster", `{openStackRelease: "2026.2", services: {cinder: {backends: [{name: a}]}}}`, false},
		{"a volume without a unit", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {mariadb: {storageSize: "100"}}}`, false},
		{"memory with the wrong unit", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {memcached: {memory: 512m}}}`, false},
		{"memory as a small number", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {memcached: {memory: 512}}}`, false},
		{"memory", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {memcached: {memory: 512Mi, cpu: 500m}}}`, true},
		{"no processor", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {memcached: {cpu: 0}}}`, false},
		{"half a core", "ControlPlaneCluster", `{openStackRelease: "2026.2", infrastructure: {memcached: {cpu: "0.5"}}}`, true},
		{"an allocation ratio as a number", "HypervisorCluster", "{controlPlaneRef: " + ref + ", cpu: {allocationRatio: 4}}", true},
		{"an allocation ratio as text", "HypervisorCluster", "{controlPlaneRef: " + ref + `, cpu: {allocationRatio: "1.5"}}`, true},
		{"an allocation ratio below 1", "HypervisorCluster", "{controlPlaneRef: " + ref + `, cpu: {allocationRatio: "0.5"}}`, true},
		{"an allocation ratio of 0", "HypervisorCluster", "{controlPlaneRef: " + ref + `, cpu: {allocationRatio: "0"}}`, false},
		{"an allocation ratio of 129", "HypervisorCluster", "{controlPlaneRef: " + ref + `, cpu: {allocationRatio: 129}}`, false},
		{"models require the mode custom", "HypervisorCluster", "{controlPlaneRef: " + ref + ", cpu: {mode: host-model, models: [Skylake]}}", false},
		{"the mode custom requires models", "HypervisorCluster", "{controlPlaneRef: " + ref + ", cpu: {mode: custom}}", false},
		{"custom models", "HypervisorCluster", "{controlPlaneRef: " + ref + ", cpu: {mode: custom, models: [Skylake-Server]}}", true},
		{"a libvirt of the node has no image", "HypervisorCluster",
			"{controlPlaneRef: " + ref + ", virtualization: {libvirt: {mode: Host, image: {tag: v1}}}}", false},
		{"a network without a prefix length", "ControlPlaneCluster",
			`{openStackRelease: "2026.2", services: {nova: {hypervisorNetworks: [10.0.0.0]}}}`, false},
		{"a network", "ControlPlaneCluster", `{openStackRelease: "2026.2", services: {nova: {hypervisorNetworks: [10.0.0.0/24]}}}`, true},
		{"an interval without a unit", "StorageCluster",
			`{deviceSelector: {all: true}, pools: [{name: a, mirroring: {snapshotSchedules: [{interval: "24"}]}}], mirroring: {}}`, false},
	} {
		t.Run(tc.kind+", "+tc.reason, func(t *testing.T) {
			claim := map[string]any{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": tc.kind, "metadata": map[string]any{"name": "a", "namespace": "b"}}
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			claim["spec"] = spec
			api, err := definition.Validator("crossplane.c5c3.io/v1alpha1", tc.kind)
			if err != nil {
				t.Fatal(err)
			}
			form := claimForm(t, tc.kind).Validate(decoded(t, claim))
			if diff := cmp.Diff(tc.want, form == nil); diff != "" {
				t.Errorf("the form (-want +got):\n%s%v", diff, form)
			}
			errs := api.Validate(claim)
			if diff := cmp.Diff(tc.want, len(errs) == 0); diff != "" {
				t.Errorf("the API (-want +got):\n%s%v", diff, errs)
			}
		})
	}
}

// TestFormsHaveNoDefaults tests that rjsf fills in required fields only: a default of an optional field would add its parents.
func TestFormsHaveNoDefaults(t *testing.T) {
	want := map[string][]string{
		"ControlPlaneCluster": {"apiVersion", "kind", "namespace", "openStackRelease"}, "HypervisorCluster": {"apiVersion", "kind", "namespace"},
		"KeystoneService": {"apiVersion", "kind", "namespace"}, "StorageCluster": {"all", "apiVersion", "kind", "namespace"},
		"OpenStackCluster": {"all", "apiVersion", "kind", "namespace"},
	}
	for _, kind := range formKinds(t) {
		for _, folder := range []string{formFolder, "../../examples/portal/backstage"} {
			got := map[string]bool{}
			defaults(readForm(t, filepath.Join(folder, strings.ToLower(kind)+".json")), "", got)
			for _, name := range want[kind] {
				if !got[name] {
					t.Errorf("%s/%s: %s has no default", folder, kind, name)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("%s/%s: defaults of %v", folder, kind, reflect.ValueOf(got).MapKeys())
			}
		}
	}
}

// defaults adds the names of the properties with a default.
func defaults(node any, name string, to map[string]bool) {
	switch v := node.(type) {
	case map[string]any:
		if _, ok := v["default"]; ok && v["type"] != nil {
			to[name] = true
		}
		for key, below := range v {
			defaults(below, key, to)
		}
	case []any:
		for _, below := range v {
			defaults(below, name, to)
		}
	}
}
