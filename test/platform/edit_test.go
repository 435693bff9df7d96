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

// invalidOption returns an edit that only the function can reject: an option that does not exist.
func invalidOption() edit {
	return set(int64(3600), "spec", "services", "keystone", "config", "token", "cache_tmie")
}

// TestInvalidEditChangesNoObjects makes an edit of a ready claim with an error that only the function can find. The claim must report
// it with the message of the preview, and not be ready; nothing changes, and the running objects are reconciled as
// before. After the error is fixed, no trace of it remains.
func TestInvalidEditChangesNoObjects(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-invalid-edit")
	order(t, u)
	name := instance(t, ready(t, u))
	before := versions(t, name)

	invalid := claim(t, "tenant-invalid-edit", invalidOption())
	doc, err := invalid.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var rejection *preview.ValidationErrors
	if _, err := preview.Run(doc, examples.Platform, kinds.Runners()); !errors.As(err, &rejection) || len(rejection.Sentences) != 1 {
		t.Fatalf("the preview does not refuse the claim: %v", err)
	}
	order(t, invalid)
	specValid(t, invalid, "False", rejection.Sentences[0])
	waitCondition(t, invalid, "Current", "False", rejection.Sentences[0])
	waitCondition(t, invalid, "Ready", "False", "")
	if diff := cmp.Diff(before, versions(t, name)); diff != "" {
		t.Errorf("the invalid edit changed something: -before, +after:\n%s", diff)
	}

	// Running objects are repaired, and their status is reported.
	service := get(t, cloud.Cluster, serviceKind, name, "memcached-keystone")
	deployment := get(t, cloud.Cluster, deploymentKind, name, "companion")
	for _, o := range []*unstructured.Unstructured{service, deployment} {
		if err := cloud.Client.Delete(t.Context(), o.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		eventually(t, timeout, func() error {
			next, err := cloud.Get(t.Context(), o.GroupVersionKind(), client.ObjectKeyFromObject(o))
			if err != nil || next == nil || next.GetUID() == o.GetUID() {
				return fmt.Errorf("%s %s is not made again: %w", o.GetKind(), o.GetName(), err)
			}
			return nil
		})
	}
	for _, condition := range []string{"Composed", "NamespaceReady", "DatabaseReady", "CompanionReady", "KeystoneReady", "CatalogReady"} {
		waitCondition(t, invalid, condition, "True", "")
	}
	specValid(t, invalid, "False", rejection.Sentences[0])

	order(t, claim(t, "tenant-invalid-edit", set(int64(7200), "spec", "services", "keystone", "config", "token", "cache_time")))
	specValid(t, invalid, "True", "")
	ready(t, u)
	waitCondition(t, u, "Current", "True", "")
}

// TestRetainAtOnce changes the policy of a claim from Delete to Retain with an edit that also has an error. The claim
// must report when the policy is effective, and then all data outlives it.
func TestRetainAtOnce(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-retain-at-once", set("Delete", "spec", "deletionPolicy"))
	order(t, u)
	name := instance(t, ready(t, u))
	inForce(t, u, "Delete")
	database := get(t, cloud.Cluster, mariaDBKind, name, "mariadb")
	secrets := []string{"mariadb-root", "keystone-database", "keystone-admin", "keystone-fernet-keys", "keystone-credential-keys"}
	before := secretsIn(t, name)

	invalid := claim(t, "tenant-retain-at-once", set("Retain", "spec", "deletionPolicy"), invalidOption())
	order(t, invalid)
	inForce(t, invalid, "Retain")
	specValid(t, invalid, "False", "cache_tmie")

	// The other way, it is not believed.
	order(t, claim(t, "tenant-retain-at-once", set("Delete", "spec", "deletionPolicy"), invalidOption(), set(int64(3), "spec", "services", "keystone", "replicas")))
	eventually(t, timeout, func() error {
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
			t.Errorf("Object %s would delete its contents: %v", o.GetName(), policies)
		}
	}

	order(t, invalid)
	inForce(t, invalid, "Retain")
	remove(t, invalid)
	if next := get(t, cloud.Cluster, mariaDBKind, name, "mariadb"); next.GetUID() != database.GetUID() || next.GetDeletionTimestamp() != nil {
		t.Errorf("the database has gone with the claim: %v", next)
	}
	after := secretsIn(t, name)
	for _, s := range secrets {
		if diff := cmp.Diff(before[s], after[s]); diff != "" {
			t.Errorf("Secret %s: -before, +after the claim:\n%s", s, diff)
		}
	}
}

// inForce waits until a claim reports its effective deletion policy.
func inForce(t *testing.T, u *unstructured.Unstructured, policy string) {
	t.Helper()
	eventually(t, timeout, func() error {
		is := get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
		if got, _, _ := unstructured.NestedString(is.Object, "status", "deletionPolicy"); got != policy {
			return fmt.Errorf("status.deletionPolicy is %q, want %s", got, policy)
		}
		return nil
	})
}
