package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/judge"
)

// TestExemption checks that a user of a service without exemption from the rules for people is found.
func TestExemption(t *testing.T) {
	full := example(t, "services.yaml")
	for name, breaks := range map[string]breaking{
		"glance":            without("RoleAssignment", "glance-service", "spec", "exemptUser"),
		"nova":              deleted("RoleAssignment", "nova-service"),
		"heat-domain-admin": with("RoleAssignment", "heat-domain-admin", false, "spec", "exemptUser"),
	} {
		c := copied(t, full)
		breaks(t, &c)
		if name == "nova" { // It has two roles.
			without("RoleAssignment", "nova-admin", "spec", "exemptUser")(t, &c)
		}
		want := "User " + name + " is subject to lockout"
		if found := judge.Judge(c); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("want %q, found:\n%s", want, strings.Join(found, "\n"))
		}
	}
}
