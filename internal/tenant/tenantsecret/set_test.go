package tenantsecret

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// set returns a set of two Secrets.
func set() Set {
	return Set{
		Name: "claim-secrets", Prefix: "tenant-", Type: corev1.SecretTypeOpaque, From: "team-a", Instance: "team-a-cloud-12345",
		Requests: Union([]Request{
			{Name: "ldap", Keys: []string{"password"}, Fields: []string{"spec.b"}},
			{Name: "s3", Keys: []string{"access-key-id", "secret-access-key"}, Fields: []string{"spec.a"}},
			{Name: "ldap", Keys: []string{"ca.crt"}, Fields: []string{"spec.c"}},
		}),
	}
}

// TestUnion checks that there is one Request for each Secret, with all required keys.
func TestUnion(t *testing.T) {
	want := []Request{
		{Name: "ldap", Keys: []string{"ca.crt", "password"}, Fields: []string{"spec.b", "spec.c"}},
		{Name: "s3", Keys: []string{"access-key-id", "secret-access-key"}, Fields: []string{"spec.a"}},
	}
	if diff := cmp.Diff(want, set().Requests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRole checks that the Role contains only the requested Secrets, and binds the set's own account. Without names, it
// would permit all Secrets.
func TestRole(t *testing.T) {
	s := set()
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"ldap", "s3"}, Verbs: []string{"get"}}}
	if diff := cmp.Diff(want, s.role().Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r, b := s.role(), s.binding(); r.Namespace != "team-a" || b.Namespace != "team-a" || b.RoleRef.Name != r.Name || !strings.HasPrefix(r.Name, s.Instance) {
		t.Errorf("Role %s/%s is bound by %+v in %s", r.Namespace, r.Name, b.RoleRef, b.Namespace)
	}
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: s.account().Name, Namespace: s.Instance}
	if diff := cmp.Diff([]rbacv1.Subject{account}, s.binding().Subjects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Requests = nil
	for _, r := range slices.Concat(s.Stages()...) {
		if r.Object != nil {
			t.Errorf("nothing is wanted, but there is %T", r.Object)
		}
	}
}

