package hypervisorrecovery

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// verificationText is the remedy for a server that may run on node-2, and queuesText the one for a migration from node-1.
const (
	verificationText = ", and it may run there: if its domain exists, shut it off (virsh destroy: docs/how-to/recover-failed-nodes.md" +
		"#destroy-a-domain-on-the-target)"
	queuesText = ", and delete the queues compute.node-1 and compute-alt.node-1"
)

// TestReasonsFit: remedies are complete with long names of nodes, and refer to sections of the guide.
func TestReasonsFit(t *testing.T) {
	page, err := os.ReadFile("../../" + guide)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if title := strings.TrimLeft(line, "#"); title != line {
			sections[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")] = true
		}
	}
	source, target := "s"+strings.Repeat("o", 62), "t"+strings.Repeat("a", 62)
	const id = "00000000-0000-0000-0000-000000000001"
	now := time.Unix(1e9, 0)
	moved := func(status string) failures {
		return failures{}.addMove(compute.Migration{Type: "live-migration", Status: status, Source: source, Target: target}, source, now)
	}
	for name, tc := range map[string]struct {
		reason string
		server compute.Server
		has    failures
	}{
		"Interrupted":  {"It has two names of nodes.", compute.Server{Status: "ACTIVE", Task: migrating}, moved("running")},
		"Migrating":    {"It has two IDs.", compute.Server{Status: "ACTIVE", Task: migrating}, failures{}},
		"Task":         {"It has two queues.", compute.Server{Status: "ACTIVE", Task: "reboot_started_hard"}, failures{}},
		"Failed":       {"It may run on the target.", compute.Server{Status: inError}, failures{count: 1, target: target}},
		"FailedBefore": {"The same after a migration.", compute.Server{Status: inError}, moved("failed")},
	} {
		t.Run(name, func(t *testing.T) {
			tc.server.ID = id
			got := reasonToStay(&openstackv1.HypervisorRecoverySpec{}, source, &compute.ServerDetails{Server: tc.server}, tc.has, now)
			if len(got) > reasonLimit {
				t.Errorf("%s %d bytes: %s", tc.reason, len(got), got)
			}
			_, rest, found := strings.Cut(got, guide+"#")
			section := strings.FieldsFunc(rest, func(r rune) bool { return r == ')' || r == ',' })
			if !found || !sections[section[0]] {
				t.Errorf("%s no section: %s", tc.reason, got)
			}
		})
	}
}

