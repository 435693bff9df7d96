package controlplane

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// legacy is the instance of claim cloud in namespace tenant-a in earlier versions.
const legacy = "tenant-a-cloud-aab83"

// namespaceObject returns the observed Object of an instance's namespace.
func namespaceObject(t *testing.T, instance string) map[string]*structpb.Struct {
	t.Helper()
	return map[string]*structpb.Struct{infrastructure.NamespaceResource: structOf(t, map[string]any{
		"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": instance + "-namespace"},
		"spec": map[string]any{"providerConfigRef": map[string]any{"name": "in-cluster"}},
	})}
}

// TestClaimRetainsOwnInstance checks that a control plane keeps its instance, and cannot get the instance of another one.
func TestClaimRetainsOwnInstance(t *testing.T) {
	const (
		ready   = `{instance: tenant-a-cloud-aab83, components: [{name: namespace, phase: Ready}]}`
		waiting = `{instance: tenant-a-cloud-aab83, components: [{name: namespace, phase: Creating}]}`
	)
	provided := func(claim, instance string) string {
		namespace, name, _ := strings.Cut(claim, "/")
		return "{domain: example.com, instances: [{namespace: " + namespace + ", name: " + name + ", instance: " + instance + "}]}"
	}
	cases := map[string]struct {
		reason, status, observed, platform string
		want                               string // an instance, or part of an error
	}{
		"New":           {"The name is unique to the claim.", "{}", "", bare, instance},
		"Observed":      {"An instance of an earlier version is kept.", ready, legacy, bare, legacy},
		"Restored":      {"The observed name is sufficient without a status.", "{}", legacy, bare, legacy},
		"ObservedNew":   {"An instance of this version is kept, too, with any status.", ready, instance, bare, instance},
		"ObjectsGone":   {"Objects are temporarily not observed.", ready, "", bare, legacy},
		"NeverThere":    {"Another claim has that name: the namespace was never created, and the claim stops waiting for it.", waiting, "", bare, instance},
		"ForeignStatus": {"The name in the status is not derived from the claim's.", `{instance: other-1a2b3, components: [{name: namespace, phase: Ready}]}`, "", bare, instance},
		"Given":         {"The platform assigns the retained data.", "{}", "", provided("tenant-a/cloud", legacy), legacy},
		"GivenOther":    {"The assignment applies even if the status has another name.", "{}", "", provided("tenant-a/cloud", "tenant-a-old-12345"), "tenant-a-old-12345"},
		"GivenTooLate":  {"An existing control plane is not moved.", "{}", instance, provided("tenant-a/cloud", legacy), instance},
		"GivenAway":     {"A name that the platform assigned to another claim cannot be used.", "{}", "", provided("tenant-b/cloud", instance), "assigns instance " + instance},
		"OthersGiven":   {"Assignments of other claims have no effect.", "{}", "", provided("tenant-b/cloud", legacy), instance},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var observed map[string]*structpb.Struct
			if tc.observed != "" {
				observed = namespaceObject(t, tc.observed)
			}
			in := input(t, "{}", tc.platform, observed)
			if err := function.Decode(structOf(t, map[string]any{"status": fields(t, tc.status)}), &in.XR); err != nil {
				t.Fatal(err)
			}
			m, err := derive(in)
			switch {
			case err != nil && (invalid.Is(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s\nerror %v", tc.reason, err)
			case err == nil && m.Instance != tc.want:
				t.Errorf("%s\ninstance %s, want %s", tc.reason, m.Instance, tc.want)
			}
		})
	}
}

