//go:build platform

package platform_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// attack is an unauthorized action.
type attack struct {
	reason string
	// try performs it, as the user of the client.
	try func(c client.Client) error
	// want is part of the error. Empty: the API server rejects it as forbidden.
	want string
}

// forbidden is the expected error of attacks that RBAC rejects.
const forbidden = ""

// TestTenantMayOnlyManageClaims checks that an editor of a namespace may create claims in it, and nothing else: not in other namespaces,
// not the claim's objects, and not the fields of a claim that control its composition. docs/explanation/attacks.md
// lists these attacks.
func TestTenantMayOnlyManageClaims(t *testing.T) {
	t.Parallel()
	tenantNamespace(t, "tenant-rights")
	alice, err := cloud.As("alice")
	if err != nil {
		t.Fatal(err)
	}
	// Permissions are aggregated, with a short delay.
	eventually(t, timeout, func() error { return alice.Create(t.Context(), claim(t, "tenant-rights"), client.DryRunAll) })
	u := claim(t, "tenant-rights")
	order(t, u)
	is := ready(t, u)
	if err := alice.Get(t.Context(), client.ObjectKeyFromObject(u), u.DeepCopy()); err != nil {
		t.Errorf("she may not see her claim: %v", err)
	}
	composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
	lives := instance(t, is)

	order := func(namespace string, edits ...edit) func(client.Client) error {
		return func(c client.Client) error {
			return c.Create(t.Context(), claim(t, namespace, edits...), client.DryRunAll)
		}
	}
	try(t, alice, map[string]attack{
		"Composition": {
			"Another Composition would be composed by another function.", order("tenant-rights", set("x", "spec", "compositionRef", "name")),
			"spec.compositionRef is set by the platform",
		},
		"CompositionRevision": {
			"A revision of another Composition escapes the definition.", order("tenant-rights", set("x", "spec", "compositionRevisionRef", "name")),
			"spec.compositionRevisionRef is set by the platform",
		},
		"UpdatePolicy": {
			"A claim that updates by hand stays on an old revision.", order("tenant-rights", set("Manual", "spec", "compositionUpdatePolicy")),
			"spec.compositionUpdatePolicy is set by the platform",
		},
		"DeletePolicy": {
			"In the background everything goes in the wrong order.", order("tenant-rights", set("Background", "spec", "compositeDeletePolicy")),
			"spec.compositeDeletePolicy must be Foreground",
		},
		"TakeOver": {
			"The composite resource of another claim.", order("tenant-rights", set(map[string]any{
				"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "XControlPlaneCluster", "name": composite,
			}, "spec", "resourceRef")), "spec.resourceRef is set by the platform",
		},
		"ConnectionSecret": {
			"Secrets stay where they are.", order("tenant-rights", set("s", "spec", "writeConnectionSecretToRef", "name")),
			"spec.writeConnectionSecretToRef is not supported",
		},
		"Pause": {
			"A paused claim is not reconciled.", order("tenant-rights", set("true", "metadata", "annotations", "crossplane.io/paused")),
			"metadata.annotations of crossplane.io are set by the platform",
		},
		"Finalizer": {
			"A claim without its finalizer goes, and its cloud stays.", patch(t, u, `{"metadata":{"finalizers":null}}`),
			"metadata.finalizers of Crossplane cannot be removed",
		},
		"PathOfAnother": {
			"The path of another control plane in the store.",
			order("tenant-rights", set(map[string]any{"name": "s", "prefix": "a/../" + lives}, "spec", "global", "secretStore")), "should match",
		},
		"Elsewhere": {"Another tenant's namespace.", order("tenant-elsewhere"), forbidden},
		"Status": {"The status contains the effective deletion policy.", func(c client.Client) error {
			return c.Status().Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"deletionPolicy":"Retain"}}`)))
		}, forbidden},
		"ReadComposite":  {"Composite resources belong to the platform.", read(t, compositeKind, "", composite), forbidden},
		"ReadKeystone":   {"So do composed resources.", read(t, keystoneKind, lives, "keystone"), forbidden},
		"ReadAdmin":      {"The administrator's password comes from the platform, or from Keystone.", read(t, secretKind, lives, "keystone-admin"), forbidden},
		"ReadRoot":       {"Tenants do not log in to the database.", read(t, secretKind, lives, "mariadb-root"), forbidden},
		"ReadPlatform":   {"The limits of other tenants are private.", read(t, platformKind, "", "default"), forbidden},
		"MakeComposite":  {"A composite resource without a claim is under no policy of claims.", create(t, compositeKind, "", "x"), forbidden},
		"MakeKeystone":   {"A Keystone with a spec of one's own.", create(t, keystoneKind, "tenant-rights", "x"), forbidden},
		"MakeObject":     {"The provider applies Objects with its own permissions.", create(t, objectKind, "", "x"), forbidden},
		"MakeObjectHere": {"So it does with one in a namespace.", create(t, objectMKind, "tenant-rights", "x"), forbidden},
		"MakeSecret":     {"A Secret in the namespace from which Keystone reads.", create(t, secretKind, lives, "x"), forbidden},
		"Unbind":         {"A policy without its binding has no effect.", drop(t, bindingKind, "cobaltcore-claims"), forbidden},
		"Unmark":         {"A control plane's namespace without the label is not restricted.", label(t, lives, "null"), forbidden},
	})

	// The same with the right to make namespaces, as tenants have on some platforms.
	mallory, err := cloud.As("mallory")
	if err != nil {
		t.Fatal(err)
	}
	namespaceFor(t, "tenant-marks")
	try(t, mallory, map[string]attack{
		"MarkNew": {"The label opens the secret store to a namespace.", func(c client.Client) error {
			ns := bare(namespaceKind, "", "tenant-marked")
			ns.SetLabels(map[string]string{instanceLabel: "crossplane-cobaltcore"})
			return c.Create(t.Context(), ns, client.DryRunAll)
		}, "metadata.labels: " + instanceLabel},
		"Mark": {"It does so later, too.", label(t, "tenant-marks", `"crossplane-cobaltcore"`), "metadata.labels: " + instanceLabel},
		"Unmark": {
			"Without the label, its companion would not be restricted.", label(t, lives, "null"), "metadata.labels: " + instanceLabel,
		},
		"Squat": {
			"The creator of a namespace could read a future control plane in it.",
			create(t, namespaceKind, "", names.Instance("tenant-b", "cloud")), "metadata.name ends as names of control planes' namespaces do",
		},
		"Path": {
			"The path in the store belongs to the instance.",
			patch(t, bare(namespaceKind, "", lives), `{"metadata":{"annotations":{"crossplane.c5c3.io/secret-path":"x"}}}`),
			"metadata.annotations of crossplane.c5c3.io",
		},
	})

	// An attacker with the companion's token.
	companion, err := cloud.As("system:serviceaccount:"+lives+":companion", "system:serviceaccounts", "system:serviceaccounts:"+lives)
	if err != nil {
		t.Fatal(err)
	}
	push := func(key string) func(client.Client) error {
		return func(c client.Client) error { return c.Create(t.Context(), pushOf(t, lives, key), client.DryRunAll) }
	}
	if err := push(lives + "/keystone-fernet-keys")(companion); err != nil {
		t.Errorf("a companion may not keep its keys: %v", err)
	}
	try(t, companion, map[string]attack{
		"PushOver":      {"The administrator of another control plane.", push("tenant-b-cloud-1a2b3/keystone-admin"), "keeps keys of its own control plane"},
		"PushUp":        {"A path that the store resolves.", push(lives + "/../tenant-b-cloud-1a2b3/keystone-fernet-keys"), "keeps keys of its own control plane"},
		"PushRoot":      {"The only copy of a password.", push(lives + "/mariadb-root"), "keeps keys of its own control plane"},
		"ReadNeighbour": {"The store returns any entry.", restoreOf(t, lives, "openbao-cluster-store", "tenant-b-cloud-1a2b3/keystone-admin"), "keeps keys of its own control plane"},
		"OtherStore":    {"A store that was made for something else.", restoreOf(t, lives, "corporate", lives+"/keystone-fernet-keys"), "uses no secret store but"},
		"OtherSecrets":  {"Its Role ends with its namespace.", read(t, secretKind, "crossplane-system", "kubeconfig-in-cluster"), forbidden},
		"Role":          {"It grants no permissions.", create(t, schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, lives, "x"), forbidden},
		"Claim":         {"It orders nothing.", order("tenant-rights"), forbidden},
		"Unmark":        {"It does not free itself.", label(t, lives, "null"), forbidden},
		"JobSecret":     {"A pod can read Secrets that its creator cannot.", jobOf(t, lives, "mariadb-root"), "refers only to Secrets that the companion is permitted to get"},
		"TokenSecret":   {"Kubernetes adds a token of the account.", tokenOf(t, lives), "a Secret of a companion must be Opaque"},
		"Workload": {
			"It may restart a workload only.",
			patch(t, bare(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, lives, "keystone"), `{"spec":{"paused":true}}`),
			"a companion changes only annotations of the pod template",
		},
	})

	// Even administrators may not delete objects that a claim would create again, and may not pause a claim without
	// impersonating a member of the platform team: the tool that applies tenants' claims from a repository is often an
	// administrator.
	administrator, err := cloud.As("gitops", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	pause := patch(t, u, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	remove := func(kind schema.GroupVersionKind, namespace, name string) func(client.Client) error {
		return func(c client.Client) error { return c.Delete(t.Context(), bare(kind, namespace, name)) }
	}
	try(t, administrator, map[string]attack{
		"DeleteComposite": {"The claim makes it again.", remove(compositeKind, "", composite), "cannot be deleted directly"},
		"DeleteKeystone":  {"So does the composite resource.", remove(keystoneKind, lives, "keystone"), "cannot be deleted directly"},
		"Pause":           {"A tenant's commit is no word of the platform's.", pause, "metadata.annotations of crossplane.io"},
	})
	operator, err := cloud.As("operator", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if err := pause(operator); err != nil {
		t.Errorf("the platform team may not pause a claim: %v", err)
	}
	if c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, "tenant-rights", "cloud"), "Ready"); c.Status != "True" {
		t.Errorf("the claim is not ready any more: %+v", c)
	}
}

// TestRequiresAdmissionPolicies checks that without its admission policies the platform composes nothing, and that claims report the
// platform team's error. It runs alone on the platform: other claims would report the same.
func TestRequiresAdmissionPolicies(t *testing.T) {
	const name = "cobaltcore-claims"
	binding := get(t, cloud.Cluster, bindingKind, "", name)
	if err := cloud.Client.Delete(t.Context(), binding.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		later := bare(bindingKind, "", name)
		later.SetLabels(binding.GetLabels())
		later.SetAnnotations(binding.GetAnnotations())
		later.Object["spec"] = binding.Object["spec"]
		if err := cloud.Client.Create(t.Context(), later); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
	}
	defer restore()
	u := claim(t, "tenant-mandatory")
	order(t, u)
	var is *unstructured.Unstructured
	eventually(t, timeout, func() error {
		is = get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
		if c, _ := platform.ConditionOf(is, "Composed"); c.Status != "False" || !strings.Contains(c.Message, "ValidatingAdmissionPolicyBinding "+name+" is missing") {
			return fmt.Errorf("Composed is %+v", c)
		}
		return nil
	})
	composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
	xr := get(t, cloud.Cluster, compositeKind, "", composite)
	if refs, _, _ := unstructured.NestedSlice(xr.Object, "spec", "resourceRefs"); len(refs) > 0 {
		t.Errorf("%d objects are composed", len(refs))
	}
	restore()
	ready(t, u)
}

// try performs attacks, each of which has to be rejected.
func try(t *testing.T, c client.Client, attacks map[string]attack) {
	t.Helper()
	for name, a := range attacks {
		switch err := a.try(c); {
		case err == nil:
			t.Errorf("%s: %s\nNobody refused it.", name, a.reason)
		case a.want == forbidden && (!apierrors.IsForbidden(err) || strings.Contains(err.Error(), "ValidatingAdmissionPolicy")):
			t.Errorf("%s: %s\nwant no right to do that, got: %v", name, a.reason, err)
		case !strings.Contains(err.Error(), a.want):
			t.Errorf("%s: %s\nwant a refusal with %q, got: %v", name, a.reason, a.want, err)
		}
	}
}

// tenantNamespace creates a namespace that alice may edit, and mallory's permission to create and change namespaces.
func tenantNamespace(t *testing.T, name string) {
	t.Helper()
	if err := cloud.Apply(t.Context(), fmt.Appendf(nil, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: %[1]s, name: tenant}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: makes-namespaces}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: makes-namespaces}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: makes-namespaces}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`, name)); err != nil {
		t.Fatal(err)
	}
}

