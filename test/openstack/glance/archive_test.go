//go:build openstack && linux

package glance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// testImageArchive runs the Job of the CronJob glance-archive. Rows of long-deleted images are removed, rows of an
// image deleted last month stay without its properties, and an existing image keeps everything. An expired task is
// deleted for an owner who does not list tasks.
func testImageArchive(t *testing.T, g Glance, cloud *clouds.Cloud) {
	ctx := context.Background()
	query := func(statement string) string {
		t.Helper()
		out, err := cloud.Operators.SQL(ctx, cloud.Namespace, "mariadb", statement)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	ids := map[string]string{}
	for name, days := range map[string]int{"live": 0, "fresh": 0, "month": 40, "old": 200} {
		ids[name] = g.CreateImage(t, "archive-"+name, "raw")
		if name == "live" {
			continue
		}
		if err := images.Delete(ctx, g.ServiceClient, ids[name]).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		query(fmt.Sprintf("UPDATE glance.images SET deleted_at = deleted_at - INTERVAL %d DAY WHERE id = '%s'", days, ids[name]))
	}
	for name, id := range ids { // A property of each, deleted when its image was.
		query(fmt.Sprintf("INSERT INTO glance.image_properties (image_id, name, value, created_at, deleted, deleted_at) "+
			"SELECT id, 'of', '%s', created_at, deleted, deleted_at FROM glance.images WHERE id = '%s'", name, id))
	}
	query("INSERT INTO glance.tasks (id, type, status, owner, expires_at, created_at, updated_at, deleted) " +
		"VALUES ('archive-expired', 'api_image_import', 'success', 'nobody', NOW() - INTERVAL 1 DAY, CURRENT_TIMESTAMP, NOW(), 0), " +
		"('archive-running', 'api_image_import', 'processing', 'nobody', NULL, CURRENT_TIMESTAMP, NOW(), 0)")

	job := &batchv1.CronJob{}
	u, err := cloud.Operators.Find("CronJob.batch", cloud.Namespace, "glance-archive")
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, job); err != nil {
		t.Fatal(err)
	}
	run := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}, Spec: job.Spec.JobTemplate.Spec}
	run.Spec.BackoffLimit = new(int32(0))
	if err := cloud.Operators.RunJob(ctx, run); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for name, id := range ids {
		got[name] = query(fmt.Sprintf("SELECT COUNT(*) FROM glance.images WHERE id = '%s'", id)) + " " +
			query(fmt.Sprintf("SELECT COUNT(*) FROM glance.image_properties WHERE image_id = '%s' AND name = 'of'", id))
	}
	for _, task := range []string{"expired", "running"} {
		got[task] = query("SELECT deleted FROM glance.tasks WHERE id = 'archive-" + task + "'")
	}
	want := map[string]string{"live": "1 1", "fresh": "1 1", "month": "1 0", "old": "0 0", "expired": "1", "running": "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows of images and properties, and whether tasks are deleted (-want +got):\n%s", diff)
	}
	if err := images.Delete(ctx, g.ServiceClient, ids["live"]).ExtractErr(); err != nil {
		t.Error(err)
	}
}
