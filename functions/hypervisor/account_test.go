package hypervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// pool is the instance of the pool of tests, ownCredential and formerCredential are the Secrets with its credential and Nova's.
	pool             = "tenant-a-hypervisors-ed08c74e4294644ac141"
	ownCredential    = pool + "-credential"
	formerCredential = "nova-credential"
)

// TestAccount verifies the account of a pool: its roles, that nodes get its credential only and never its password, and that it can be
// disabled.
func TestAccount(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec, release string
		roles                 []any
		enabled               bool
	}{
		"Usual": {
			reason: "Services accept nova-compute as a service.", spec: mine, release: "2025.2", roles: []any{"service"}, enabled: true,
		},
		"OtherCluster": {
			reason: "It is the same in another cluster.", spec: inCluster(mine, "east"), release: "2026.1", roles: []any{"service"}, enabled: true,
		},
		"Disabled": {
			reason: "The claim revokes it.", spec: more("disableAccount: true"), release: "2025.1", roles: []any{"service"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plane := strings.ReplaceAll(controlPlaneYAML, `"2025.2"`, `"`+tc.release+`"`)
			w := newCluster(tc.spec, "tenant-a", objects(strings.ReplaceAll(planeClaim, `"2025.2"`, `"`+tc.release+`"`), plane, storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			user := composed(t, w, "account-user")["spec"].(map[string]any)["resource"].(map[string]any)
			if user["name"] != pool || user["enabled"] != tc.enabled {
				t.Errorf("%s\nthe user is %v, want %s with enabled %t", tc.reason, user, pool, tc.enabled)
			}
			credential := composed(t, w, "account-credential")["spec"].(map[string]any)
			if diff := cmp.Diff(tc.roles, credential["roles"]); diff != "" {
				t.Errorf("%s\nRoles (-want +got):\n%s", tc.reason, diff)
			}
			for resource, r := range New().Run(w.Request()).Composed {
				_, o := lives(r.Object)
				for _, forbidden := range []string{formerCredential, pool + "-user", pool + "-clouds"} {
					if (o["kind"] == "DaemonSet" || strings.HasPrefix(resource, loginsName)) && strings.Contains(text(t, o), forbidden) {
						t.Errorf("%s: %s gives nodes Secret %s", tc.reason, resource, forbidden)
					}
				}
			}
		})
	}
}

func text(t *testing.T, o map[string]any) string {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestAccount_Upgrade verifies that pods of a version in which nodes had Nova's credential keep it until the account has one, and that
// the pool consumes Nova's until every node has the account's: the control plane does not revoke a credential that is consumed.
func TestAccount_Upgrade(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// pods have the credential, and the pool reported the former one. known: the account has a credential.
		pods     string
		reported bool
		known    bool
		rolling  bool
		// mounted is the credential in pod templates, consumed are the credentials that the pool consumes.
		mounted  string
		consumed []string
	}{
		"NoAccount": {
			reason: "Pods without a credential would not start.", pods: formerCredential, reported: true,
			mounted: formerCredential, consumed: []string{ownCredential, formerCredential},
		},
		"Account": {
			reason: "Pods get the account's.", pods: formerCredential, reported: true, known: true,
			mounted: ownCredential, consumed: []string{ownCredential, formerCredential},
		},
		"Rolling": {
			reason: "Some nodes have the former one.", pods: ownCredential, reported: true, known: true, rolling: true,
			mounted: ownCredential, consumed: []string{ownCredential, formerCredential},
		},
		"Unknown": {
			reason: "Pods with the account's keep it.", pods: ownCredential, reported: true, rolling: true,
			mounted: ownCredential, consumed: []string{ownCredential, formerCredential},
		},
		"Done": {
			reason: "All nodes have the account's.", pods: ownCredential, reported: true, known: true,
			mounted: ownCredential, consumed: []string{ownCredential},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`), "tenant-a",
				objects(planeClaim, controlPlaneYAML, storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			consumer, put := inside(t, w, consumerResource)
			credentials := []any{map[string]any{"secretName": "nova-cell1-queue", "observedID": "id-of-nova-cell1-queue"}}
			if tc.reported {
				credentials = append(credentials, map[string]any{"secretName": formerCredential, "observedID": "former"})
			}
			consumer["spec"] = map[string]any{"credentials": credentials}
			current := []any{map[string]any{"secretName": "nova-cell1-queue", "currentID": "id-of-nova-cell1-queue"}}
			if tc.known {
				current = append(current, map[string]any{"secretName": ownCredential, "currentID": "own"})
			}
			consumer["status"].(map[string]any)["credentials"] = current
			put()
			for _, set := range []string{"nova-compute", "nova-compute-slice-edge"} {
				o, put := inside(t, w, set)
				annotations := o["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)
				delete(annotations, credentialAnnotation(ownCredential))
				annotations["credentials.c5c3.io/"+tc.pods] = map[string]string{formerCredential: "former", ownCredential: "own"}[tc.pods]
				if tc.rolling {
					o["status"].(map[string]any)["updatedNumberScheduled"] = 0.0
				}
				put()
			}
			for _, set := range []string{"nova-compute", "nova-compute-slice-edge"} {
				got := text(t, composed(t, w, set))
				if mounts := strings.Contains(got, copyPrefix+formerCredential); mounts != (tc.mounted == formerCredential) ||
					!strings.Contains(got, `"credentials.c5c3.io/`+tc.mounted+`":`) {
					t.Errorf("%s\n%s does not mount %s", tc.reason, set, tc.mounted)
				}
			}
			var consumed []string
			for _, c := range composed(t, w, consumerResource)["spec"].(map[string]any)["credentials"].([]any) {
				if name := c.(map[string]any)["secretName"].(string); name != "nova-cell1-queue" {
					consumed = append(consumed, name)
				}
			}
			if diff := cmp.Diff(tc.consumed, consumed); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAccount_Region verifies that the account uses the region of its control plane if other clouds have the same Keystone.
func TestAccount_Region(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, identity string
		want             bool
	}{
		"Own":    {reason: "The catalog has one region.", identity: "    identity:\n"},
		"Shared": {reason: "The catalog has several regions.", identity: "    identity:\n      sharedAs: b\n", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			plane := strings.Replace(controlPlaneYAML, "    identity:\n", tc.identity, 1)
			w := newCluster(mine, "tenant-a", objects(planeClaim, plane, storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(text(t, composed(t, w, "account-clouds")), "region_name"); got != tc.want {
				t.Errorf("%s\nThe login has a region: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestAccount_UnknownKeystone verifies that nothing is composed until the control plane publishes its Keystone.
func TestAccount_UnknownKeystone(t *testing.T) {
	before, after, ok := strings.Cut(controlPlaneYAML, "    identity:\n")
	if !ok {
		t.Fatal("the control plane of tests has no identity")
	}
	_, rest, _ := strings.Cut(after, "    metadataSecretRef:")
	w := newCluster(mine, "tenant-a", objects(planeClaim, before+"    metadataSecretRef:"+rest, storageClaim, storageXR)...)
	rsp := New().Run(w.Request())
	for name := range rsp.Composed {
		if strings.HasPrefix(name, "account") || strings.HasPrefix(name, computeComponent) {
			t.Errorf("%s is composed", name)
		}
	}
}
