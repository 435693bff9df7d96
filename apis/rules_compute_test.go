package apis_test

import "strings"

// longestKey is of an extra spec, or of an aggregate's metadata.
var longestKey = strings.Repeat("k", 255)

// computeCatalogCases are those of flavors and aggregates, which claims have in the same words.
var computeCatalogCases = kindCases{
	base: `{cloudCredentialsRef: {secretName: nova-clouds, cloudName: nova}}`,
	cases: map[string]specCase{
		"Everything": {
			reason: "What a claim may say.",
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
			message: "Nova cannot change the size of a flavor: add one with another name, and remove this one when nobody needs it any more",
		},
		"FlavorPublished": {
			reason:  "Nova does not change that either.",
			old:     new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512, private: true}]`),
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512}]`,
			field:   "spec.flavors[0]",
			message: "Nova can change neither id nor private of a flavor: add one with another name, and remove this one when nobody needs it any more",
		},
		"FlavorOfAnotherID": {
			reason:  "It would be another flavor.",
			old:     new(`flavors: [{name: a, vcpus: 1, memoryMiB: 512}]`),
			spec:    `flavors: [{name: a, id: b, vcpus: 1, memoryMiB: 512}]`,
			field:   "spec.flavors[0]",
			message: "Nova can change neither id nor private of a flavor: add one with another name, and remove this one when nobody needs it any more",
		},
		"PublicProjects": {
			reason:  "Nova refuses it.",
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, projects: [p]}]`,
			field:   "spec.flavors[0]",
			message: "every project may use a flavor that is public: say private: true, or leave out projects",
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
			message: "Nova cannot take its availability zone from an aggregate: name another zone, or add another aggregate and remove this one",
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
			message: "say availabilityZone rather than the key availability_zone of metadata",
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
			message: "a key has 1 to 255 characters: Nova takes no other",
		},
		"EmptyKeyOfFlavor": {
			reason:  "Nova takes none.",
			spec:    `flavors: [{name: a, vcpus: 1, memoryMiB: 512, extraSpecs: {"": v}}]`,
			field:   "spec.flavors[0].extraSpecs",
			message: "a key has 1 to 255 characters: Nova takes no other",
		},
		"LongKeyOfAggregate": {
			reason:  "The same of aggregates.",
			spec:    `aggregates: [{name: a, metadata: {` + longestKey + `k: v}}]`,
			field:   "spec.aggregates[0].metadata",
			message: "a key has 1 to 255 characters: Nova takes no other",
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
