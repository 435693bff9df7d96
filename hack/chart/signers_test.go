package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// TestNodeSignersPolicy checks that a companion signs only for nodes of the pools of its control plane.
func TestNodeSignersPolicy(t *testing.T) {
	const forbidden = "spec.signerName: a companion signs only for the NodeIssuers of its namespace"
	cases := map[string]struct{ reason, user, signer, want string }{
		"Own":         {"It signs for nodes of its pools.", "system:serviceaccount:team-a-1:companion", c5c3v1.SignerName("team-a-1", "pool"), ""},
		"Foreign":     {"A node would trust another authority.", "system:serviceaccount:team-b-1:companion", c5c3v1.SignerName("team-a-1", "pool"), forbidden},
		"Prefix":      {"The beginning of a name is another namespace.", "system:serviceaccount:team-a:companion", c5c3v1.SignerName("team-a-1", "pool"), forbidden},
		"Longer":      {"So is a longer name.", "system:serviceaccount:team-a-1-2:companion", c5c3v1.SignerName("team-a-1", "pool"), forbidden},
		"OtherSigner": {"RBAC restricts the domain.", "system:serviceaccount:team-a-1:companion", "example.com/team-b-1.pool", ""},
		"OtherUser":   {"Users are not restricted.", "admin", c5c3v1.SignerName("team-a-1", "pool"), ""},
	}
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		p := policy(t, values, "cobaltcore-node-signers")
		for name, tc := range cases {
			t.Run(mode+"/"+name, func(t *testing.T) {
				o := parse(t, "{kind: CertificateSigningRequest, metadata: {name: x}, spec: {signerName: "+tc.signer+"}}", "{}")
				r := request{operation: admission.Update, user: tc.user, namespace: &corev1.Namespace{}, old: o, object: o}
				check(t, tc.reason, p.validationError(t, r), tc.want)
			})
		}
	}
}
