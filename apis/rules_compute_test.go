package apis_test

import "strings"

// longestKey is of an extra spec, or of an aggregate's metadata.
var longestKey = strings.Repeat("k", 255)

// computeCatalogCases are the cases of flavors and aggregates, which claims have with the same schema.
var computeCatalogCases = kindCases{
	base: `{cloudCredentialsRef: {secretName: nova-clouds, cloudName: nova}}`,
	cases: map[string]specCase{
		"Everything": {
			reason: "All fields of claims are accepted.",
			spec: `
flavors:
- name: m1.large
  id: "42"
  description: Large ones
  vcpus: 4
  memoryMiB: 8192
  diskGiB: 40
  ephemeralGiB: 10
  swapMiB: 1024
  private: true
  projects: [0123456789abcdef0123456789abcdef]
  extraSpecs: {"hw:cpu_policy": dedicated}
aggregates:
- {name: east, availabilityZone: az-east, hosts: [node-1.example.com, compute-2], metadata: {ssd: "true"}}
- {name: tenant_filter_tests}`,
		},
		"FlavorEdited": {
			reason: "Nova changes these.",
			old:    new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512, private: true, projects: [p], extraSpecs: {k: v}}]`),
			spec:   `flavors: [{name: a, vcpus: 1, memoryMiB: 512, diskGiB: 0, private: true, projects: [q], description: More, extraSpecs: {l: w}}, {name: b, vcpus: 2, memoryMiB: 512}]`,
		},
		"FlavorResized": {
			reason:  "Nova does not change a size, and who noted the flavor expects the one that it has.",
			old:     new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512}]`),
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, swapMiB: 1}]`,
			field:   "spec.flavors[0]",
			message: "the size of a flavor is immutable in Nova; add a flavor with another name and remove this one when it is no longer used",
		},
		"FlavorPublished": {
			reason:  "Nova does not change that either.",
			old:     new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512, private: true}]`),
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512}]`,
			field:   "spec.flavors[0]",
			message: "id and private of a flavor are immutable in Nova; add a flavor with another name and remove this one when it is no longer used",
		},
		"FlavorOfAnotherID": {
			reason:  "It would be another flavor.",
			old:     new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512}]`),
			spec:    `flavors: [{name: a, id: b, vcpus: 1, memoryMiB: 512}]`,
			field:   "spec.flavors[0]",
			message: "id and private of a flavor are immutable in Nova; add a flavor with another name and remove this one when it is no longer used",
		},
		"PublicProjects": {
			reason:  "Nova refuses it.",
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, projects: [p]}]`,
			field:   "spec.flavors[0]",
			message: "projects requires private: true; a public flavor is available to every project",
		},
		"ZoneChanged": {
			reason: "Nova looks whether it can be.",
			old:    new(`aggregates: [{name: a, availabilityZone: az}]`),
			spec:   `aggregates: [{name: a, availabilityZone: another}]`,
		},
		"ZoneRemoved": {
			reason:  "Nova takes no empty zone.",
			old:     new(`aggregates: [{name: a, availabilityZone: az}]`),
			spec:    `aggregates: [{name: a}]`,
			field:   "spec.aggregates[0]",
			message: "Nova cannot remove the availability zone of an aggregate: set another zone, or add another aggregate and remove this one",
		},
		"InternalZone": {
			reason:  "Processes without virtual machines are in it.",
			spec:    `aggregates: [{name: a, availabilityZone: internal}]`,
			field:   "spec.aggregates[0].availabilityZone",
			message: "internal is the zone of Nova's own processes; choose another name",
		},
		"ZoneInMetadata": {
			reason:  "Nova keeps the zone there.",
			spec:    `aggregates: [{name: a, metadata: {availability_zone: az}}]`,
			field:   "spec.aggregates[0]",
			message: "set the field availabilityZone instead of the metadata key availability_zone",
		},
		"LongestKeys": {
			reason: "Nova takes them.",
			spec: `{flavors: [{name: a, vcpus: 1, memoryMiB: 512, extraSpecs: {` + longestKey + `: v}}],
				aggregates: [{name: a, metadata: {` + longestKey + `: v}}]}`,
		},
		"LongKeyOfFlavor": {
			reason:  "The state has no room for it: of no flavor anything would be known.",
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, extraSpecs: {` + longestKey + `k: v}}]`,
			field:   "spec.flavors[0].extraSpecs",
			message: "a key must have 1 to 255 characters",
		},
		"EmptyKeyOfFlavor": {
			reason:  "Nova takes none.",
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, extraSpecs: {"": v}}]`,
			field:   "spec.flavors[0].extraSpecs",
			message: "a key must have 1 to 255 characters",
		},
		"LongKeyOfAggregate": {
			reason:  "The same of aggregates.",
			spec:    `aggregates: [{name: a, metadata: {` + longestKey + `k: v}}]`,
			field:   "spec.aggregates[0].metadata",
			message: "a key must have 1 to 255 characters",
		},
		"EmptyValue": {
			reason:  "It removes a key.",
			spec:    `aggregates: [{name: a, metadata: {k: ""}}]`,
			field:   "spec.aggregates[0].metadata.k",
			message: "should be at least 1 chars long",
		},
		"NoMemory": {
			reason:  "Nova takes none without.",
			spec:    `flavors: [{name: a, vcpus: 1}]`,
			field:   "spec.flavors[0].memoryMiB",
			message: "Required value",
		},
	},
}