// TestUpgradePreservesNamesOfObjects checks that this version composes the same objects under the same names for a claim of an earlier
// version.
func TestUpgradePreservesNamesOfObjects(t *testing.T) {
	w := newCluster(t, "{}", bare)
	// The namespace is the first object that the earlier version composed.
	w.Observed = map[string]encoded.Struct{infrastructure.NamespaceResource: encoded.Of(namespaceObject(t, legacy)[infrastructure.NamespaceResource])}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	before := desired(t, w)
	if len(before) < 30 {
		t.Fatalf("only %d objects are composed: this tests nothing", len(before))
	}
	for name, o := range before {
		m := o.Map()
		if ns := at(m, "metadata", "namespace"); ns != nil && ns != legacy {
			t.Errorf("%s lies in %v", name, ns)
		}
		if wrapper.IsObject(o) && at(m, "metadata", "name") != legacy+"-"+name {
			t.Errorf("the Object of %s is called %v", name, at(m, "metadata", "name"))
		}
		if strings.Contains(string(o), instance) {
			t.Errorf("%s names the instance that a new claim would have", name)
		}
	}
	// A restore does not include the status, and the namespace's Object was removed.
	delete(w.XR.GetFields(), "status")
	delete(w.Observed, infrastructure.NamespaceResource)
	for name, o := range desired(t, w) {
		if string(o) != string(before[name]) {
			t.Errorf("%s is another without a status and the namespace's Object", name)
		}
	}
}

// TestCollidingClaimsGetDifferentInstances checks two tenants' claims with the same instance in an earlier version. The claim that owns the
// namespace keeps it. The other claim observes none of these objects and gets its own instance.
func TestCollidingClaimsGetDifferentInstances(t *testing.T) {
	victim := function.Claim{Namespace: "team-production-eu", Name: "openstack-control-plane-for-customer-one"}
	attacker := function.Claim{Namespace: "team", Name: "production-eu-openstack-control-plane-for-customer-o62923"}
	shared := names.LegacyInstance(victim.Namespace, victim.Name)
	if shared != names.LegacyInstance(attacker.Namespace, attacker.Name) {
		t.Fatal("the names do not collide: this tests nothing")
	}
	in := input(t, "{}", bare, namespaceObject(t, shared))
	in.Claim = victim
	m, err := derive(in)
	if err != nil || m.Instance != shared {
		t.Errorf("the victim's instance is %s (%v)", m.Instance, err)
	}
	for name, status := range map[string]string{
		"new": "{}", "that waited for the name": "{instance: " + shared + ", components: [{name: namespace, phase: Creating}]}",
	} {
		in := input(t, "{}", bare, nil)
		in.Claim = attacker
		if err := function.Decode(structOf(t, map[string]any{"status": fields(t, status)}), &in.XR); err != nil {
			t.Fatal(err)
		}
		if m, err := derive(in); err != nil || m.Instance == shared {
			t.Errorf("a claim %s has the victim's instance (%v)", name, err)
		}
	}
}

// TestNamespaceOwnerAnnotation checks the annotations with the owner for operators, and with the permitted path of the secret store for
// admission policies.
func TestNamespaceOwnerAnnotation(t *testing.T) {
	for name, tc := range map[string]struct{ platform, store, path string }{
		"no store": {platform: bare},
		"store":    {"{domain: example.com, secretStore: {name: openbao}}", "ClusterSecretStore/openbao", instance},
		"prefix":   {"{domain: example.com, secretStore: {name: openbao, kind: SecretStore, prefix: a/b}}", "SecretStore/openbao", "a/b/" + instance},
	} {
		t.Run(name, func(t *testing.T) {
			notes, _ := at(inner(desired(t, newCluster(t, "{}", tc.platform))[infrastructure.NamespaceResource]), "metadata", "annotations").(map[string]any)
			for key, want := range map[string]string{
				"crossplane.c5c3.io/claim": "tenant-a/cloud", "crossplane.c5c3.io/secret-store": tc.store, "crossplane.c5c3.io/secret-path": tc.path,
			} {
				if got, _ := notes[key].(string); got != want {
					t.Errorf("annotation %s is %q, want %q", key, got, want)
				}
			}
		})
	}
}
