package controlplane

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/controlplanetest"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
)

// costly matches the names of fields that request pods, CPU, memory or storage.
var costly = regexp.MustCompile(`(?i)(replicas|cpu|memory|resources|storageSize|conversionSize|processes|concurrency)$`)

// free are costly fields that no quota counts, with the reason.
var free = map[string]string{
	"spec.services.cinder.conversionSize":    "it is scratch space of the node, which the request for ephemeral storage reserves",
	"spec.services.nova.quotas.memoryMiB":    "it limits servers",
	"spec.services.nova.flavors[].memoryMiB": "servers run on hypervisors",
}

// everyService is a claim with all services, and with a part of each kind that costs something.
const everyService = `{size: large, infrastructure: {mariadb: {maxScale: {enabled: true}, backup: {schedule: "0 1 * * *", s3: {bucket: a, endpoint: s3.a.b,
	credentialsSecretRef: {name: a}}, stagingStorage: {storageSize: 5Gi}}}}, tempest: {enabled: true, allowAdministration: true}, services: {
	keystone: {federation: {provider: a, metadataURL: "https://a.b/c", issuer: "https://a.b", clientID: a, clientSecretRef: {name: a, key: b}}},
	placement: {enabled: true}, barbican: {enabled: true}, heat: {enabled: true, cfn: {enabled: true}}, horizon: {enabled: true},
	glance: {enabled: true, stores: [{name: a, file: {storageSize: 10Gi, storageClass: a}}], import: {staging: {storageSize: 5Gi}},
		imageCache: {storageSize: 5Gi}},
	nova: {enabled: true, cells: [{name: cell1, metadata: {}, infrastructure: {mariadb: {}, rabbitmq: {}}}], metadata: {perCell: true},
		consoles: {}, hypervisorNetworks: [10.0.0.0/8]},
	neutron: {enabled: true, ovn: {relay: {replicas: 2}}},
	cinder: {enabled: true, backends: [{name: a, rbd: {pool: a, user: b}, volume: {}}, {name: b, rbd: {pool: c, user: d}}], backup: {file: {storageSize: 5Gi, storageClass: a}}}}}`

// TestEveryCostlyFieldIsCounted changes each field that requests pods, CPU, memory or storage in a claim of all services, and requires that a
// cost item changes with it. A field that no item contains would pass every quota.
func TestEveryCostlyFieldIsCounted(t *testing.T) {
	costs := func(spec map[string]any) string {
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		read, err := claim.Read(input(t, string(data), bare, nil))
		if err != nil {
			t.Fatal(err)
		}
		enabled := enabledServices(read)
		shared, _ := infrastructure.Derive(read, demandOf(read, enabled), nil) // Costs exist also for a spec that other rules reject.
		var out strings.Builder
		for _, p := range newModel(shared, enabled).parts() {
			fmt.Fprintln(&out, p.Field, p.Replicas, p.Times, p.Storage, p.Processes, amounts(p.Resources))
		}
		return out.String()
	}
	base := costs(controlplanetest.Fields(t, everyService))
	for _, f := range costlyFields("spec", reflect.TypeFor[controlplanev1.ControlPlaneClusterSpec]()) {
		if free[f.path] != "" {
			continue
		}
		spec := controlplanetest.Fields(t, everyService)
		setAt(spec, strings.Split(strings.TrimPrefix(f.path, "spec."), "."), f.value)
		if got := costs(spec); got == base {
			t.Errorf("%s = %v changes no cost item: add it to the model's Pods or Volumes, or to free with the reason", f.path, f.value)
		}
	}
}

// amounts returns the requests and limits as text.
func amounts(r *common.Resources) string {
	if r == nil {
		return ""
	}
	requests, limits := ptr.Deref(r.Requests, common.ResourceAmounts{}), ptr.Deref(r.Limits, common.ResourceAmounts{})
	return fmt.Sprint(requests.CPU, requests.Memory, limits.CPU, limits.Memory)
}

type costlyField struct {
	path  string
	value any
}

// costlyFields lists the costly fields of a type, with [] after each list, and an unusual value for each.
func costlyFields(path string, t reflect.Type) []costlyField {
	var out []costlyField
	for ; t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice; t = t.Elem() {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[resource.Quantity]() {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := path + "." + name
		if name == "" {
			below = path
		}
		kind := f.Type
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case !costly.MatchString(name) || kind.Kind() == reflect.Slice:
			out = append(out, costlyFields(below, f.Type)...)
		case kind == reflect.TypeFor[common.Resources]():
			out = append(out, costlyField{below, map[string]any{"limits": map[string]any{"memory": "77Gi"}}})
		case kind == reflect.TypeFor[resource.Quantity]() || kind.Kind() == reflect.String:
			out = append(out, costlyField{below, "77Gi"})
		case kind.Kind() == reflect.Int32:
			out = append(out, costlyField{below, 7})
		default:
			out = append(out, costlyFields(below, f.Type)...)
		}
	}
	return out
}

// setAt sets a field of an object. A part of the path with [] is the first element of a list.
func setAt(object map[string]any, path []string, value any) {
	name, isList := strings.CutSuffix(path[0], "[]")
	switch {
	case isList:
		list, _ := object[name].([]any)
		if len(list) == 0 {
			list = []any{map[string]any{}}
		}
		element, _ := list[0].(map[string]any)
		list = slices.Clone(list)
		list[0] = element
		object[name] = list
		setAt(element, path[1:], value)
	case len(path) == 1:
		object[name] = value
	default:
		below, _ := object[name].(map[string]any)
		if below == nil {
			below = map[string]any{}
			object[name] = below
		}
		setAt(below, path[1:], value)
	}
}
