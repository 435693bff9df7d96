package cellmapping

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// count returns the number of commands with the prefix.
func (c *cluster) count(startRun string) int {
	n := 0
	for _, command := range c.commands {
		if strings.HasPrefix(command, startRun) {
			n++
		}
	}
	return n
}

// TestListsCellsBeforeEachChange: each change directly follows a list, and the cells take turns.
func TestListsCellsBeforeEachChange(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	c.nova.register("compute-1", "cell1")
	c.reconcileUntil(c.sound(), "a host", func() bool { return c.ready() && len(c.cell("cell1").Status.Hosts) == 1 })
	want := []string{"list_cells", "create_cell cell1", "list_cells", "discover_hosts cell1", "list_hosts cell1"}
	if diff := cmp.Diff(want, c.commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	noted := c.noted()
	for _, wantEvent := range []string{
		"Normal CreateCell registered cell1 in Nova", "Normal HostDiscoveryStarted started a search for unmapped hosts: compute-1",
		"Normal ListHosts 1 hosts are mapped to cell1, previously 0",
	} {
		if !strings.Contains(noted, wantEvent) {
			t.Errorf("no event %q:\n%s", wantEvent, noted)
		}
	}
	if strings.Contains(noted+c.recordedText(), password) || strings.Contains(noted+c.recordedText(), "hunter2") {
		t.Error("a password was revealed")
	}
	if ready := c.condition("cell1", conditionReady); ready.Message != "cell1 is registered in Nova as 00000000-0000-4000-8000-000000000001" {
		t.Error(ready.Message)
	}
	c.Verify()
}

// TestRest: without changes, only the hosts are listed periodically.
func TestRest(t *testing.T) {
	c := newCluster(t, mapping(cell0), mapping("cell1"), clouds(), secret())
	c.nova.register("compute-1", "cell1")
	r := c.sound()
	c.reconcileUntil(r, "a host", func() bool { return c.ready() && len(c.cell("cell1").Status.Hosts) == 1 })
	c.commands = nil
	for end := c.Clock.Now().Add(150 * time.Minute); c.Clock.Now().Before(end); {
		c.Clock.SetTime(c.Clock.Now().Add(25 * time.Second))
		c.pass(r)
	}
	if diff := cmp.Diff([]string{"list_hosts cell1", "list_hosts cell1"}, c.commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestSearchesUnmappedHostWithIncreasingDelays: a host that registers in no cell is searched in all cells, with increasing delays, and
// reported.
func TestSearchesUnmappedHostWithIncreasingDelays(t *testing.T) {
	c := newCluster(t, mapping("cell1"), mapping("cell2"), clouds(), secret())
	r := c.sound()
	c.reconcileUntil(r, "the cells", c.ready)
	c.nova.register("lost", "cell9")
	c.tick()
	c.commands = nil
	for range 1440 { // Two hours.
		c.pass(r)
	}
	for _, cell := range []string{"cell1", "cell2"} {
		if n := c.count("discover_hosts " + cell); n < 4 || n > 9 {
			t.Errorf("%s was searched %d times in two hours", cell, n)
		}
		hosts := c.condition(cell, conditionHosts)
		if hosts.Status != metav1.ConditionFalse || hosts.Reason != "HostsNotMapped" || !strings.HasPrefix(hosts.Message,
			"no cell contains lost; last search in "+cell) {
			t.Errorf("%+v", hosts)
		}
	}
	c.nova.register("found", "cell2") // A search starts immediately.
	before := c.Clock.Now()
	c.tick()
	c.reconcileUntil(r, "the other one", func() bool { return slices.Contains(c.cell("cell2").Status.Hosts, "found") })
	if waited := c.Clock.Now().Sub(before); waited > 5*time.Minute {
		t.Errorf("it was found after %s", waited)
	}
	c.Verify()
}

// TestDuplicateCells: none of several cells with the same name is changed; the last remaining one is adopted.
func TestDuplicateCells(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	second := earlier2
	second.uuid = "22222222-2222-4222-8222-222222222222"
	c.nova.cells = []stored{earlier2, second}
	for i := range c.nova.cells {
		c.nova.cells[i].name = "cell1"
	}
	before := slices.Clone(c.nova.cells)
	r := c.sound()
	c.reconcileUntil(r, "a refusal", func() bool { return c.condition("cell1", conditionReady).Reason == "AmbiguousCell" })
	for range 300 {
		c.pass(r)
	}
	message := c.condition("cell1", conditionReady).Message
	if !strings.HasPrefix(message, "Nova has 2 cells named cell1 (11111111-1111-4111-8111-111111111111, "+
		"22222222-2222-4222-8222-222222222222), and none of them is changed") {
		t.Error(message)
	}
	if diff := cmp.Diff(before, c.nova.cells, cmp.AllowUnexported(stored{})); diff != "" || c.count("list_cells") != len(c.commands) ||
		len(c.commands) > 5 {
		t.Errorf("%v\n%s", c.commands, diff)
	}
	c.nova.cells = c.nova.cells[1:]
	c.reconcileUntil(r, "the other one", c.ready)
	if got := c.cell("cell1").Status.UUID; got != second.uuid || c.count("create_cell") > 0 {
		t.Errorf("%s, %v", got, c.commands)
	}
}

// TestRejectsNewerMappingOfSameCell: of two CellMappings for one cell, the newer one is rejected; when the older one is deleted, it adopts
// the cell.
func TestRejectsNewerMappingOfSameCell(t *testing.T) {
	younger := mapping("cell1", func(c *openstackv1.CellMapping) {
		c.Name, c.UID, c.CreationTimestamp = "another", "uid-of-another", metav1.Time{Time: start.Add(time.Second)}
	})
	c := newCluster(t, mapping("cell1"), younger, clouds(), secret())
	r := c.sound()
	rejected := func() openstackv1.CellMapping { return c.cells()[0] }
	c.reconcileUntil(r, "the cell", func() bool {
		return c.condition("cell1", conditionReady).Status == metav1.ConditionTrue && len(rejected().Status.Conditions) > 0
	})
	if got := rejected().Status; got.Run != nil || got.Conditions[0].Message != "CellMapping nova-cell1 already manages cell1 of nova "+
		"and is older: delete one of the two" {
		t.Errorf("%+v", got)
	}
	c.Must(c.API.Delete(context.Background(), mapping("cell1")))
	c.reconcileUntil(r, "the other one", c.ready)
	if len(c.nova.cells) != 1 {
		t.Errorf("%v", c.nova.cells)
	}
	c.Verify()
}

// TestRetriesFailedCommandsWithDelay: the status contains the end of the output, without passwords; the run is retried with an increasing
// delay, each time after a list.
func TestRetriesFailedCommandsWithDelay(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	c.exits = func(command []string) int32 {
		if command[2] == "create_cell" {
			return 255
		}
		return 0
	}
	r := c.sound()
	c.reconcileUntil(r, "a failure", func() bool { return c.condition("cell1", conditionReady).Reason == "CommandFailed" })
	if got := c.condition("cell1", conditionReady).Message; got != "CreateCell failed and is retried: exit code 255, last line" {
		t.Error(got)
	}
	if got := c.cell("cell1").Status.Run; *got.ExitCode != 255 || !strings.Contains(got.Log, "mysql+pymysql://nova:***@mariadb refused") {
		t.Errorf("%+v", got)
	}
	for range 720 { // One hour.
		c.pass(r)
	}
	if n := c.count("create_cell"); n < 6 || n > 14 {
		t.Errorf("it was tried %d times in an hour", n)
	}
	c.exits = func([]string) int32 { return 0 }
	c.edit("cell1", func(o *openstackv1.CellMapping) { o.Spec.Disabled = true })
	before := c.Clock.Now()
	c.reconcileUntil(r, "the cell", c.ready)
	if waited := c.Clock.Now().Sub(before); waited > 3*time.Minute {
		t.Errorf("a changed spec was tried after %s", waited)
	}
	if noted := c.noted(); !strings.Contains(noted, "CreateCell of cell1 failed: exit code 255, last line") {
		t.Error(noted)
	}
}

// TestCreatesCellOnlyAfterReadableList: nothing is created without a readable list.
func TestCreatesCellOnlyAfterReadableList(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	c.LogsUnavailable = true
	r := c.sound()
	c.reconcileUntil(r, "a failure", func() bool { return c.condition("cell1", conditionReady).Reason == "CommandFailed" })
	if got := c.condition("cell1", conditionReady).Message; got != "ListCells failed and is retried: its output cannot be read" {
		t.Error(got)
	}
	if len(c.nova.cells) > 0 {
		t.Errorf("%v", c.nova.cells)
	}
	c.LogsUnavailable = false
	c.reconcileUntil(r, "the cell", c.ready)
}

// TestRetriesHostDiscoveryWhileCellIsReady: a cell whose database does not respond stays recorded; its hosts are mapped when it responds
// again.
func TestRetriesHostDiscoveryWhileCellIsReady(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	r := c.sound()
	c.reconcileUntil(r, "the cell", c.ready)
	c.exits = func(command []string) int32 { return map[bool]int32{true: 255}[command[2] == "discover_hosts"] }
	c.nova.register("compute-1", "cell1")
	c.tick()
	c.reconcileUntil(r, "a failure", func() bool { return c.condition("cell1", conditionHosts).Reason == "HostDiscoveryFailed" })
	c.commands = nil
	for range 720 {
		c.pass(r)
	}
	if n := c.count("discover_hosts"); n < 4 || n > 14 || c.condition("cell1", conditionReady).Status != metav1.ConditionTrue {
		t.Errorf("it was searched %d times in an hour: %s", n, c.recordedText())
	}
	c.exits = func([]string) int32 { return 0 }
	c.reconcileUntil(r, "the host", func() bool { return c.ready() && len(c.cell("cell1").Status.Hosts) == 1 })
}

// TestNextAttemptTime: the message contains what a run waits for.
func TestNextAttemptTime(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(c *cluster, cell *openstackv1.CellMapping)
		want   string
	}{
		"Secret": {
			reason: "The Secret is created with the database.", do: func(c *cluster,
				_ *openstackv1.CellMapping) {
				c.Must(c.API.Delete(context.Background(), secret()))
			},
			want: "spec.template refers to Secret database, which does not exist",
		},
		"Image": {
			reason: "The pod does not start.", do: func(_ *cluster, o *openstackv1.CellMapping) { o.Spec.Template.Spec.Containers[0].Image = "unpullable" },
			want: "ListCells runs in Job nova-cells: its pod cannot start: ImagePullBackOff: no such image",
		},
		"Container": {
			reason: "No container would run nova-manage.", do: func(_ *cluster,
				o *openstackv1.CellMapping) {
				o.Spec.Template.Spec.Containers = nil
			},
			want: "spec.template.spec.containers must not be empty: the first container runs nova-manage",
		},
		"Foreign": {
			reason: "The name is in use.",
			do: func(c *cluster, _ *openstackv1.CellMapping) {
				c.Must(c.API.Create(context.Background(), &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Name: "nova-cells", Namespace: namespace}, Spec: batchv1.JobSpec{Suspend: new(true)},
				}))
			},
			want: "Job nova-cells uses the name reserved for Jobs of CellMappings but is not owned by one: delete it",
		},
		"Turn": {
			reason: "The Job of another cell runs.",
			do: func(c *cluster, _ *openstackv1.CellMapping) {
				other := mapping("cell9", func(o *openstackv1.CellMapping) { o.UID = types.UID("uid-of-cell9") })
				list := &run{JobRun: openstackv1.JobRun{Number: 1}, Command: openstackv1.CellCommandListCells}
				c.Must(c.API.Create(context.Background(), newJob(other, list)))
			},
			want: "waiting for Job nova-cells of CellMapping nova-cell9 to end",
		},
		"Orphan": {
			reason: "A pod of a deleted Job may still write.",
			do: func(c *cluster, _ *openstackv1.CellMapping) {
				c.Must(c.API.Create(context.Background(), &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: namespace, Labels: map[string]string{novaLabel: "nova"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "unpullable"}}},
				}))
			},
			want: "Pod old outlived its Job and must end first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell := mapping("cell1")
			c := newCluster(t, clouds(), secret())
			tc.do(c, cell)
			c.Must(c.API.Create(context.Background(), cell))
			r := c.sound()
			for range 6 {
				for _, o := range c.cells() {
					_, _ = r.Reconcile(context.Background(), reconcileRequest(&o))
				}
				c.RunJobController()
				c.RunKubelets()
			}
			if got := c.condition("cell1", conditionReady); got.Message != tc.want || got.Status != metav1.ConditionFalse {
				t.Errorf("%s %s: %q, want %q", tc.reason, got.Status, got.Message, tc.want)
			}
		})
	}
}

