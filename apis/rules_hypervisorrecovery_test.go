package apis_test

// notAddress is the message about a probe that is no address.
const notAddress = "must be an IP address and a port, such as 198.51.100.1:22 or [2001:db8::1]:22"

// hypervisorRecoveryCases are the cases of recoveries of a pool.
var hypervisorRecoveryCases = kindCases{
	base: `{}`,
	cases: map[string]specCase{
		"Defaults": {reason: "A recovery without a mode changes nothing.", spec: `{}`},
		"Everything": {
			reason: "All fields.", spec: `{mode: Recover, delaySeconds: 60, maxFailedPercent: 50, parallelServers: 2, serverMetadata: Ignore,
				imageDisks: Shared, localDisks: RebuildWithConsent, nodes: [{name: node-1, probes: ["192.0.2.1:22", "[2001:db8::1]:22"], redfish: {
				url: "https://192.0.2.7/redfish/v1/Systems/1", secretName: bmc, systemUUID: 00112233-4455-6677-8899-aabbccddeeff}}]}`,
		},
		"MostNodes": {
			reason: "Capacity for more than half of a pool does not exist.", spec: `{maxFailedPercent: 51}`, field: "spec.maxFailedPercent",
			message: "should be less than or equal to 50",
		},
		"NoDelay": {
			reason: "Reports are late at times.", spec: `{delaySeconds: 1}`, field: "spec.delaySeconds",
			message: "should be greater than or equal to 10",
		},
		"NoTLS": {
			reason: "The login would be readable.", spec: `{nodes: [{name: node-1, redfish: {url: "http://192.0.2.7/redfish/v1/Systems/1",
				secretName: bmc}}]}`, field: "spec.nodes[0].redfish.url", message: "should match '^https://",
		},
		"Login": {
			reason: "The login belongs into the Secret.", spec: `{nodes: [{name: node-1, redfish: {
				url: "https://root:x@192.0.2.7/redfish/v1/Systems/1", secretName: bmc}}]}`, field: "spec.nodes[0].redfish.url",
			message: "should match '^https://",
		},
		"NoPort": {
			reason: "A probe is a TCP connection.", spec: `{nodes: [{name: node-1, probes: [192.0.2.1], redfish: {
				url: "https://192.0.2.7/redfish/v1/Systems/1", secretName: bmc}}]}`, field: "spec.nodes[0].probes[0]", message: notAddress,
		},
		"ProbeOfName": {
			reason: "It may be a name of the kubelet's address.", spec: `{nodes: [{name: node-1, probes: ["node-1:22"], redfish: {
				url: "https://192.0.2.7/redfish/v1/Systems/1", secretName: bmc}}]}`, field: "spec.nodes[0].probes[0]", message: notAddress,
		},
		"ProbeOfNoAddress": {
			reason: "It has three parts.", spec: `{nodes: [{name: node-1, probes: ["192.0.2:22"], redfish: {
				url: "https://192.0.2.7/redfish/v1/Systems/1", secretName: bmc}}]}`, field: "spec.nodes[0].probes[0]",
			message: notAddress,
		},
		"PlaceholderUUID": {
			reason: "Each board of the vendor has it.", spec: `{nodes: [{name: node-1, redfish: {url: "https://192.0.2.7/redfish/v1/Systems/1",
				secretName: bmc, systemUUID: FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF}}]}`, field: "spec.nodes[0].redfish.systemUUID",
			message: "is a placeholder of the firmware, which other systems have, too; set a unique UUID in the firmware",
		},
		"NoUUID": {
			reason: "It identifies no system.", spec: `{nodes: [{name: node-1, redfish: {url: "https://192.0.2.7/redfish/v1/Systems/1",
				secretName: bmc, systemUUID: xx112233-4455-6677-8899-aabbccddeeff}}]}`, field: "spec.nodes[0].redfish.systemUUID", message: "should match",
		},
		"TwoControllers": {
			reason: "One of them would be ignored.", spec: `{nodes: [{name: a, redfish: {url: "https://a/redfish/v1/Systems/1", secretName: b}},
				{name: a, redfish: {url: "https://b/redfish/v1/Systems/1", secretName: b}}]}`, field: "spec.nodes[1]", message: "Duplicate value",
		},
		"UnknownMode": {reason: "It would have no effect.", spec: `{mode: Fence}`, field: "spec.mode", message: `Unsupported value: "Fence"`},
	},
}
