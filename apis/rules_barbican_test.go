package apis_test

var barbicanCases = kindCases{
	base: service + `
queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
api: {replicas: 1}
worker: {replicas: 1}`,
	cases: map[string]specCase{
		"Vault": {
			reason: "A Vault may come to secrets in the database.",
			old:    new("keys: {suspend: true}"),
			spec:   "vault: {url: \"https://vault.example.com:8200\", secretRef: {name: vault}}",
		},
		"VaultGone": {
			reason:  "What is in it could be read no more.",
			old:     new("vault: {url: \"https://vault.example.com:8200\", secretRef: {name: vault}}"),
			spec:    "keys: {}",
			field:   "spec.vault",
			message: "vault stays: secrets that are kept there could be read no more; delete them first, with everything that uses them, and Barbican with them",
		},
		"VaultMoved": {
			reason: "The same Vault has another address.",
			old:    new("vault: {url: \"https://vault.example.com:8200\", secretRef: {name: vault}}"),
			spec:   "vault: {url: \"https://openbao.example.com\", namespace: clouds/a, secretRef: {name: vault}}",
		},
		"OtherMount": {
			reason:  "What is in the one is not in the other.",
			old:     new("vault: {url: \"https://vault.example.com:8200\", mount: secret, secretRef: {name: vault}}"),
			spec:    "vault: {url: \"https://vault.example.com:8200\", mount: other, secretRef: {name: vault}}",
			field:   "spec.vault.mount",
			message: "mount cannot be changed: the secrets in it would be lost",
		},
		"NotEncrypted": {
			reason:  "Whoever listens would have all secrets.",
			spec:    "vault: {url: \"http://vault.example.com:8200\", secretRef: {name: vault}}",
			field:   "spec.vault.url",
			message: "should match",
		},
		"NoWorker": {
			reason:  "Nothing would make keys.",
			spec:    "worker: null",
			field:   "spec.worker",
			message: "Required value",
		},
	},
}
