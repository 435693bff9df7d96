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
			reason:  "Existing secrets would become unreadable.",
			old:     new("vault: {url: \"https://vault.example.com:8200\", secretRef: {name: vault}}"),
			spec:    "keys: {}",
			field:   "spec.vault",
			message: "vault cannot be removed, because secrets in it would become unreadable; delete these secrets, everything that uses them, and Barbican first",
		},
		"VaultMoved": {
			reason: "The same Vault has another address.",
			old:    new("vault: {url: \"https://vault.example.com:8200\", secretRef: {name: vault}}"),
			spec:   "vault: {url: \"https://openbao.example.com\", namespace: clouds/a, secretRef: {name: vault}}",
		},
		"OtherMount": {
			reason:  "Secrets are not copied to the other mount.",
			old:     new("vault: {url: \"https://vault.example.com:8200\", mount: secret, secretRef: {name: vault}}"),
			spec:    "vault: {url: \"https://vault.example.com:8200\", mount: other, secretRef: {name: vault}}",
			field:   "spec.vault.mount",
			message: "mount is immutable: the secrets in it would be lost; restore the previous value",
		},
		"NotEncrypted": {
			reason:  "Secrets would be sent without encryption.",
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
