package korc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// TestDeletionRetainsKeystoneResources checks that deletion of an imported or managed object deletes nothing in Keystone.
func TestDeletionRetainsKeystoneResources(t *testing.T) {
	c := Credentials{SecretName: "keystone-clouds", CloudName: "admin"}
	ref := object.Map{"secretName": "keystone-clouds", "cloudName": "admin"}
	meta := object.Meta{Name: "admin", Namespace: "cloud"}
	imported := c.Import("Role", meta, object.Map{"name": "admin"})
	managed := c.Managed("Project", meta, object.Map{"name": "service"})
	if diff := cmp.Diff(object.Map{
		"cloudCredentialsRef": ref, "managementPolicy": "unmanaged", "import": object.Map{"filter": object.Map{"name": "admin"}},
	}, imported.Object["spec"]); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object.Map{
		"cloudCredentialsRef": ref, "managementPolicy": "managed", "managedOptions": object.Map{"onDelete": "detach"}, "resource": object.Map{"name": "service"},
	}, managed.Object["spec"]); diff != "" {
		t.Errorf("managed (-want +got):\n%s", diff)
	}
	if got := imported.GroupVersionKind().GroupVersion().String(); got != APIVersion || managed.GetKind() != "Project" {
		t.Errorf("apiVersion %s, kind %s", got, managed.GetKind())
	}
}