// Kinds that attacks are on.
var (
	platformKind = schema.GroupVersionKind{Group: "crossplane.c5c3.io", Version: "v1alpha1", Kind: "PlatformConfig"}
	bindingKind  = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}
)

const instanceLabel = "app.kubernetes.io/managed-by"

// bare returns an object with only a name.
func bare(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func read(t *testing.T, kind schema.GroupVersionKind, namespace, name string) func(client.Client) error {
	t.Helper()
	return func(c client.Client) error {
		return c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, bare(kind, namespace, name))
	}
}

func create(t *testing.T, kind schema.GroupVersionKind, namespace, name string) func(client.Client) error {
	t.Helper()
	return func(c client.Client) error {
		return c.Create(t.Context(), bare(kind, namespace, name), client.DryRunAll)
	}
}

func drop(t *testing.T, kind schema.GroupVersionKind, name string) func(client.Client) error {
	t.Helper()
	return func(c client.Client) error { return c.Delete(t.Context(), bare(kind, "", name), client.DryRunAll) }
}

func patch(t *testing.T, u *unstructured.Unstructured, merge string) func(client.Client) error {
	t.Helper()
	return func(c client.Client) error {
		return c.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(merge)), client.DryRunAll)
	}
}

// label sets the label of a control plane's namespace to a JSON value.
func label(t *testing.T, namespace, value string) func(client.Client) error {
	t.Helper()
	return patch(t, bare(namespaceKind, "", namespace), `{"metadata":{"labels":{"`+instanceLabel+`":`+value+`}}}`)
}

