package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAccountsHavePurposes checks that each account of the examples and of the chart has a holder, rights and a purpose, that an
// administrator has a reason for its role, and that no purpose is left of an account that no longer exists.
func TestAccountsHavePurposes(t *testing.T) {
	all, err := everyAccount(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	for _, a := range all {
		if found[a.section] == nil {
			found[a.section] = map[string]bool{}
		}
		found[a.section][a.key()], found[a.section][a.ownKey()] = true, true
		switch {
		case a.purpose == "":
			t.Errorf("%s: %s has no purpose; add %q to hack/docs/purposes.go, or remove the account", a.section, a.name, a.key())
		case len(a.holders) == 0 || slices.Contains(a.holders, ""):
			t.Errorf("%s: %s has no holder", a.section, a.name)
		case a.rights == "":
			t.Errorf("%s: %s has no rights; remove the account", a.section, a.name)
		case a.section == keystoneUsers && strings.Contains(a.rights, "`admin` in") != strings.Contains(a.purpose, "Role admin:"):
			t.Errorf("%s: %s has %s, but the purpose is %q", a.section, a.name, a.rights, a.purpose)
		}
	}
	for _, s := range accountSections {
		if len(found[s.name]) < 3 {
			t.Errorf("%s: only %d accounts", s.name, len(found[s.name]))
		}
		for key := range purposes[s.name] {
			if !found[s.name][key] {
				t.Errorf("%s: no account has the purpose of %s; remove it from hack/docs/purposes.go", s.name, key)
			}
		}
	}
}
