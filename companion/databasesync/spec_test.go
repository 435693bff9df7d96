package databasesync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestIdentity verifies that the identities of steps are the ones of earlier versions: others would run all steps of all databases again.
func TestIdentity(t *testing.T) {
	all := openstackv1.Step{
		Name: "migrate", Command: openstackv1.Command{Command: []openstackv1.Argument{"nova-manage", "db", "online_data_migrations <&>"}},
		SuccessCodes: []int32{0, 2}, RepeatCodes: []int32{1}, Quiesced: true,
	}
	least := openstackv1.Step{Name: "db-sync", Command: openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage", "db_sync"}}}
	spec := &openstackv1.DatabaseSyncSpec{
		Release: "2025.2", Sync: []openstackv1.Step{least}, Expand: []openstackv1.Step{least, all}, OnlineMigrations: []openstackv1.Step{all},
		UpgradeCheck: &least,
		Template:     corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "registry.example.com/nova:1"}}}},
	}
	got := map[string]string{"target": target(spec)}
	for _, p := range []phase{syncing, expanding, migrating, checking} {
		for _, s := range steps(spec, p) {
			got[s.key()] = s.hash
		}
	}
	want := map[string]string{
		"target":          "1fad1627dcf61877",
		"sync/db-sync":    "794143e17af4eb7e",
		"expand/db-sync":  "48a49933f8727023",
		"expand/migrate":  "29bf329043fa4871",
		"migrate/migrate": "4fbc433616a322e0",
		"check/db-sync":   "2bbeae50a21d17af",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIdentity_Fields verifies that a field of the API becomes part of the identity only on purpose.
func TestIdentity_Fields(t *testing.T) {
	step := openstackv1.Step{Name: "db-sync", Command: openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage"}}}
	const want = `{"name":"db-sync","command":["keystone-manage"]}`
	if got := text(identityOf(step)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	step.SuccessCodes, step.RepeatCodes, step.Quiesced = []int32{0}, []int32{1}, true
	const all = `{"name":"db-sync","command":["keystone-manage"],"successCodes":[0],"repeatCodes":[1],"quiesced":true}`
	if got := text(identityOf(step)); got != all {
		t.Errorf("got %s, want %s", got, all)
	}
}
