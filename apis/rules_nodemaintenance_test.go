package apis_test

// nodeMaintenanceCases are the cases of orders of maintenance.
var nodeMaintenanceCases = kindCases{
	base: `{nodeName: node-1, serviceCheckName: pool}`,
	cases: map[string]specCase{
		"Defaults": {reason: "An order without a mode changes nothing.", spec: `{}`},
		"Everything": {
			reason: "All fields of a plan.", spec: `{mode: Plan, parallelServers: 4, maxNodes: 2, serverTimeoutSeconds: 600, order: LargestFirst,
				serverMetadata: Ignore}`,
		},
		"Start":   {reason: "The plan was read.", old: new(`{mode: Plan}`), spec: `{mode: Drain}`},
		"Default": {reason: "The same with the default.", old: new(`{}`), spec: `{mode: Drain}`},
		"Return":  {reason: "The work is done.", old: new(`{mode: Drain}`), spec: `{mode: Return}`},
		"Again":   {reason: "The work is not done.", old: new(`{mode: Return}`), spec: `{mode: Drain}`},
		"BackToPlan": {
			reason: "A drained node would stay disabled.", old: new(`{mode: Drain}`), spec: `{mode: Plan}`, field: "spec.mode",
			message: "cannot be set to Plan after Drain; set it to Return, or delete the object to cancel the maintenance",
		},
		"OtherNode": {
			reason: "The state of the former node would be lost.", old: new(`{}`), spec: `{nodeName: node-2}`, field: "spec.nodeName",
			message: "is immutable; create another NodeMaintenance for another node",
		},
		"OtherPool": {
			reason: "The node belongs to one pool.", old: new(`{}`), spec: `{serviceCheckName: other}`, field: "spec.serviceCheckName",
			message: "is immutable; create another NodeMaintenance for a node of another pool",
		},
		"UnknownMode": {reason: "It would have no effect.", spec: `{mode: Reboot}`, field: "spec.mode", message: `Unsupported value: "Reboot"`},
		"TooManyAtOnce": {
			reason: "Nova's API and the network have to serve the rest of the cloud.", spec: `{parallelServers: 33}`,
			field: "spec.parallelServers", message: "should be less than or equal to 32",
		},
	},
}