// TestTarget checks that copies of different Secrets have different, valid names with the prefix.
func TestTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`),
			rapid.Map(rapid.IntRange(1, 253), func(n int) string { return strings.Repeat("a", n) }),
		)
		a, b := name.Draw(t, "one"), name.Draw(t, "other")
		got := target("tenant-", a)
		if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 || len(got) > longest || !strings.HasPrefix(got, "tenant-") {
			t.Errorf("%s is copied to %s: %v", a, got, errs)
		}
		if other := target("tenant-", b); a != b && other == got {
			t.Errorf("%s and %s are both copied to %s", a, b, got)
		}
		// A Secret with the name of a shortened copy gets another copy.
		if next := target("tenant-", strings.TrimPrefix(got, "tenant-")); len(got) == longest && next == got {
			t.Errorf("%s and %s are both copied to %s", a, strings.TrimPrefix(got, "tenant-"), got)
		}
	})
}

// TestTargetNamesAreStable checks that names are stable. They are shortened to 40 characters, without invalid characters at the end.
func TestTargetNamesAreStable(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for name, tc := range map[string]struct{ reason, name, want string }{
		"Short": {"It is read.", "s3.eu", "tenant-s3.eu"},
		"Fits":  {"62 characters are not cut.", a(55), "tenant-" + a(55)},
		"Long":  {"The hash is of the whole name.", a(56), "tenant-" + a(33) + "-" + names.Hash(22, a(56))},
		"Ends":  {"A hash follows one hyphen.", a(30) + "-.-" + a(50), "tenant-" + a(30) + "-" + names.Hash(25, a(30)+"-.-"+a(50))},
	} {
		t.Run(name, func(t *testing.T) {
			if got := target("tenant-", tc.name); got != tc.want {
				t.Errorf("%s\ntarget(%q) = %q, want %q", tc.reason, tc.name, got, tc.want)
			}
		})
	}
}

// TestRemoteWorkloadsReadSecretsFromStore checks that workloads in another cluster get the Secrets through the platform's store, in the
// folder of the instance.
func TestRemoteWorkloadsReadSecretsFromStore(t *testing.T) {
	s := set()
	s.Via = &common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore", Prefix: "a"}
	copies := map[string]map[string]any{}
	for _, r := range s.Stages()[2] {
		body, err := encode.Object(r.Object)
		if err != nil {
			t.Fatal(err)
		}
		copies[r.Name] = body.Map()
		if r.Management == (r.Name == s.Resource("tenant-ldap") || r.Name == s.Resource("tenant-s3")) {
			t.Errorf("%s is in the management cluster: %t", r.Name, r.Management)
		}
	}
	const key = "a/team-a-cloud-12345/tenant-s3"
	push := copies["claim-secrets-push-tenant-s3"]["spec"].(map[string]any)
	pushed := []any{
		map[string]any{"match": map[string]any{"secretKey": "access-key-id", "remoteRef": map[string]any{"remoteKey": key, "property": "access-key-id"}}},
		map[string]any{"match": map[string]any{"secretKey": "secret-access-key", "remoteRef": map[string]any{"remoteKey": key, "property": "secret-access-key"}}},
	}
	if diff := cmp.Diff(pushed, push["data"]); diff != "" || push["deletionPolicy"] != "Delete" {
		t.Errorf("deletion policy %v (-want +got):\n%s", push["deletionPolicy"], diff)
	}
	existing := copies["claim-secrets-workload-tenant-s3"]["spec"].(map[string]any)
	read := []any{
		map[string]any{"secretKey": "access-key-id", "remoteRef": map[string]any{"key": key, "property": "access-key-id"}},
		map[string]any{"secretKey": "secret-access-key", "remoteRef": map[string]any{"key": key, "property": "secret-access-key"}},
	}
	if diff := cmp.Diff(read, existing["data"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"name": "openbao", "kind": "ClusterSecretStore"}, existing["secretStoreRef"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(copies) != 6 {
		t.Errorf("there are %d objects, want three for each of two Secrets", len(copies))
	}
}

// TestReady checks that the message contains the action required from the tenant.
func TestReady(t *testing.T) {
	status := func(ready, message, synced string) map[string]any {
		return map[string]any{"syncedResourceVersion": synced, "conditions": []any{
			map[string]any{"type": "Ready", "status": ready, "reason": "SecretSyncedError", "message": message},
		}}
	}
	for name, tc := range map[string]struct {
		reason  string
		request int
		status  map[string]any
		want    ready.Result
	}{
		"Missing": {
			"There is no such Secret, or not all its keys.", 1, status("False", unreadable, "1-a"),
			ready.Wait("SecretMissing", "waits for Secret s3 with the keys access-key-id and secret-access-key in namespace team-a, which spec.a names: "+
				"create it there"),
		},
		"MissingForTwo": {
			"Two fields name it.", 0, status("False", unreadable, ""),
			ready.Wait("SecretMissing", "waits for Secret ldap with the keys ca.crt and password in namespace team-a, which spec.b and spec.c name: "+
				"create it there"),
		},
		"Other": {
			"The tenant's Secret is fine, the copy is not.", 0, status("False", "could not update secret", "1-a"),
			ready.Wait("SecretSyncedError", "could not update secret"),
		},
		"New": {"It was not looked at.", 0, nil, ready.Wait("Waiting", "it does not report Ready yet")},
		"Old": {
			"Another key is wanted since it was read.", 0, status("True", "", "2-a"),
			ready.Wait("Reconciling", "its controller has not seen the last change yet"),
		},
		"Read":  {"It is as the source is.", 0, status("True", "", "3-a"), ready.Yes},
		"Plain": {"A version of External Secrets without this field is trusted.", 0, status("True", "", ""), ready.Yes},
	} {
		t.Run(name, func(t *testing.T) {
			o := map[string]any{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": map[string]any{"generation": 3}}
			if tc.status != nil {
				o["status"] = tc.status
			}
			body, err := structpb.NewStruct(o)
			if err != nil {
				t.Fatal(err)
			}
			state, err := observe.New(map[string]encoded.Struct{"o": encoded.Of(body)})
			if err != nil {
				t.Fatal(err)
			}
			observed, _ := state.Get("o")
			s := set()
			if diff := cmp.Diff(tc.want, s.ready(s.Requests[tc.request])(observed)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCurrent checks that a version begins with the complete generation, not only with its first digits.
func TestCurrent(t *testing.T) {
	for synced, want := range map[string]bool{"12-a": true, "1-a": false, "2-a": false, "13-a": false, "121-a": false, "": true} {
		body, err := structpb.NewStruct(map[string]any{
			"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
			"metadata": map[string]any{"generation": 12}, "status": map[string]any{"syncedResourceVersion": synced},
		})
		if err != nil {
			t.Fatal(err)
		}
		state, err := observe.New(map[string]encoded.Struct{"o": encoded.Of(body)})
		if err != nil {
			t.Fatal(err)
		}
		observed, _ := state.Get("o")
		if got := current(observed); got != want {
			t.Errorf("generation 12, read at %q: current %t, want %t", synced, got, want)
		}
	}
}

// TestSentence checks the singular for one key or field, and the format of lists.
func TestSentence(t *testing.T) {
	for want, w := range map[string]Request{
		"waits for Secret ldap with the key password in namespace team-a, which spec.a names: create it there": {
			Name: "ldap", Keys: []string{"password"}, Fields: []string{"spec.a"},
		},
		"waits for Secret s3 with the keys a, b and c in namespace team-a, which spec.a and spec.b name: create it there": {
			Name: "s3", Keys: []string{"a", "b", "c"}, Fields: []string{"spec.a", "spec.b"},
		},
		"waits for Secret queue with the key password in namespace team-a, which is created there": {Name: "queue", Keys: []string{"password"}},
	} {
		if got := w.sentence("team-a"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMissingSecretBlocksReaders checks that a missing Secret only blocks its readers.
func TestMissingSecretBlocksReaders(t *testing.T) {
	s := set()
	for _, r := range s.Stages()[2] {
		if len(r.After) > 0 {
			t.Errorf("%s waits for %v", r.Name, r.After)
		}
	}
	s.Via = &common.SecretStoreReference{Name: "openbao"}
	for _, r := range s.Stages()[2] {
		for _, after := range r.After {
			if _, target, _ := strings.Cut(r.Name, "tenant-"); !strings.HasSuffix(after, target) {
				t.Errorf("%s waits for %s", r.Name, after)
			}
		}
	}
	if !slices.ContainsFunc(s.Stages()[2], func(r compose.Resource) bool { return len(r.After) > 0 }) {
		t.Error("nothing waits for anything")
	}
}
