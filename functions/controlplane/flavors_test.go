package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRejectsInvalidFlavorSpecsAndAliases checks the errors for flavors with extra specs that Nova's API rejects, for devices without an
// alias, and for an alias that would make Nova's API fail.
func TestRejectsInvalidFlavorSpecsAndAliases(t *testing.T) {
	const (
		spec    = "spec.services.nova.flavors[0].extraSpecs: "
		option  = "spec.services.nova.config.pci.alias: "
		gpu     = `{"name": "gpu", "vendor_id": "10de", "product_id": "20b5"}`
		queries = `{"pci_passthrough:alias": "gpu:1"}`
		counts  = "filter_scheduler: {pci_in_placement: true}"
		remedy  = `write one such as {"name": "gpu", "vendor_id": "10de", "product_id": "20b5", "device_type": "type-PCI"}`
	)
	alias := func(values ...string) string { return "pci: {alias: ['" + strings.Join(values, "', '") + "']}" }
	for name, tc := range map[string]struct{ reason, specs, config, want string }{
		"known":                 {"Nova supports it.", `{"hw:cpu_policy": dedicated}`, "", ""},
		"value":                 {"Nova has three values.", `{"hw:cpu_policy": dedicatd}`, "", spec + `hw:cpu_policy: "dedicatd" is none of its values; set one of dedicated, shared, mixed`},
		"name":                  {"The name is misspelled.", `{"hw:cpu_polcy": dedicated}`, "", spec + `hw:cpu_polcy: is not an extra spec of Nova 2025.2; did you mean "hw:cpu_policy"?`},
		"devices":               {"The option describes the devices.", queries, alias(gpu), ""},
		"devices of two":        {"Only one device has an alias.", `{"pci_passthrough:alias": "gpu:1, nic:2"}`, alias(gpu), spec + `pci_passthrough:alias: alias "nic" does not exist, so each server would be rejected; add it to spec.services.nova.config.pci.alias`},
		"devices without alias": {"There is no alias.", queries, "", spec + `pci_passthrough:alias: alias "gpu" does not exist, so each server would be rejected; add it to spec.services.nova.config.pci.alias`},
		"one text":              {"A multi-valued option may be a single string.", queries, "pci: {alias: '" + gpu + "'}", ""},
		"no JSON":               {"Nova parses the value as JSON.", "{}", alias("gpu"), option + "gpu: is no JSON object that Nova reads (invalid character 'g' looking for beginning of value); " + remedy},
		"field":                 {"Nova rejects unknown fields.", "{}", alias(`{"name": "gpu", "vendor": "10de"}`), option + `{"name": "gpu", "vendor": "10de"}: is no JSON object that Nova reads (json: unknown field "vendor"); ` + remedy},
		"number":                {"Nova requires strings.", "{}", alias(`{"name": "gpu", "vendor_id": 4318}`), option + `{"name": "gpu", "vendor_id": 4318}: vendor_id is a number, and Nova reads texts alone; put it in quotation marks`},
		"two objects":           {"A list element must be an object.", "{}", alias(gpu + " " + gpu), option + gpu + " " + gpu + ": more follows than one JSON object; write one element for each alias"},
		"no name":               {"Flavors could not reference it.", "{}", alias(`{"vendor_id": "10de", "product_id": "20b5"}`), option + `{"vendor_id": "10de", "product_id": "20b5"}: name must have 1 to 256 characters; set one`},
		"vendor":                {"lspci shows four digits.", "{}", alias(`{"name": "gpu", "vendor_id": "0x10de", "product_id": "20b5"}`), option + `{"name": "gpu", "vendor_id": "0x10de", "product_id": "20b5"}: vendor_id and product_id must be four hexadecimal digits, as lspci -nn shows them; correct them`},
		"product":               {"The name has the maximum length.", "{}", alias(`{"name": "gpu", "vendor_id": "10de", "product_id": "20b"}`), option + `{"name": "gpu", "vendor_id": "10de", "product_id": "20b"}: vendor_id and product_id must be four hexadecimal digits, as lspci -nn shows them; correct them`},
		"type":                  {"vdpa is of ports.", "{}", alias(strings.Replace(gpu, "}", `, "device_type": "vdpa"}`, 1)), option + strings.Replace(gpu, "}", `, "device_type": "vdpa"}`, 1) + `: device_type "vdpa" is none of type-PCI, type-PF, type-VF; set one of them`},
		"policy":                {"Nova has four device types.", "{}", alias(strings.Replace(gpu, "}", `, "numa_policy": "strict"}`, 1)), option + strings.Replace(gpu, "}", `, "numa_policy": "strict"}`, 1) + `: numa_policy "strict" is none of required, legacy, preferred, socket; set one of them`},
		"capability":            {"The capability type is always pci.", "{}", alias(strings.Replace(gpu, "}", `, "capability_type": "usb"}`, 1)), option + strings.Replace(gpu, "}", `, "capability_type": "usb"}`, 1) + `: capability_type "usb" is not pci; remove it`},
		"migration":             {"Nova requires this boolean as a string.", "{}", alias(strings.Replace(gpu, "}", `, "live_migratable": "maybe"}`, 1)), option + strings.Replace(gpu, "}", `, "live_migratable": "maybe"}`, 1) + `: live_migratable "maybe" is no boolean; set "true" or "false"`},
		"no devices":            {"Nova could not select a resource class.", "{}", alias(`{"name": "gpu"}`), option + `{"name": "gpu"}: vendor_id and product_id are missing; set both, or set resource_class and filter_scheduler.pci_in_placement`},
		"class":                 {"Placement determines the resource class.", "{}", alias(`{"name": "gpu", "resource_class": "GPU"}`) + ", " + counts, ""},
		"class, text":           {"The boolean may be a string.", "{}", alias(`{"name": "gpu", "resource_class": "GPU"}`) + `, filter_scheduler: {pci_in_placement: "True"}`, ""},
		"class uncounted":       {"Devices are not tracked in Placement.", "{}", alias(`{"name": "gpu", "resource_class": "GPU"}`), option + `{"name": "gpu", "resource_class": "GPU"}: vendor_id and product_id are missing; set both, or set resource_class and filter_scheduler.pci_in_placement`},
		"twice":                 {"Two aliases with one name match either device.", queries, alias(gpu, strings.Replace(gpu, "20b5", "20b6", 1)), ""},
		"twice counted":         {"Placement tracks one resource class.", "{}", alias(gpu, gpu) + ", " + counts, option + `two aliases are called "gpu", which Nova refuses with filter_scheduler.pci_in_placement; give their devices one resource_class, or rename one`},
		"twice, two types":      {"Nova supports one device type for each name.", "{}", alias(gpu, strings.Replace(gpu, "}", `, "device_type": "type-VF"}`, 1)), option + `two aliases are called "gpu", and have different values of device_type or numa_policy; set the same ones, or rename one`},
	} {
		t.Run(name, func(t *testing.T) {
			claim := compute(", config: {" + tc.config + "}, flavors: [{name: a, vcpus: 1, memoryMiB: 512, extraSpecs: " + tc.specs + "}]")
			got := ""
			if _, err := derive(input(t, claim, queued, nil)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
