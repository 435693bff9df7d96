//go:build openstack && linux

package nova

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// testArchive checks that the first command of the CronJob moves everything that was deleted before the claim's limit
// to the shadow tables, in every cell, and that the whole script removes it. Later deletions and existing servers stay.
func testArchive(t *testing.T, n Nova) {
	ctx := context.Background()
	var living, fresh, old []string
	for _, h := range n.Hypervisors {
		for i, of := range []*[]string{&living, &fresh, &old} {
			id, err := n.CreateServer(ctx, h, fmt.Sprintf("archive-%s-%d", h.cell, i))
			if err != nil {
				t.Fatal(err)
			}
			*of = append(*of, id)
			if err := n.WaitForServer(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range slices.Concat(fresh, old) {
		if err := n.DeleteServer(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	query := func(statement string) string {
		t.Helper()
		out, err := n.Cloud.Operators.SQL(ctx, n.Cloud.Namespace, "mariadb", statement)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	// The deletion times are set a month back: the old servers, one in each cell, and the existing ones are older.
	for i, h := range n.Hypervisors {
		query(aged("nova_"+h.cell, old[i]))
		query(aged("nova_"+h.cell, living[i]))
	}
	count := func(database, table, column string, ids []string) string {
		return query(fmt.Sprintf("SELECT COUNT(*) FROM %s.%s WHERE %s IN ('%s')", database, table, column, strings.Join(ids, "', '")))
	}
	// where returns the number of each in the tables, in the shadow tables, and in the API's database, of both cells.
	where := func() map[string]string {
		out := map[string]string{}
		for label, ids := range map[string][]string{"living": living, "fresh": fresh, "old": old} {
			for i, h := range n.Hypervisors {
				in := []string{ids[i]}
				out[label+" of "+h.cell] = strings.Join([]string{
					count("nova_"+h.cell, "instances", "uuid", in), count("nova_"+h.cell, "shadow_instances", "uuid", in),
					count("nova_api", "instance_mappings", "instance_uuid", in),
				}, " ")
			}
		}
		return out
	}
	both := func(living, fresh, old string) map[string]string {
		out := map[string]string{}
		for _, h := range n.Hypervisors {
			out["living of "+h.cell], out["fresh of "+h.cell], out["old of "+h.cell] = living, fresh, old
		}
		return out
	}
	script := archiveScript(t, n.Cloud)
	archives, _, ok := strings.Cut(script, "nova-manage db purge")
	if !ok {
		t.Fatalf("the script purges nothing:\n%s", script)
	}
	for _, step := range []struct {
		name, script string
		want         map[string]string
	}{
		{"nothing", "", both("1 0 1", "1 0 1", "1 0 1")},
		{"archive", archives, both("1 0 1", "1 0 1", "0 1 0")},
		{"purge", script, both("1 0 1", "1 0 1", "0 0 0")},
		{"again", script, both("1 0 1", "1 0 1", "0 0 0")}, // having nothing to do is no failure
	} {
		if step.script != "" {
			runArchive(t, n.Cloud, step.name, step.script)
		}
		if diff := cmp.Diff(step.want, where()); diff != "" {
			t.Errorf("after %s: in tables, shadow tables, mappings (-want +got):\n%s", step.name, diff)
		}
	}
	for _, id := range living {
		if err := n.DeleteServer(ctx, id); err != nil {
			t.Errorf("cannot delete an existing server: %v", err)
		}
	}
}

// aged returns SQL that sets the creation, and for a deleted server its deletion, to an earlier time.
func aged(database, id string) string {
	const days = 40
	var out []string
	for table, column := range map[string]string{
		"instances": "uuid", "instance_extra": "instance_uuid", "instance_info_caches": "instance_uuid",
		"instance_system_metadata": "instance_uuid", "instance_actions": "instance_uuid", "block_device_mapping": "instance_uuid",
	} {
		out = append(out, fmt.Sprintf("UPDATE %[1]s.%[2]s SET created_at = created_at - INTERVAL %[3]d DAY, "+
			"deleted_at = deleted_at - INTERVAL %[3]d DAY WHERE %[4]s = '%[5]s'", database, table, days, column, id))
	}
	return strings.Join(out, ";\n")
}

// archiveJob returns a Job as the CronJob creates it.
func archiveJob(t *testing.T, c *clouds.Cloud) *batchv1.Job {
	t.Helper()
	cron := &batchv1.CronJob{}
	u, err := c.Operators.Find("CronJob.batch", c.Namespace, "nova-archive")
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cron); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: cron.Name, Namespace: cron.Namespace}, Spec: cron.Spec.JobTemplate.Spec}
	job.Spec.BackoffLimit = new(int32(0))
	return job
}

func archiveScript(t *testing.T, c *clouds.Cloud) string {
	t.Helper()
	command := archiveJob(t, c).Spec.Template.Spec.Containers[0].Command
	return command[len(command)-1]
}

// runArchive runs a part of the script.
func runArchive(t *testing.T, c *clouds.Cloud, name, script string) {
	t.Helper()
	job := archiveJob(t, c)
	job.Name += "-" + name
	command := job.Spec.Template.Spec.Containers[0].Command
	command[len(command)-1] = script
	if err := c.Operators.RunJob(context.Background(), job); err != nil {
		t.Fatal(err)
	}
}
