// Package limittest provides a limit for tests that do not test limits.
package limittest

import (
	"reflect"
	"slices"
)

// Everything is a limit of a PlatformConfig, in YAML, that allows everything in all claims. DefaultMaxima is like it, with the default
// maxima.
const (
	Everything = lists + `,
  maxima: {replicas: 100, processes: 100, storage: "1e30", cpu: "1e30", memory: "1e30",
    ephemeralStorage: "1e30", runsPerHour: 60, nodeCPU: "1e30", nodeMemory: "1e30"}}`
	DefaultMaxima = lists + "}"
)

const lists = `{name: everything, namespaces: ["*"], registries: ["*"], domains: ["*"], secretStores: ["*"], gateways: ["*"],
  ingressClasses: ["*"], exposureNamespaces: ["*"], annotations: ["*"], issuers: ["*"], nodeSelectors: ["*"], tolerations: ["*"],
  storageClasses: ["*"], monitoringLabels: ["*"], s3Endpoints: ["*"], directoryHosts: ["*"], openIDHosts: ["*"],
  keystoneHosts: ["*"], databaseHosts: ["*"], queueHosts: ["*"], downloadHosts: ["*"], storageNetworks: ["*"], nfsServers: ["*"],
  vaultServers: ["*"],
  hypervisorNetworks: ["*"], nodeHosts: ["*"], hypervisorNodes: ["*"], hypervisorRegistries: ["*"],
  hypervisorAgents: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageImages: ["*"]`

// TextFields returns the names of all fields of a type that contain text, or a list or map of texts, as <struct>.<field>. Tests require a
// limit of each, or the reason why it needs none.
func TextFields(t reflect.Type) []string {
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
