//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// mistake is an edit that only the function can refuse: there is no such option.
func mistake() edit {
	return set(int64(3600), "spec", "services", "keystone", "config", "token", "cache_tmie")
}

// TestInvalidEdit: a claim that is ready gets a mistake that only the function can find. The claim says so in the words of the preview, and
// is not ready; nothing changes, and what runs is looked after as before. When the mistake is fixed it is forgotten.
func TestInvalidEdit(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-invalid-edit")
	order(t, u)
	name := instance(t, ready(t, u))
	before := versions(t, name)

	invalid := claim(t, "tenant-invalid-edit", mistake())
	doc, err := invalid.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var refused *preview.ValidationErrors
	if _, err := preview.Run(doc, examples.Platform, kinds.Runners()); !errors.As(err, &refused) || len(refused.Sentences) != 1 {
		t.Fatalf("the preview does not refuse the claim: %v", err)
	}
	order(t, invalid)
	specValid(t, invalid, "False", refused.Sentences[0])
	says(t, invalid, "Current", "False", refused.Sentences[0])
	says(t, invalid, "Ready", "False", "")
	if diff := cmp.Diff(before, versions(t, name)); diff != "" {
		t.Errorf("the invalid edit changed something: -before, +after:\n%s", diff)
	}

	// What runs is healed, and told of as it is.
	service := get(t, cloud.Cluster, serviceKind, name, "memcached")
	deployment := get(t, cloud.Cluster, deploymentKind, name, "companion")
	for _, o := range []*unstructured.Unstructured{service, deployment} {
		if err := cloud.Client.Delete(t.Context(), o.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		eventually(t, soon, func() error {
			again, err := cloud.Get(t.Context(), o.GroupVersionKind(), client.ObjectKeyFromObject(o))
			if err != nil || again == nil || again.GetUID() == o.GetUID() {
				return fmt.Errorf("%s %s is not made again: %w", o.GetKind(), o.GetName(), err)
			}
			return nil
		})
	}
	for _, condition := range []string{"Composed", "NamespaceReady", "DatabaseReady", "CompanionReady", "KeystoneReady", "CatalogReady"} {
		says(t, invalid, condition, "True", "")
	}
	specValid(t, invalid, "False", refused.Sentences[0])

	order(t, claim(t, "tenant-invalid-edit", set(int64(7200), "spec", "services", "keystone", "config", "token", "cache_time")))
	specValid(t, invalid, "True", "")
	ready(t, u)
	says(t, u, "Current", "True", "")
}

// TestRetainAtOnce: a claim whose data would be deleted is told to keep it, by an edit that has a mistake besides. It says when that
// counts, and then all data outlives it.
func TestRetainAtOnce(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-retain-at-once", set("Delete", "spec", "deletionPolicy"))
	order(t, u)
	name := instance(t, ready(t, u))
	inForce(t, u, "Delete")
	database := get(t, cloud.Cluster, mariaDBKind, name, "mariadb")
	secrets := []string{"mariadb-root", "keystone-database", "keystone-admin", "keystone-fernet-keys", "keystone-credential-keys"}
	before := secretsIn(t, name)

	invalid := claim(t, "tenant-retain-at-once", set("Retain", "spec", "deletionPolicy"), mistake())
	order(t, invalid)
	inForce(t, invalid, "Retain")
	specValid(t, invalid, "False", "cache_tmie")

	// The other way, it is not believed.
	order(t, claim(t, "tenant-retain-at-once", set("Delete", "spec", "deletionPolicy"), mistake(), set(int64(3), "spec", "services", "keystone", "replicas")))
	eventually(t, soon, func() error {
		is := get(t, cloud.Cluster, claimKind, invalid.GetNamespace(), invalid.GetName())
		composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
		xr := get(t, cloud.Cluster, compositeKind, "", composite)
		policy, _, _ := unstructured.NestedString(xr.Object, "spec", "deletionPolicy")
		c, _ := platform.ConditionOf(xr, "Ready")
		if policy != "Delete" || c.ObservedGeneration != xr.GetGeneration() {
			return errors.New("the edit has not been looked at yet")
		}
		return nil
	})
	inForce(t, invalid, "Retain")
	for _, o := range append(list(t, cloud.Cluster, objectKind, ""), list(t, cloud.Cluster, objectMKind, name)...) {
		policies, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")
		if o.GetName() == name+"-database" && slices.Contains(policies, "*") {
			t.Errorf("Object %s would delete what is in it: %v", o.GetName(), policies)
		}
	}

	order(t, invalid)
	inForce(t, invalid, "Retain")
	remove(t, invalid)
	if again := get(t, cloud.Cluster, mariaDBKind, name, "mariadb"); again.GetUID() != database.GetUID() || again.GetDeletionTimestamp() != nil {
		t.Errorf("the database has gone with the claim: %v", again)
	}
	after := secretsIn(t, name)
	for _, s := range secrets {
		if diff := cmp.Diff(before[s], after[s]); diff != "" {
			t.Errorf("Secret %s: -before, +after the claim:\n%s", s, diff)
		}
	}
}

// inForce waits until a claim says what would become of its data.
func inForce(t *testing.T, u *unstructured.Unstructured, policy string) {
	t.Helper()
	eventually(t, soon, func() error {
		is := get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
		if got, _, _ := unstructured.NestedString(is.Object, "status", "deletionPolicy"); got != policy {
			return fmt.Errorf("status.deletionPolicy is %q, want %s", got, policy)
		}
		return nil
	})
}
