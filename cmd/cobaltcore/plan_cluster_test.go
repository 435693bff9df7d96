package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
)

// editedFile writes the edited claim of an edit of the complete example to a file.
func editedFile(t testing.TB, e planEdit) string {
	t.Helper()
	for _, d := range completeInput(t, e).Claims {
		if d.File == e.Claim {
			file := filepath.Join(t.TempDir(), d.File)
			if err := os.WriteFile(file, d.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("no claim %s", e.Claim)
	return ""
}

// TestPlanClusterEqualsPlanOfFiles checks that the plan against a cluster is the plan against the files, without drift.
func TestPlanClusterEqualsPlanOfFiles(t *testing.T) {
	edit := planEdits(t)[0]
	c := newFakeCluster(t, completeCloud(t))
	code, got, errOut := c.plan(t, "-f", editedFile(t, edit))
	if code != 0 || errOut != "" {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if diff := gocmp.Diff(printedPlan(t, edit, "text"), got); diff != "" {
		t.Errorf("-files, +cluster:\n%s", diff)
	}
	rules := documentedRules(t, "plan")
	for request := range c.requests {
		if !rules[request] {
			t.Errorf("docs/reference/plan-permissions.md does not grant %s", request)
		}
	}
}

// documentedRules returns "<verb> <group>/<resource>" of the ClusterRole of a command in the documentation.
func documentedRules(t testing.TB, command string) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/" + command + "-permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	role := rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(block), &role); err != nil {
		t.Fatal(err)
	}
	return rulesOf(role.Rules)
}

// rulesOf returns "<verb> <group>/<resource>" for each permission.
func rulesOf(rules []rbacv1.PolicyRule) map[string]bool {
	out := map[string]bool{}
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					out[verb+" "+group+"/"+resource] = true
				}
			}
		}
	}
	return out
}

