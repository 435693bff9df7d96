package apis_test

var heatCases = kindCases{
	base: service + `
queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
api: {replicas: 1}
engine: {replicas: 1}`,
	cases: map[string]specCase{
		"Reports": {
			reason: "Virtual machines report to an API of its own.",
			spec:   "cfn: {replicas: 1, endpoints: {public: https://heat-cfn.example.com/v1, internal: https://heat-cfn.cloud.svc:8000/v1}}",
		},
		"ReportsToNobody": {
			reason:  "Virtual machines would be told nothing.",
			spec:    "cfn: {replicas: 1}",
			field:   "spec.cfn.endpoints",
			message: "Required value",
		},
		"NoEngine": {
			reason:  "Nothing would make what stacks say.",
			spec:    "engine: null",
			field:   "spec.engine",
			message: "Required value",
		},
	},
}
