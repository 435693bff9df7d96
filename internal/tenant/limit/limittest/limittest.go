// Package limittest provides a limit for tests that do not test limits, and the check that limits cover all texts of a claim.
package limittest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Everything is a limit of a PlatformConfig, in YAML, that allows everything in all claims. DefaultMaxima is like it, with the default
// maxima.
const (
	Everything = lists + `,
  maxima: {replicas: 100, processes: 100, storage: "1E", cpu: "1E", memory: "1E",
    ephemeralStorage: "1E", runsPerHour: 60, nodeCPU: "1E", nodeMemory: "1E"}}`
	DefaultMaxima = lists + "}"
)

const lists = `{name: everything, namespaces: ["*"], registries: ["*"], domains: ["*"], secretStores: ["*"], gateways: ["*"],
  ingressClasses: ["*"], exposureNamespaces: ["*"], annotations: ["*"], issuers: ["*"], nodeSelectors: ["*"], tolerations: ["*"],
  storageClasses: ["*"], monitoringLabels: ["*"], s3Endpoints: ["*"], directoryHosts: ["*"], openIDHosts: ["*"],
  keystoneHosts: ["*"], databaseHosts: ["*"], queueHosts: ["*"], downloadHosts: ["*"], storageNetworks: ["*"], nfsServers: ["*"],
  vaultServers: ["*"],
  hypervisorNetworks: ["*"], nodeHosts: ["*"], hypervisorNodes: ["*"], hypervisorRegistries: ["*"],
  hypervisorAgents: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageImages: ["*"]`

// Text is a text field of a claim that a limit must allow: a spec that sets it, and the field of the error without a limit.
type Text struct{ Spec, Field string }

// CheckTexts checks that each text in the spec of a claim is either limited or, by the reason, internal: a developer who adds a field must
// classify it. apply creates a claim with the spec of one limited text on a platform without the limit of this text, and returns the error,
// which must name the field and a limit.
func CheckTexts(
	t *testing.T, spec reflect.Type, limited map[string]Text, internal map[string][]string, apply func(name, spec string) error,
) {
	t.Helper()
	found := textFields(spec)
	known := slices.Collect(maps.Keys(limited))
	for _, fields := range internal {
		known = append(known, fields...)
	}
	for _, f := range found {
		if !slices.Contains(known, f) {
			t.Errorf("%s is neither in limited nor, with the reason, in internal", f)
		}
	}
	for _, f := range known {
		if !slices.Contains(found, f) {
			t.Errorf("%s is listed, and there is no such field", f)
		}
	}
	for name, text := range limited {
		err := apply(name, text.Spec)
		if err == nil || !strings.Contains(err.Error(), text.Field+": ") || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: error %v, want one about %s and a limit", name, err, text.Field)
		}
	}
}

// textFields returns the names of all fields of a type that contain text, or a list or map of texts, as <struct>.<field>.
func textFields(t reflect.Type) []string {
	var out []string
	visited := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || visited[t] {
			return
		}
		visited[t] = true
		for f := range t.Fields() {
			if !f.IsExported() {
				continue
			}
			value := f.Type
			for value.Kind() == reflect.Pointer || value.Kind() == reflect.Slice {
				value = value.Elem()
			}
			if !f.Anonymous && (value.Kind() == reflect.String || value.Kind() == reflect.Map) {
				out = append(out, t.Name()+"."+f.Name)
			}
			visit(f.Type)
		}
	}
	visit(t)
	slices.Sort(out)
	return slices.Compact(out)
}
