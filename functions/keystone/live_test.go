package keystone

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestLive verifies that the companion's findings are copied to the status.
func TestLive(t *testing.T) {
	check := func(status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "openstack.c5c3.io/v1alpha1", "kind": "IdentityCheck", "status": status}
	}
	condition := func(status string) []any { return []any{map[string]any{"type": "Reachable", "status": status}} }
	for name, tc := range map[string]struct {
		reason   string
		resource map[string]any
		want     *common.Live
	}{
		"NoCheck":     {reason: "There is no check."},
		"NotChecked":  {reason: "The check has not run.", resource: check(map[string]any{})},
		"Unreachable": {reason: "It did not respond.", resource: check(map[string]any{"conditions": condition("False")}), want: &common.Live{Reachable: "False"}},
		"PublicToo": {
			reason: "External access is reported separately.",
			want:   &common.Live{Reachable: "True", PublicReachable: "False", PublicMessage: "no such host"},
			resource: check(map[string]any{"conditions": append(condition("True"),
				map[string]any{"type": "PublicReachable", "status": "False", "reason": "NameResolutionFailed", "message": "no such host"})}),
		},
		"PublicAnswers": {
			reason: "A reachable endpoint needs no message.", want: &common.Live{Reachable: "False", PublicReachable: "True"},
			resource: check(map[string]any{"conditions": append(condition("False"),
				map[string]any{"type": "PublicReachable", "status": "True", "message": "Keystone answers at"})}),
		},
		"Garbage": {
			reason: "A hand wrote into the status.", want: &common.Live{Reachable: "True"},
			resource: check(map[string]any{"conditions": condition("True"), "lastToken": "yesterday"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			if tc.resource != nil {
				observed[loginResource] = structOf(t, tc.resource)
			}
			m, err := derive(input(t, xr(t, "small"), observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.live); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	w := ready(t, xr(t, "small"))
	want := map[string]any{"reachable": "True", "apiVersion": "v3.14", "lastToken": "2025-01-01T00:00:00Z"}
	if diff := cmp.Diff(want, at(w.XR.AsMap(), "status", "live")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	login := map[string]any{"cloudCredentialsRef": map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"}, "exempt": true}
	if diff := cmp.Diff(login, desired(t, w)["login"]["spec"]); diff != "" {
		t.Errorf("it logs in by (-want +got):\n%s", diff)
	}
	login["publicURL"] = "https://identity.example.com/v3"
	outside := ready(t, xr(t, "small", set("https://identity.example.com/v3", "endpoints", "public")))
	if diff := cmp.Diff(login, desired(t, outside)["login"]["spec"]); diff != "" {
		t.Errorf("with a public address (-want +got):\n%s", diff)
	}
}

// TestCompanionReadsReferencedWritesOwnSecrets verifies that the companion may read the objects that this Keystone references, including
// the tenant's, and may write its own objects.
func TestCompanionReadsReferencedWritesOwnSecrets(t *testing.T) {
	names := func(role map[string]any, verb string) []string {
		var out []string
		rules, _ := role["rules"].([]any)
		for i := range rules {
			verbs, _ := at(role, "rules", i, "verbs").([]any)
			if at(role, "rules", i, "resources", 0) != "secrets" || !slices.Contains(verbs, any(verb)) {
				continue
			}
			list, _ := at(role, "rules", i, "resourceNames").([]any)
			for _, n := range list {
				out = append(out, n.(string))
			}
		}
		return out
	}
	role := desired(t, ready(t, xr(t, "small")))["companion-role"]
	written := []string{"keystone-clouds", "keystone-credential-keys", "keystone-fernet-keys", "keystone-korc", "keystone-korc-clouds"}
	if diff := cmp.Diff(written, names(role, "update")); diff != "" {
		t.Errorf("it may write (-want +got):\n%s", diff)
	}
	read := slices.Concat(written, []string{"keystone-admin", "keystone-cache", "keystone-database", "keystone-tls", "mariadb-ca-bundle"})
	slices.Sort(read)
	if diff := cmp.Diff(read, names(role, "get")); diff != "" {
		t.Errorf("it may read (-want +got):\n%s", diff)
	}
	directories := desired(t, ready(t, xr(t, "directories")))
	role = directories["companion-role"]
	sources, _ := at(directories["domains"], "spec", "sources").([]any)
	for i := range sources {
		name, _ := at(directories["domains"], "spec", "sources", i, "secretKeyRef", "name").(string)
		if !slices.Contains(names(role, "get"), name) || slices.Contains(names(role, "update"), name) {
			t.Errorf("the tenant's object %s cannot be read, or can be written", name)
		}
	}
	if len(sources) == 0 || !slices.Contains(names(role, "update"), "keystone-domains") {
		t.Errorf("%d sources; it may write %v", len(sources), names(role, "update"))
	}
}

// TestNewDomainReplacesPods verifies that pods are replaced when a domain was created: Keystone reads a directory's file only at startup,
// and only if the domain exists.
func TestNewDomainReplacesPods(t *testing.T) {
	annotations := func(ids map[string]any) any {
		return at(desired(t, ready(t, xr(t, "directories", set(ids, "domainIDs"))))["deployment"], "spec", "template", "metadata", "annotations", domainsAnnotation)
	}
	none := at(desired(t, ready(t, xr(t, "directories")))["deployment"], "spec", "template", "metadata", "annotations", domainsAnnotation)
	one, same := annotations(map[string]any{"employees": "a"}), annotations(map[string]any{"employees": "a"})
	two := annotations(map[string]any{"employees": "a", "partners": "b"})
	if none != nil || one == nil || one != same || two == one {
		t.Errorf("no domain: %v, one: %v and %v, two: %v", none, one, same, two)
	}
}