// pushOf returns the PushSecret with which a companion stores its keys, with a key of the store.
func pushOf(t *testing.T, namespace, key string) *unstructured.Unstructured {
	t.Helper()
	u := bare(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1alpha1", Kind: "PushSecret"}, namespace, "x")
	u.Object["spec"] = map[string]any{
		"deletionPolicy":  "None",
		"secretStoreRefs": []any{map[string]any{"name": "openbao-cluster-store", "kind": "ClusterSecretStore"}},
		"selector":        map[string]any{"secret": map[string]any{"name": "keystone-fernet-keys"}},
		"data":            []any{map[string]any{"match": map[string]any{"remoteRef": map[string]any{"remoteKey": key}}}},
	}
	return u
}

// jobOf creates a Job that reads a Secret, as a companion does.
func jobOf(t *testing.T, namespace, secret string) func(client.Client) error {
	t.Helper()
	u := bare(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, namespace, "x")
	u.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "openstack.c5c3.io/v1alpha1", Kind: "DatabaseSync", Name: "keystone", UID: "x", Controller: new(true),
	}})
	pod := map[string]any{
		"restartPolicy": "Never", "automountServiceAccountToken": false,
		"containers": []any{map[string]any{"name": "x", "image": "x", "env": []any{map[string]any{
			"name": "X", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": secret, "key": "password"}},
		}}}},
	}
	labels := map[string]any{
		"app.kubernetes.io/name": "keystone", "app.kubernetes.io/component": "schema", "app.kubernetes.io/managed-by": "crossplane-cobaltcore",
	}
	u.Object["spec"] = map[string]any{"suspend": true, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}}
	return func(c client.Client) error { return c.Create(t.Context(), u.DeepCopy(), client.DryRunAll) }
}

// tokenOf creates a Secret for a token of another account.
func tokenOf(t *testing.T, namespace string) func(client.Client) error {
	t.Helper()
	u := bare(secretKind, namespace, "x")
	u.SetAnnotations(map[string]string{"kubernetes.io/service-account.name": "default"})
	u.Object["type"] = "kubernetes.io/service-account-token"
	return func(c client.Client) error { return c.Create(t.Context(), u.DeepCopy(), client.DryRunAll) }
}

// restoreOf reads an entry of a store, as a companion does.
func restoreOf(t *testing.T, namespace, store, key string) func(client.Client) error {
	t.Helper()
	u := bare(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}, namespace, "keystone-fernet-keys-restore")
	u.Object["spec"] = map[string]any{
		"secretStoreRef": map[string]any{"name": store, "kind": "ClusterSecretStore"},
		"target":         map[string]any{"name": u.GetName()},
		"dataFrom":       []any{map[string]any{"extract": map[string]any{"key": key}}},
	}
	return func(c client.Client) error { return c.Create(t.Context(), u.DeepCopy(), client.DryRunAll) }
}
