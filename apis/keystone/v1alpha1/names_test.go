package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// TestObjectNamesAreStable pins the names of existing objects: a different name would be another Secret, or an address without a server.
func TestObjectNamesAreStable(t *testing.T) {
	got := map[string]string{
		"url":        keystonev1.InternalURL("keystone", "cloud"),
		"admin":      keystonev1.AdminSecretName("keystone"),
		"admin's":    string(keystonev1.AdminCloud("keystone").SecretName) + " " + keystonev1.AdminCloud("keystone").CloudName,
		"K-ORC's":    string(keystonev1.KORCCloud("keystone").SecretName) + " " + keystonev1.KORCCloud("keystone").CloudName,
		"group kind": keystonev1.GroupVersionKind.GroupKind().String(),
	}
	want := map[string]string{
		"url":        "https://keystone.cloud.svc:5000/v3",
		"admin":      "keystone-admin",
		"admin's":    "keystone-clouds admin",
		"K-ORC's":    "keystone-korc-clouds korc",
		"group kind": "Keystone.keystone.openstack.c5c3.io",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
