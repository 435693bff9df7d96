package names_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

func TestInstance(t *testing.T) {
	long := strings.Repeat("a", 63)
	cases := map[string]struct {
		reason          string
		namespace, name string
		want, legacy    string // one that ends with a hyphen is followed by the hash
	}{
		"Plain": {
			reason:    "The namespace, the name and the hash of both. It may never change: data lies under it.",
			namespace: "tenant-a", name: "cloud",
			want: "tenant-a-cloud-aab838129d70f8f9a33a", legacy: "tenant-a-cloud-aab83",
		},
		"NoClaim": {
			reason:    "A composite resource without a claim has no namespace.",
			namespace: "", name: "cloud", want: "cloud-", legacy: "cloud-",
		},
		"Dots": {
			reason:    "A claim's name may have dots, a namespace's may not.",
			namespace: "tenant-a", name: "cloud.eu",
			want: "tenant-a-cloud-eu-0bab0e1dcb9e57ebcf24", legacy: "tenant-a-cloud-eu-0bab0",
		},
		"Long": {
			reason:    "The readable part is cut.",
			namespace: long, name: "cloud",
			want: strings.Repeat("a", 42) + "-", legacy: strings.Repeat("a", 57) + "-",
		},
		"OneTooLong": {
			reason:    "A label may have at most 63 characters.",
			namespace: strings.Repeat("a", 37), name: "cloud",
			want: strings.Repeat("a", 37) + "-clou-", legacy: strings.Repeat("a", 37) + "-cloud-",
		},
		"CutAtHyphen": {
			reason:    "There are no two hyphens where it is cut.",
			namespace: strings.Repeat("a", 41), name: "cloud",
			want: strings.Repeat("a", 41) + "-", legacy: strings.Repeat("a", 41) + "-cloud-",
		},
		"LegacyCutAtHyphen": {
			reason:    "Legacy names also have no trailing hyphen.",
			namespace: strings.Repeat("a", 56), name: "cloud",
			want: strings.Repeat("a", 42) + "-", legacy: strings.Repeat("a", 56) + "-",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			full := func(want string, digits int) string {
				if strings.HasSuffix(want, "-") {
					want += names.Hash(digits, tc.namespace, tc.name)
				}
				return want
			}
			if got, want := names.Instance(tc.namespace, tc.name), full(tc.want, 20); got != want {
				t.Errorf("%s\nInstance(%s, %s) = %s, want %s", tc.reason, tc.namespace, tc.name, got, want)
			}
			if got, want := names.LegacyInstance(tc.namespace, tc.name), full(tc.legacy, 5); got != want {
				t.Errorf("%s\nLegacyInstance(%s, %s) = %s, want %s", tc.reason, tc.namespace, tc.name, got, want)
			}
		})
	}
}

// TestCollidingClaimsGetDifferentInstances tests two claims of two tenants with the same legacy instance, which were found in less than a
// second.
func TestCollidingClaimsGetDifferentInstances(t *testing.T) {
	found := [2]string{"team", "production-eu-openstack-control-plane-for-customer-o62923"}
	victim := [2]string{"team-production-eu", "openstack-control-plane-for-customer-one"}
	if names.LegacyInstance(found[0], found[1]) != names.LegacyInstance(victim[0], victim[1]) {
		t.Fatal("the pair does not collide: this tests nothing")
	}
	if got := names.Instance(found[0], found[1]); got == names.Instance(victim[0], victim[1]) {
		t.Errorf("both claims have the instance %s", got)
	}
}

// TestInstanceIsValidNamespaceName tests that the instance of any claim is a valid and constant name of a namespace.
func TestInstanceIsValidNamespaceName(t *testing.T) {
	label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`)
	subdomain := rapid.StringMatching(`[a-z0-9]([-.]?[a-z0-9]){0,120}`)
	rapid.Check(t, func(t *rapid.T) {
		namespace, name := label.Draw(t, "namespace"), subdomain.Draw(t, "name")
		instance, legacy := names.Instance(namespace, name), names.LegacyInstance(namespace, name)
		for _, provided := range []string{instance, legacy} {
			if errs := validation.IsDNS1123Label(provided); len(errs) > 0 {
				t.Errorf("the instance of %s/%s is %s: %v", namespace, name, provided, errs)
			}
		}
		if instance == legacy {
			t.Errorf("the instance of %s/%s is %s, which is the legacy name", namespace, name, instance)
		}
		if next := names.Instance(namespace, name); next != instance {
			t.Errorf("Instance(%s, %s) = %s, and then %s", namespace, name, instance, next)
		}
	})
}

// TestInstanceOfAnother tests that claims with the same readable part are distinguished by the hash.
func TestInstanceOfAnother(t *testing.T) {
	observed := map[string][2]string{}
	for _, claim := range [][2]string{{"a", "b-c"}, {"a-b", "c"}, {"a", "b.c"}, {strings.Repeat("a", 63), "b"}, {strings.Repeat("a", 63), "c"}} {
		instance := names.Instance(claim[0], claim[1])
		if other, ok := observed[instance]; ok {
			t.Errorf("Instance(%q) = Instance(%q) = %s", claim, other, instance)
		}
		observed[instance] = claim
	}
}

func TestHash(t *testing.T) {
	cases := map[string]struct {
		reason string
		n      int
		parts  []string
		want   string
	}{
		"None":      {reason: "The hash of nothing is one, too.", n: 8, want: "e3b0c442"},
		"One":       {reason: "Names of objects are made of it: it may never change.", n: 10, parts: []string{"a"}, want: "ffe9aaeaa2"},
		"Whole":     {reason: "All there is.", n: 64, want: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"Partition": {reason: "Where one part ends matters.", n: 8, parts: []string{"a", "bc"}, want: "aa795aa4"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := names.Hash(tc.n, tc.parts...); got != tc.want {
				t.Errorf("%s\nHash(%d, %q) = %s, want %s", tc.reason, tc.n, tc.parts, got, tc.want)
			}
		})
	}
	if names.Hash(8, "ab", "c") == names.Hash(8, "a", "bc") || names.Hash(8, "a", "") == names.Hash(8, "a") {
		t.Error("parts run into each other")
	}
}

// TestShared tests that the name starts with a letter, leaves room for a suffix in the name of a database (64 characters), and contains
// the digits at the end of the instance, so that one can be found from the other.
func TestShared(t *testing.T) {
	got := names.Shared("tenant-a", "cloud")
	if digits, ok := strings.CutPrefix(got, "os_"); !ok || !strings.HasSuffix(names.Instance("tenant-a", "cloud"), "-"+digits) {
		t.Errorf("Shared(tenant-a, cloud) = %s", got)
	}
	const most = 64 - len("_nova_") - 20 // the longest suffix, of a cell
	if len(got) > most {
		t.Errorf("%s has %d characters, want %d at most", got, len(got), most)
	}
}

// TestHashOf verifies that the hash of a value is the hash of its JSON: names of existing objects end with it.
func TestHashOf(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		text  string
	}{
		"Map":      {map[string]string{"b": "<&>\u2028", "a": "line\n"}, `{"a":"line\n","b":"\u003c\u0026\u003e\u2028"}`},
		"New line": {"\n", `"\n"`},
		"List":     {[]int{1, 2}, "[1,2]"},
	} {
		if got, want := names.HashOf(10, tc.value), names.Hash(10, tc.text); got != want {
			t.Errorf("%s: HashOf() = %s, want %s", name, got, want)
		}
	}
}
