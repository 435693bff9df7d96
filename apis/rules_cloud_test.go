package apis_test

var cloudCases = kindCases{
	base: `{openStackRelease: "2025.2", controlPlane: {spec: {}}}`,
	cases: map[string]specCase{
		"Everything": {
			reason: "Parts may be new or exist.",
			spec: `
storage: {ref: {namespace: storage, name: ceph}}
controlPlane: {spec: {services: {glance: {enabled: true, stores: [{name: a, ceph: {pool: images}}]}}}}
hypervisorPools: [{name: a, spec: {storage: {pool: vms}}}, {name: b, ref: {namespace: tenant, name: b}}]`,
		},
		"Existing": {
			reason: "An existing control plane has a release.",
			spec:   `{openStackRelease: null, controlPlane: {spec: null, ref: {namespace: tenant, name: c}}}`,
		},
		"NoRelease": {
			reason: "A new control plane has none.",
			spec:   `{openStackRelease: null}`,
			field:  "spec.openStackRelease", message: "openStackRelease is required with controlPlane.spec, and cannot be set with controlPlane.ref: that control plane has its own release",
		},
		"TwoReleases": {
			reason: "The release of an existing control plane is a field of that.",
			spec:   `{controlPlane: {spec: null, ref: {namespace: tenant, name: c}}}`,
			field:  "spec.openStackRelease", message: "openStackRelease is required with controlPlane.spec, and cannot be set with controlPlane.ref: that control plane has its own release",
		},
		"InlineRelease": {
			reason: "It is a field of the cloud.",
			spec:   `controlPlane: {spec: {openStackRelease: "2025.2"}}`,
			field:  "spec.controlPlane.spec.openStackRelease", message: "unknown field",
		},
		"InlineControlPlane": {
			reason: "The cloud sets it.",
			spec:   `hypervisorPools: [{name: a, spec: {controlPlaneRef: {namespace: tenant, name: c}}}]`,
			field:  "spec.hypervisorPools[0].spec.controlPlaneRef", message: "unknown field",
		},
		"NoControlPlane": {
			reason: "A cloud has one.", spec: `{openStackRelease: null, controlPlane: {spec: null}}`,
			field: "spec.controlPlane", message: "set exactly one of spec (a new control plane) and ref (an existing one)",
		},
		"ControlPlaneReplaced": {
			reason: "Hypervisors belong to it.", old: new(`{openStackRelease: null, controlPlane: {spec: null, ref: {namespace: tenant, name: c}}}`),
			spec:  `{openStackRelease: null, controlPlane: {spec: null, ref: {namespace: tenant, name: d}}}`,
			field: "spec.controlPlane", message: "a control plane cannot be replaced by another one: its hypervisors belong to it; create another OpenStackCluster",
		},
		"StorageAdded": {reason: "Images may be in volumes at first.", old: new(`{}`), spec: `storage: {ref: {namespace: tenant, name: c}}`},
		"StorageRemoved": {
			reason: "Its data is in use.", old: new(`storage: {ref: {namespace: tenant, name: c}}`), spec: `{}`,
			field: "spec", message: "storage cannot be removed while the cloud exists: its data would become unreachable; restore the previous value",
		},
		"StorageReplaced": {
			reason: "The same.", old: new(`storage: {ref: {namespace: tenant, name: c}}`), spec: `storage: {spec: {deviceSelector: {all: true}}}`,
			field: "spec.storage", message: "storage cannot be replaced by other storage: data cannot be moved; create another OpenStackCluster",
		},
		"NoStorage": {
			reason: "It is empty.", spec: `storage: {}`,
			field: "spec.storage", message: "set exactly one of spec (a new StorageCluster) and ref (an existing one)",
		},
		"PoolRemoved": {reason: "The function checks its virtual machines.", old: new(`hypervisorPools: [{name: a, spec: {}}]`), spec: `{}`},
		"PoolReplaced": {
			reason: "The name belongs to the other pool.", old: new(`hypervisorPools: [{name: a, spec: {}}]`),
			spec:  `hypervisorPools: [{name: a, ref: {namespace: tenant, name: c}}]`,
			field: "spec.hypervisorPools[0]", message: "a pool cannot be replaced by another one: add the other pool with another name",
		},
		"NoPool": {
			reason: "It is empty.", spec: `hypervisorPools: [{name: a}]`,
			field: "spec.hypervisorPools[0]", message: "set exactly one of spec (a new pool) and ref (an existing one)",
		},
		"PoolOfStorageName": {
			reason: "Names of claims would be equal.", spec: `hypervisorPools: [{name: storage, spec: {}}]`,
			field: "spec.hypervisorPools[0].name", message: "storage is the name of the cloud's StorageCluster; choose another name",
		},
	},
}