// TestPlanRoleReadsAllKindsExceptSecrets checks that the ClusterRole in the documentation grants to read, and nothing else, all kinds that
// Crossplane may compose directly, and no Secrets.
func TestPlanRoleReadsAllKindsExceptSecrets(t *testing.T) {
	data, err := os.ReadFile("../../package/chart/generated/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose []rbacv1.PolicyRule
	if err := yaml.Unmarshal(data, &compose); err != nil {
		t.Fatal(err)
	}
	rules := documentedRules(t, "plan")
	for rule := range rulesOf(compose) {
		verb, resource, _ := strings.Cut(rule, " ")
		if verb == "get" && !strings.HasPrefix(resource, "admissionregistration.k8s.io/") && !rules[rule] {
			t.Errorf("the documentation does not grant %s", rule)
		}
	}
	for rule := range rules {
		if !strings.HasPrefix(rule, "get ") && !strings.HasPrefix(rule, "list ") || strings.HasSuffix(rule, "/secrets") {
			t.Errorf("the documentation grants %s", rule)
		}
	}
}

// TestPlanClusterJSON checks that drift is a part of the published schema.
func TestPlanClusterJSON(t *testing.T) {
	cloud, err := plan.Compose(storageInput(t, nil), kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	c := newFakeCluster(t, cloud)
	setField(t, c.inside("CephCluster"), "/other", "status", "atProvider", "manifest", "spec", "dataDirHostPath")
	_, out, _ := c.plan(t, "-f", editedFile(t, planEdit{Claim: "storage.yaml"}), "-o", "json")
	var doc struct {
		Drift struct {
			Total   int `json:"total"`
			Objects []struct {
				Diff []struct {
					Path string `json:"path"`
					Old  string `json:"old"`
				} `json:"diff"`
			} `json:"objects"`
		} `json:"drift"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if d := doc.Drift; d.Total != 1 || len(d.Objects) != 1 || d.Objects[0].Diff[0].Path != "spec.dataDirHostPath" || d.Objects[0].Diff[0].Old != "/other" {
		t.Errorf("got %+v", d)
	}
	checkPlanSchema(t, out)
}

// TestPlanComparesClaimWithCluster checks plans of the StorageCluster of the complete example against a cluster that differs from it.
func TestPlanComparesClaimWithCluster(t *testing.T) {
	none := planEdit{Claim: "storage.yaml"}
	cases := map[string]struct {
		reason  string
		edit    planEdit
		args    []string
		cluster func(t *testing.T, c *fakeCluster)
		code    int
		out     []string
		without []string
		errOut  []string
	}{
		"UnchangedClaim": {
			reason: "fields of API servers and of Crossplane are no differences", edit: none,
			out: []string{"No changes."}, without: []string{"Drift"},
		},
		"MissingClaim": {
			reason: "a claim that is not in the cluster is created", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.remove("StorageCluster") },
			out:     []string{"+ StorageCluster", " to create, 0 to change"}, without: []string{"Drift"},
		},
		"ChangedObject": {
			reason: "a manual change is drift, and not a part of the edit", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				setField(t, c.inside("CephCluster"), "/other", "status", "atProvider", "manifest", "spec", "dataDirHostPath")
			},
			out: []string{"No changes.", "1 object differs from the composed state", "~ CephCluster", "spec.dataDirHostPath: /other → "},
		},
		"MissingObject": {
			reason: "an object that was deleted manually is created again, independent of the edit", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.remove("CephClient") },
			out:     []string{"No changes.", "Drift, not a part of the edit: 3 objects differ", "+ CephClient", "it does not exist"},
		},
		"ExtraObject": {
			reason: "the functions delete an object that they do not compose", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				xr := c.find("XStorageCluster", "*", "")
				refs, _, _ := unstructured.NestedSlice(xr.Object, "spec", "resourceRefs")
				extra := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "tenant-a", "name": "extra"}
				setField(t, xr, append(refs, extra), "spec", "resourceRefs")
				c.add(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "tenant-a", "name": "extra"}})
			},
			out: []string{"No changes.", "1 object differs from the composed state", "- ConfigMap extra in namespace tenant-a: the functions do not compose it any more"},
		},
		"SecretAmongObjects": {
			reason: "a Secret is not read, even if the composite resource refers to it", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				xr := c.find("XStorageCluster", "*", "")
				refs, _, _ := unstructured.NestedSlice(xr.Object, "spec", "resourceRefs")
				secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "namespace": "tenant-a", "name": "extra"}
				setField(t, xr, append(refs, secret), "spec", "resourceRefs")
				c.add(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "tenant-a", "name": "extra"}})
			},
			out: []string{"No changes."}, without: []string{"Drift"},
		},
		"OtherVersion": {
			reason: "an object of another version of the functions is drift", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				setField(t, c.inside("CephCluster"), "0", "status", "atProvider", "manifest", "metadata", "annotations", compose.HashAnnotation)
			},
			out: []string{"1 object differs from the composed state", "~ CephCluster", "another version of the functions composed it"},
		},
		"Namespace": {
			reason: "a tenant reads the claims of one namespace", edit: none, args: []string{"-n", "tenant-a"},
			cluster: func(_ *testing.T, c *fakeCluster) { c.forbidden = []string{"list StorageCluster in the whole cluster"} },
			out:     []string{"No changes."},
		},
		"PlatformOnly": {
			reason: "the edit of a PlatformConfig affects all claims", args: []string{"-e", "../../examples/platform/platformconfig.yaml"},
			out: []string{"No changes."},
		},
		"UnauthorizedUser": {
			reason: "the credentials are not valid", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.code = http.StatusUnauthorized },
			code:    exitInvalid, errOut: []string{"--cluster: "},
		},
		"BrokenServer": {
			reason: "the API server fails", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.code = http.StatusInternalServerError },
			code:    exitInvalid, errOut: []string{"--cluster: cannot list ", "; check the connection with kubectl cluster-info, or compare files with --current"},
		},
		"OtherCluster": {
			reason: "the cluster has no claims of this project", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.objects, c.empty = nil, true },
			code:    exitInvalid, errOut: []string{"--cluster: the cluster has no claims of this project"},
		},
		"MissingRights": {
			reason: "all missing rights are in one message", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) {
				c.forbidden = []string{"list StorageCluster", "list KeystoneService"}
			},
			code: exitInvalid, errOut: []string{
				"--cluster: missing rights: list keystoneservice.crossplane.c5c3.io in the whole cluster, list storagecluster.crossplane.c5c3.io in the whole cluster; bind",
			},
		},
		"MissingPlatformRight": {
			reason: "the PlatformConfig is required", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.forbidden = []string{"get PlatformConfig"} },
			code:    exitInvalid, errOut: []string{"missing rights: get platformconfig.crossplane.c5c3.io in the whole cluster"},
		},
		"GivenPlatform": {
			reason: "a tenant without the right gives the PlatformConfig", edit: none,
			args:    []string{"-e", "../../examples/platform/platformconfig.yaml"},
			cluster: func(_ *testing.T, c *fakeCluster) { c.forbidden = []string{"get PlatformConfig"} },
			out:     []string{"No changes."}, errOut: []string{"note: missing right: get platformconfigs"},
		},
		"NoPlatform": {
			reason: "a plan requires a PlatformConfig", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.remove("PlatformConfig") },
			code:    exitInvalid, errOut: []string{"PlatformConfig default: does not exist; create it, or set -e"},
		},
		"MissingDriftRight": {
			reason: "half of a plan is not printed", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) { c.forbidden = []string{"get XStorageCluster"} },
			code:    exitInvalid, errOut: []string{"missing rights: get xstoragecluster.crossplane.c5c3.io in the whole cluster"},
		},
		"NoDrift": {
			reason: "without drift, the claims are sufficient", edit: none, args: []string{"--no-drift"},
			cluster: func(_ *testing.T, c *fakeCluster) { c.forbidden = []string{"get XStorageCluster"} },
			out:     []string{"No changes."},
		},
		"DeletedClaim": {
			reason: "a claim that is being deleted has no plan", edit: none,
			cluster: func(_ *testing.T, c *fakeCluster) {
				now := metav1.Unix(1, 0)
				c.find("StorageCluster", "*", "").SetDeletionTimestamp(&now)
			},
			code: exitInvalid, errOut: []string{"is being deleted; wait until it does not exist"},
		},
		"InvalidClaim": {
			reason: "an invalid claim can be corrected: the last valid spec is in force", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				claim := c.find("StorageCluster", "*", "")
				spec, _, _ := unstructured.NestedMap(claim.Object, "spec")
				delete(spec, "resourceRef")
				setField(t, claim, spec, "status", "lastValidSpec")
				setField(t, claim, []any{map[string]any{"type": "SpecValid", "status": "False", "message": "spec.pools: is wrong"}}, "status", "conditions")
				setField(t, claim, "wrong", "spec", "deletionPolicy")
			},
			out: []string{"No changes."}, errOut: []string{"is invalid; the plan starts from its last valid spec: spec.pools: is wrong"},
		},
		"ClaimNotReady": {
			reason: "verdicts assume a ready cloud", edit: none,
			cluster: func(t *testing.T, c *fakeCluster) {
				setField(t, c.find("StorageCluster", "*", ""), []any{map[string]any{"type": "Current", "status": "False", "message": "waits \x1b[2J"}}, "status", "conditions")
			},
			out: []string{"No changes."}, errOut: []string{"is not ready; the plan assumes that it becomes ready before the edit: waits \\x1b[2J"},
		},
	}
	cloud, err := plan.Compose(storageInput(t, nil), kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t, cloud)
			if tc.cluster != nil {
				tc.cluster(t, c)
			}
			var args []string
			if tc.edit.Claim != "" {
				args = []string{"-f", editedFile(t, tc.edit)}
			}
			code, out, errOut := c.plan(t, append(args, tc.args...)...)
			if code != tc.code {
				t.Errorf("%s: exit code %d, want %d", tc.reason, code, tc.code)
			}
			if code != 0 && out != "" {
				t.Errorf("%s: half of a plan is printed", tc.reason)
			}
			for _, want := range tc.out {
				if !strings.Contains(out, want) {
					t.Errorf("%s: the output has no %q", tc.reason, want)
				}
			}
			for _, unwanted := range tc.without {
				if strings.Contains(out, unwanted) {
					t.Errorf("%s: the output has %q", tc.reason, unwanted)
				}
			}
			for _, want := range tc.errOut {
				if !strings.Contains(errOut, want) {
					t.Errorf("%s: the messages have no %q", tc.reason, want)
				}
			}
			if tc.errOut == nil && errOut != "" || t.Failed() {
				t.Errorf("%s:\n%s\n%s", tc.reason, out, errOut)
			}
		})
	}
}

// TestPlanClusterUnreachable checks the message without an API server, and without a kubeconfig.
func TestPlanClusterUnreachable(t *testing.T) {
	claim := editedFile(t, planEdit{Claim: "storage.yaml"})
	config := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}`
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		want   string
	}{
		"NoServer":  {"the connection fails", []string{"--cluster", "--kubeconfig", config}, exitInvalid, "--cluster: cannot list "},
		"NoConfig":  {"the file does not exist", []string{"--cluster", "--kubeconfig", config + "x"}, exitInvalid, "; set KUBECONFIG or --kubeconfig, or read files with --current"},
		"NoContext": {"the context does not exist", []string{"--cluster", "--kubeconfig", config, "--context", "x"}, exitInvalid, "--kubeconfig: cannot read the kubeconfig: "},
		"Both":      {"the existing claims have one source", []string{"--cluster", "--current", claim}, exitUsage, "--current and --cluster are both the existing claims"},
		"Neither":   {"a plan has two sides", nil, exitUsage, "the existing claims are required; set --current, or --cluster"},
		"Flags":     {"a flag without effect is a mistake", []string{"--current", claim, "--no-drift"}, exitUsage, "require --cluster"},
		"Detailed":  {"2 means changes", []string{"--cluster", "--kubeconfig", config, "--detailed-exitcode"}, exitInvalid, "--cluster: cannot list "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(append([]string{"plan", "-f", claim}, tc.args...), strings.NewReader(""), &out, &errOut)
			if code != tc.code || !strings.Contains(errOut.String(), tc.want) || out.Len() > 0 {
				t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", tc.reason, code, tc.code, tc.want, &out, &errOut)
			}
			if lines := strings.Count(errOut.String(), "\n"); lines != 1 {
				t.Errorf("%s: %d lines, want one message:\n%s", tc.reason, lines, &errOut)
			}
		})
	}
}

// remove removes the objects of kinds, also those inside of Objects of provider-kubernetes.
func (c *fakeCluster) remove(kinds ...string) {
	var rest []*unstructured.Unstructured
	for _, o := range c.objects {
		inner, _, _ := unstructured.NestedString(o.Object, "status", "atProvider", "manifest", "kind")
		if !slices.Contains(kinds, o.GetKind()) && !slices.Contains(kinds, inner) {
			rest = append(rest, o)
		}
	}
	c.objects = rest
}

// setField sets a field of an object.
func setField(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if o == nil {
		t.Fatal("the object does not exist")
	}
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// inside returns the Object of provider-kubernetes around an object of a kind.
func (c *fakeCluster) inside(kind string) *unstructured.Unstructured {
	for _, o := range c.objects {
		if inner, _, _ := unstructured.NestedString(o.Object, "status", "atProvider", "manifest", "kind"); inner == kind {
			return o
		}
	}
	return nil
}
