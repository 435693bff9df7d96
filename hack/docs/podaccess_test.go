package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// sharedSecrets are the Secrets that pods of another service than the owner of the Secret read, with the reason.
var sharedSecrets = map[string]string{
	"valkey-binding": "Cinder's managers coordinate by Valkey, which belongs to the claim.",
}

// TestPodsHaveSecretsOfTheirServiceOnly checks that no pod of a service has a secret of another one, and that no other pod than the
// companion and the pods of operators has a token of Kubernetes.
func TestPodsHaveSecretsOfTheirServiceOnly(t *testing.T) {
	claim, err := fullClaim()
	if err != nil {
		t.Fatal(err)
	}
	e, err := emit(claim)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range e.Workloads {
		if w.Account != "" && w.Of.Name != "companion" {
			t.Errorf("%s has a token of %s", w.Of, w.Account)
		}
		for _, name := range w.Secrets {
			i := slices.IndexFunc(e.Secrets, func(s wiring.Secret) bool { return s.Namespace == w.Of.Namespace && s.Name == name })
			if i < 0 {
				t.Errorf("%s reads %s, which is not described", w.Of, name)
				continue
			}
			service, owner := e.section(w.Of), e.homeOf(e.Secrets[i])
			if strings.TrimSuffix(service, "Cell") != strings.TrimSuffix(owner, "Cell") && sharedSecrets[name] == "" {
				t.Errorf("%s of %s has %s of %s", w.Of, service, name, owner)
			}
		}
	}
}