// TestReplacesJobsThatCannotStart: a Job whose pod cannot start is replaced for a changed spec.
func TestReplacesJobsThatCannotStart(t *testing.T) {
	c := newCluster(t, mapping("cell1", func(o *openstackv1.CellMapping) { o.Spec.Template.Spec.Containers[0].Image = "unpullable" }),
		clouds(), secret())
	r := c.sound()
	c.reconcileUntil(r, "a pod", func() bool { return len(c.Pods(nil)) == 1 })
	c.edit("cell1", func(o *openstackv1.CellMapping) { o.Spec.Template.Spec.Containers[0].Image = "nova" })
	before := c.Clock.Now()
	c.reconcileUntil(r, "the cell", c.ready)
	if waited := c.Clock.Now().Sub(before); waited > 5*time.Minute {
		t.Errorf("it took %s", waited)
	}
}

// TestSearchesOnlyNewHostsAboveLimit: if a cell has more hosts than its status can list, unlisted hosts are not searched; one more host is.
func TestSearchesOnlyNewHostsAboveLimit(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	for i := range hostLimit + 3 {
		c.nova.register(fmt.Sprintf("compute-%04d", i), "cell1")
	}
	r := c.sound()
	c.reconcileUntil(r, "the hosts", func() bool { return c.ready() && c.cell("cell1").Status.HostCount > 0 })
	if s := c.cell("cell1").Status; s.HostCount != hostLimit+3 || len(s.Hosts) != hostLimit {
		t.Errorf("%d hosts, %d names", s.HostCount, len(s.Hosts))
	}
	c.commands = nil
	for range 60 {
		c.pass(r)
	}
	if len(c.commands) > 0 {
		t.Errorf("it continues: %v", c.commands)
	}
	want := "1027 hosts are mapped, and at most 1024 can be compared with Nova's API; use more cells"
	if got := c.condition("cell1", conditionHosts); got.Status != "True" || got.Reason != "TooManyHosts" || got.Message != want {
		t.Errorf("%+v", got)
	}
	c.nova.register("compute-9999", "cell1")
	c.reconcileUntil(r, "one more", func() bool { return c.cell("cell1").Status.HostCount == hostLimit+4 })
}