func TestReasonToStay(t *testing.T) {
	now := time.Unix(1e9, 0)
	volume := func(change ...func(*compute.ServerDetails)) compute.ServerDetails {
		s := compute.ServerDetails{Server: compute.Server{ID: "a", Name: "web", Status: "ACTIVE"}, Metadata: map[string]string{}}
		for _, do := range change {
			do(&s)
		}
		return s
	}
	set := func(key, value string) func(*compute.ServerDetails) {
		return func(s *compute.ServerDetails) { s.Metadata[key] = value }
	}
	status := func(value string) func(*compute.ServerDetails) {
		return func(s *compute.ServerDetails) { s.Status = value }
	}
	task := func(value string) func(*compute.ServerDetails) {
		return func(s *compute.ServerDetails) { s.Task = value }
	}
	moved := func(status string) failures {
		return failures{}.addMove(compute.Migration{Type: "live-migration", Status: status, Source: "node-1", Target: "node-2"}, "node-1", now)
	}
	const interrupted = "its live-migration to node-2 was interrupted" + verificationText + queuesText +
		"; then run openstack server evacuate a"
	image := func(s *compute.ServerDetails) { s.BootsFromImage = true }
	rebuild := openstackv1.HypervisorRecoverySpec{LocalDisks: openstackv1.RebuildWithConsent}
	for name, tc := range map[string]struct {
		reason string
		spec   openstackv1.HypervisorRecoverySpec
		server compute.ServerDetails
		failed failures
		want   string
	}{
		"Volume":         {reason: "All disks are volumes.", server: volume()},
		"Stopped":        {reason: "Its owner can start it on another node.", server: volume(status("SHUTOFF"))},
		"Image":          {reason: "Its root disk is on the node.", server: volume(image), want: "it has a disk on the node"},
		"Swap":           {reason: "A disk that is no volume.", server: volume(func(s *compute.ServerDetails) { s.DisksGiB = 1 }), want: "it has a disk"},
		"Shared":         {reason: "The disk is in Ceph.", spec: openstackv1.HypervisorRecoverySpec{ImageDisks: "Shared"}, server: volume(image)},
		"Consent":        {reason: "Both agree.", spec: rebuild, server: volume(image, set(consentKey, "rebuild"))},
		"NoConsent":      {reason: "The owner did not.", spec: rebuild, server: volume(image), want: "it has a disk on the node"},
		"OtherConsent":   {reason: "The value means nothing.", spec: rebuild, server: volume(image, set(consentKey, "true")), want: "it has a disk"},
		"ConsentOfOwner": {reason: "The operator did not.", server: volume(image, set(consentKey, "rebuild")), want: "it has a disk on the node"},
		"ConsentIgnored": {
			reason: "Owners have no influence.", server: volume(image, set(consentKey, "rebuild")), want: "it has a disk on the node",
			spec: openstackv1.HypervisorRecoverySpec{LocalDisks: openstackv1.RebuildWithConsent, ServerMetadata: openstackv1.IgnoreMetadata},
		},
		"Never":   {reason: "Its owner wants that.", server: volume(set(priorityKey, "Never ")), want: "its metadata recovery is never"},
		"Ignored": {reason: "Owners have no influence.", spec: openstackv1.HypervisorRecoverySpec{ServerMetadata: "Ignore"}, server: volume(set(priorityKey, "never"))},
		"Misspelled": {
			reason: "It may mean never.", server: volume(set(priorityKey, "nevr")), want: `its metadata recovery is "nevr": set high, normal, low or never`,
		},
		"Task": {
			reason: "Its node starts it, even if it runs on another one then.", server: volume(task("powering-on")),
			want: "it has the task powering-on, and its node executes the request after its return: leave it. To evacuate it, first delete the " +
				"queues compute.node-1 and compute-alt.node-1 (docs/how-to/recover-failed-nodes.md#delete-the-queues-of-a-node), because it runs " +
				"twice otherwise. Then run openstack server set --state active a",
		},
		"Migrating": {
			reason: "Nova has not returned the migration.", server: volume(task("migrating")),
			want: "it has the task migrating, and may run on its target (openstack server migration list --server a): if it exists " +
				"there, shut it off (virsh destroy: docs/how-to/recover-failed-nodes.md#resolve-unfinished-operations)" + queuesText +
				"; then run openstack server set --state active a",
		},
		"LiveMigration": {
			reason: "The guest may run on the target.", server: volume(task("migrating")), failed: moved("running"), want: interrupted,
		},
		"LiveMigrationWithoutTask": {reason: "An operator has reset the task.", server: volume(), failed: moved("post-migrating"), want: interrupted},
		"LiveMigrationOfNever": {
			reason: "Its owner cannot verify it.", server: volume(set(priorityKey, "never")), failed: moved("preparing"), want: interrupted,
		},
		"LiveMigrationAborted": {
			reason: "The source has started since its failure.", server: volume(), want: interrupted,
			failed: failures{}.addMove(compute.Migration{
				Type: "live-migration", Status: "error", Source: "node-1", Target: "node-2", Updated: now.UTC().Format("2006-01-02T15:04:05.000000"),
			}, "node-1", now),
		},
		"LiveMigrationFailed": {reason: "Nova has returned it to the source.", server: volume(), failed: moved("failed")},
		"LiveMigrationFailedInError": {
			reason: "Nova has not returned it.", server: volume(status("ERROR")), failed: moved("error"),
			want: "it was in ERROR before, and its live-migration to node-2 failed" + verificationText +
				"; then repair it (openstack server set --state active), or delete it",
		},
		"LiveMigrationWithoutTarget": {
			reason: "Nova has not selected one.", server: volume(task("migrating")),
			want:   "its live-migration was interrupted" + queuesText + "; then run openstack server evacuate a",
			failed: failures{}.addMove(compute.Migration{Type: "live-migration", Status: "queued", Source: "node-1"}, "node-1", now),
		},
		"Error":  {reason: "Nova would start it.", server: volume(status("ERROR")), want: "it was in ERROR before"},
		"Failed": {reason: "An evacuation failed.", server: volume(status("ERROR")), failed: failures{count: 1, last: now}},
		"Often": {
			reason: "Another node may get free resources.", server: volume(status("ERROR")), failed: failures{count: attempts, last: now.Add(-time.Minute)},
			want: "3 evacuations failed, and the next one starts after 2001-09-09T02:00:40Z",
		},
		"Later": {reason: "It is tried again.", server: volume(status("ERROR")), failed: failures{count: attempts, last: now.Add(-retryInterval)}},
		"FailedLate": {
			reason: "A guest may run on the target.", server: volume(status("ERROR")), failed: failures{count: 1, last: now, target: "node-2"},
			want: "its evacuation to node-2 failed" + verificationText,
		},
		"FailedLateBefore": {
			reason: "The same after another failure of the node.", server: volume(status("ERROR")), failed: failures{recorded: "It may run on node-2."},
			want: "It may run on node-2.",
		},
		"FailedLateEarlier": {
			reason: "An operator has evacuated it before the proof.", server: volume(status("ERROR")), failed: failures{target: "node-2"},
			want: "its last evacuation was to node-2" + verificationText,
		},
		"ClaimFailed": {reason: "Nothing was started.", server: volume(), failed: failures{count: 1, last: now, target: "node-2"}},
		"Paused":      {reason: "Nova rejects it.", server: volume(status("PAUSED")), want: "it is PAUSED, and Nova evacuates only"},
		"TPM": {
			reason: "Its state is on the node.", want: "it has a TPM",
			server: volume(func(s *compute.ServerDetails) { s.ExtraSpecs = map[string]string{"hw:tpm_version": "2.0"} }),
		},
		"TPMOfImage": {
			reason: "The same by its image.", want: "it has a TPM",
			server: volume(func(s *compute.ServerDetails) { s.ImageProperties = map[string]string{"hw_tpm_version": "2.0"} }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := reasonToStay(&tc.spec, "node-1", &tc.server, tc.failed, now)
			if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestSortServers: the order of evacuations, and the servers with one in progress.
func TestSortServers(t *testing.T) {
	since := time.Unix(1e9, 5e8)
	now := since.Add(time.Hour)
	server := func(id, status, task, priority string) compute.ServerDetails {
		return compute.ServerDetails{
			Server: compute.Server{ID: id, Name: id, Status: status, Task: task}, Metadata: map[string]string{priorityKey: priority},
		}
	}
	at := func(d time.Duration) string { return since.UTC().Add(d).Format("2006-01-02T15:04:05.000000") }
	record := &openstackv1.NodeRecovery{NodeName: "node-1", StartTime: metav1.Time{Time: since}}
	got := sortServers(&openstackv1.HypervisorRecoverySpec{}, known{record: record}, []compute.ServerDetails{
		server("stopped", "SHUTOFF", "", ""), server("b", "ACTIVE", "", ""), server("a", "ACTIVE", "", "normal"), server("low", "ACTIVE", "", "low"),
		server("high", "SHUTOFF", "", "high"), server("failed", "ERROR", "", "high"), server("never", "ACTIVE", "", "never"),
		server("accepted", "ACTIVE", "rebuilding", ""), server("rebuilt", "ACTIVE", "rebuilding", ""), server("running", "ACTIVE", "rebuild_spawning", ""),
		server("live", "ACTIVE", "", ""), server("back", "ACTIVE", "", "low"),
	}, []compute.Migration{
		{Server: "failed", Status: "error", Type: compute.Evacuation, Source: "node-1", Created: at(0)},
		{Server: "a", Status: "error", Type: compute.Evacuation, Source: "node-1", Created: at(-2 * time.Second)},
		{Server: "running", Status: "pre-migrating", Type: compute.Evacuation, Source: "node-1", Created: at(0)},
		{Server: "accepted", Status: "completed", Type: compute.Evacuation, Source: "node-1", Created: at(time.Second)},
		{Server: "gone", Status: "done", Type: compute.Evacuation, Source: "node-1", Created: at(0)},
		{Server: "before", Status: "completed", Type: compute.Evacuation, Source: "node-1", Created: at(-2 * time.Second)},
		{Server: "other", Status: "accepted", Type: compute.Evacuation, Source: "node-2", Created: at(0)},
		{Server: "live", Status: "completed", Type: "live-migration", Source: "node-2", Target: "node-1", Created: at(-time.Hour)},
		{Server: "live", Status: "running", Type: "live-migration", Source: "node-1", Target: "node-3", Created: at(-time.Minute)},
		{Server: "back", Status: "running", Type: "live-migration", Source: "node-1", Target: "node-3", Created: at(-2 * time.Hour)},
		{Server: "back", Status: "completed", Type: "live-migration", Source: "node-2", Target: "node-1", Created: at(-time.Hour)},
	}, now)
	var order []string
	for _, s := range got.pending {
		order = append(order, s.ID)
	}
	if diff := cmp.Diff([]string{"high", "a", "b", "stopped", "back", "low", "failed"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"accepted": true, "running": true}, got.busy); diff != "" {
		t.Errorf("busy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]openstackv1.RemainingServer{
		{ID: "live", Name: "live", Reason: "its live-migration to node-3 was interrupted" + verification + queuesText +
			"; then run openstack server evacuate live"},
		{ID: "never", Name: "never", Reason: "its metadata recovery is never"},
		{ID: "rebuilt", Name: "rebuilt", Reason: "it has the task rebuilding: if openstack server migration list " +
			"--server rebuilt has no unfinished evacuation, run openstack server set --state active rebuilt"},
	}, got.remaining); diff != "" {
		t.Errorf("remaining (-want +got):\n%s", diff)
	}
	if got.evacuated != 1 { // A server that is still on the node was not evacuated.
		t.Errorf("%d evacuated", got.evacuated)
	}
	if want := []string{
		"the evacuation of server running runs for more than 30m0s", "the evacuation of server accepted runs for more than 30m0s",
	}; !cmp.Equal(want, got.late) {
		t.Errorf("late: %v", got.late)
	}
}

// TestLastEvacuation: a server in ERROR may run on the target of its last evacuation, whose migration can be of before the failure, or be
// completed by the source.
func TestLastEvacuation(t *testing.T) {
	since := time.Unix(1e9, 0)
	migration := func(status, target string, at time.Duration) compute.Migration {
		return compute.Migration{
			Server: "a", Status: status, Type: compute.Evacuation, Source: "node-1", Target: target,
			Created: since.UTC().Add(at).Format("2006-01-02T15:04:05.000000"),
		}
	}
	const verify = verificationText + "; "
	const returned = "after the return of its node, run openstack server reboot --hard a"
	for name, tc := range map[string]struct {
		reason       string
		migrations   []compute.Migration
		want, failed string
	}{
		"BeforeProof": {
			"An operator has evacuated it at once.", []compute.Migration{migration("failed", "node-2", -time.Minute)},
			"its last evacuation was to node-2" + verify + "then run openstack server set --state active a", "its last evacuation was to node-2" + verify + returned,
		},
		"SecondStart": {
			"The source has completed the migration.", []compute.Migration{migration("completed", "node-2", time.Minute)},
			"its last evacuation was to node-2" + verify + "then run openstack server set --state active a", "its last evacuation was to node-2" + verify + returned,
		},
		"SecondStartAfterFailure": {
			"The same after a failed one.", []compute.Migration{migration("completed", "node-2", time.Minute), migration("error", "", time.Second)},
			"its evacuation to node-2 failed" + verify + "then run openstack server set --state active a", "its evacuation to node-2 failed" + verify + returned,
		},
		"NoHostAtLast": {
			"It was evacuated with success long ago.",
			[]compute.Migration{migration("completed", "node-2", -1000*time.Hour), migration("error", "", time.Minute)}, "",
			"evacuations failed: 1, and Nova starts no server in ERROR when its node returns: run openstack server reboot --hard a then",
		},
		"SameTime": {
			"Times have seconds.", []compute.Migration{migration("error", "", time.Minute), migration("failed", "node-2", time.Minute)},
			"its evacuation to node-2 failed" + verify + "then run openstack server set --state active a", "its evacuation to node-2 failed" + verify + returned,
		},
		"None": {
			"Nova has no migration.", nil, "it was in ERROR before: repair it (openstack server set --state active), or delete it", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			servers := []compute.ServerDetails{{Server: compute.Server{ID: "a", Name: "a", Status: "ERROR"}}}
			n := &node{name: "node-1", record: &openstackv1.NodeRecovery{NodeName: "node-1", StartTime: metav1.Time{Time: since}}}
			n.servers = sortServers(&openstackv1.HypervisorRecoverySpec{}, known{record: n.record}, servers, tc.migrations, since.Add(time.Hour))
			got, failed := "", ""
			for _, s := range n.servers.remaining {
				got = s.Reason
			}
			for _, s := range n.failedServers(servers, nil) {
				failed = s.Reason
			}
			if got != tc.want || failed != tc.failed {
				t.Errorf("%s\ngot  %s\nwant %s\ngot  %s\nwant %s", tc.reason, got, tc.want, failed, tc.failed)
			}
		})
	}
}
