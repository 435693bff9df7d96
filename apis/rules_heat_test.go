package apis_test

var heatCases = kindCases{
	base: service + `
queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
api: {replicas: 1}
engine: {replicas: 1}`,
	cases: map[string]specCase{
		"Reports": {
			reason: "Virtual machines send signals to a separate API.",
			spec:   "cfn: {replicas: 1, endpoints: {public: https://heat-cfn.example.com/v1, internal: https://heat-cfn.cloud.svc:8000/v1}}",
		},
		"ReportsToNobody": {
			reason:  "Virtual machines would not get the address.",
			spec:    "cfn: {replicas: 1}",
			field:   "spec.cfn.endpoints",
			message: "Required value",
		},
		"NoEngine": {
			reason:  "The resources of stacks would not be created.",
			spec:    "engine: null",
			field:   "spec.engine",
			message: "Required value",
		},
	},
}
