package doctor

import (
	"slices"
	"testing"
)

// TestClassify tests that messages of API servers, Crossplane and provider-kubernetes have a reason and a next command.
func TestClassify(t *testing.T) {
	local := Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "cloud", Name: "mariadb"}
	remote := local
	remote.Cluster = "west"
	cases := map[string]struct {
		reason, message string
		of              Ref
		want, next      string
	}{
		"unknown": {"Other messages keep their own reason.", "out of cheese", local, "", ""},
		"terminating": {
			"A forbidden request is no missing right if the namespace is being deleted.",
			`configmaps "x" is forbidden: unable to create new content in namespace cloud because it is being terminated`, local,
			"NamespaceTerminating", "kubectl describe namespace cloud",
		},
		"composition": {
			"The Configuration contains the Compositions.", "cannot select Composition: no compatible Compositions found", local,
			"CompositionMissing", "kubectl get configurations.pkg.crossplane.io,compositions.apiextensions.crossplane.io",
		},
		"immutable": {
			"The live object has the value that cannot change.", `StatefulSet.apps "mariadb" is invalid: spec: Forbidden: updates to statefulset spec ` +
				"for fields other than 'replicas' are forbidden", local, "ImmutableField", "kubectl get statefulset.apps mariadb -n cloud -o yaml",
		},
		"webhook": {
			"A webhook that does not respond is no unreachable cluster.", `failed calling webhook "v.example.com": dial tcp: connection refused`, local,
			"WebhookUnavailable", "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep example.com",
		},
		"right": {
			"The command tests the right in the cluster of the object.", `pods is forbidden: User "x" cannot list resource "pods" in API group ""`, remote,
			"Forbidden", "kubectl --kubeconfig KUBECONFIG_OF_WEST auth can-i list pods -n cloud --as x",
		},
		"expired": {
			"The token of the provider has expired.", "observe failed: Unauthorized", remote, "CredentialsRejected",
			"kubectl --kubeconfig KUBECONFIG_OF_WEST cluster-info",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reason, next := classify(tc.message, tc.of)
			if reason != tc.want || tc.next != "" && !slices.Contains(next, tc.next) {
				t.Errorf("%s\ngot %q, %q, want %q, %q", tc.reason, reason, next, tc.want, tc.next)
			}
		})
	}
}