// TestHostDiscoveryRequiresNovaAndCredentials: without credentials, hosts are not searched, and there is no condition; an error of Nova is
// reported.
func TestHostDiscoveryRequiresNovaAndCredentials(t *testing.T) {
	c := newCluster(t, mapping("cell1", func(o *openstackv1.CellMapping) { o.Spec.CloudCredentialsRef = nil }), clouds(), secret())
	c.nova.register("compute-1", "cell1")
	r := c.sound()
	for range 60 {
		c.pass(r)
	}
	if got := c.condition("cell1", conditionHosts); got.Type != "" || len(c.nova.hosts) > 0 {
		t.Errorf("%+v", got)
	}
	c.web.SetDown(true)
	c.edit("cell1", func(o *openstackv1.CellMapping) {
		o.Spec.CloudCredentialsRef = mapping("cell1").Spec.CloudCredentialsRef
	})
	c.reconcileUntil(r, "a problem", func() bool { return c.condition("cell1", conditionHosts).Reason == "NovaUnavailable" })
	if got := c.condition("cell1", conditionHosts).Message; got != "cannot list compute services: Nova returned HTTP 503" {
		t.Error(got)
	}
	c.web.SetDown(false)
	c.reconcileUntil(r, "the host", func() bool { return len(c.nova.hosts) == 1 && c.ready() })
}
