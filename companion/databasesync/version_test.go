package databasesync

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
)

// TestChoosesStepsByExistingSchema: the result for an existing schema and a requested release.
func TestChoosesStepsByExistingSchema(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		found, release string
		allowUnknown   bool
		want           decision
		wantMessage    string
	}{
		"Empty": {
			reason: "A new database requires only sync.",
			found:  "None", release: "2026.1", want: decision{Action: "create sync/db-sync 2026.1", Phase: openstackv1.SyncPhaseSyncing},
		},
		"Same": {
			reason: "The steps for a new database change nothing in a schema of the requested release.",
			found:  "47147121", release: "2025.2", want: decision{Action: "create sync/db-sync 2025.2", Phase: openstackv1.SyncPhaseSyncing},
		},
		"Next": {
			reason: "A retained schema is upgraded like any other.",
			found:  "47147121", release: "2026.1",
			want:        decision{Phase: openstackv1.SyncPhaseExpanding, Installed: "2025.2", Contracted: "2025.2"},
			wantMessage: "the database has a schema of release 2025.1 or 2025.2 (revision 47147121)",
		},
		"TooFar": {
			reason: "OpenStack supports it neither from 2025.1 nor from 2025.2.",
			found:  "47147121", release: "2026.2", want: decision{Phase: openstackv1.SyncPhaseFailed, Rejected: "UpgradeRejected"},
			wantMessage: "the database has a schema of release 2025.1 or 2025.2 (revision 47147121), and nothing was changed: " +
				"OpenStack cannot go from 2025.2 to 2026.2 in one step: upgrade to 2026.1 first",
		},
		"Back": {
			reason: "Schemas cannot be downgraded.",
			found:  "742c857f1dfb", release: "2025.2", want: decision{Phase: openstackv1.SyncPhaseFailed, Rejected: "UpgradeRejected"},
			wantMessage: "OpenStack cannot go back from 2026.2 to 2025.2",
		},
		"HalfWay": {
			reason: "An interrupted upgrade is continued.",
			found:  "e8725d6fa226", release: "2026.1", want: decision{Action: "create sync/db-sync 2026.1", Phase: openstackv1.SyncPhaseSyncing},
		},
		"Unknown": {
			reason: "The effect of the steps is unknown.",
			found:  "0123abcd", release: "2025.1", want: decision{Phase: openstackv1.SyncPhaseFailed, Rejected: "SchemaUnknown"},
			wantMessage: "schema revision 0123abcd, which no supported release uses",
		},
		"UnknownAllowed": {
			reason: "The spec allows it.",
			found:  "0123abcd", release: "2025.1", allowUnknown: true,
			want: decision{Action: "create sync/db-sync 2025.1", Phase: openstackv1.SyncPhaseSyncing},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := at("", tc.release)
			identified(g.sync).Spec.SchemaVersion.AllowUnknown = tc.allowUnknown
			g.attempt(versioning, 1, openstackv1.StepSucceeded)
			g.sync.Status.SchemaRevision = tc.found
			got, gotMessage := decide(g.observation)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s\n%s", tc.reason, diff, gotMessage)
			}
			if !strings.Contains(gotMessage, tc.wantMessage) {
				t.Errorf("message %q, want %q", gotMessage, tc.wantMessage)
			}
		})
	}
}

// TestReadsSchemaRevisionBeforeFirstSync: the revision is read before anything else, again for a changed spec, and not if the release is
// recorded.
func TestReadsSchemaRevisionBeforeFirstSync(t *testing.T) {
	query := decision{Action: "create version/db-version 2025.1", Phase: openstackv1.SyncPhasePending}
	for name, tc := range map[string]struct {
		reason string
		do     func(fixture)
		want   decision
	}{
		"New": {reason: "There is no record.", do: func(fixture) {}, want: query},
		"Retry": {reason: "The database may have been replaced.", do: func(g fixture) {
			g.attempt(versioning, 1, openstackv1.StepSucceeded)
			g.sync.Annotations = map[string]string{RetryAnnotation: "1"}
		}, want: query},
		"Begun": {reason: "The schema is from the first sync, which was interrupted.", do: func(g fixture) {
			g.attempt(syncing, 1, openstackv1.StepRepeat)
			g.edited()
		}, want: decision{Action: "create sync/db-sync 2025.1", Phase: openstackv1.SyncPhaseSyncing}},
		"Known": {reason: "A completed DatabaseSync reads no revision.", do: func(g fixture) {
			g.sync.Status.InstalledRelease, g.sync.Status.InstalledHash = "2025.1", target(&g.sync.Spec)
			g.sync.Status.ContractedRelease, g.sync.Status.ContractedHash = "2025.1", target(&g.sync.Spec)
		}, want: decision{Phase: openstackv1.SyncPhaseDone, Installed: "2025.1", Contracted: "2025.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := at("", "2025.1")
			identified(g.sync)
			tc.do(g)
			if got, gotMessage := decide(g.observation); !cmp.Equal(tc.want, got) {
				t.Errorf("%s\n-want +got:\n%s\n%s", tc.reason, cmp.Diff(tc.want, got), gotMessage)
			}
		})
	}
}

// TestRevision: the revision in an exit code and an output.
func TestRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		versionOutput string
		empty         string
		code          *int32
		want          string
	}{
		"Line": {reason: "It is between log lines.", versionOutput: "2026-03-02 INFO alembic [-] Context impl\n47147121\n", code: new(int32(0)),
			want: "47147121"},
		"After": {reason: "A warning may come last.", versionOutput: "742c857f1dfb\nsome warning at exit\n", code: new(int32(0)),
			want: "742c857f1dfb"},
		"None":    {reason: "An empty database.", versionOutput: "None\n", code: new(int32(0)), want: "None"},
		"Nothing": {reason: "A lost output does not mean an empty database.", code: new(int32(0))},
		"Strange": {reason: "The revision of a hostile backup is not repeated.",
			versionOutput: "Can't locate revision identified by 'x; password=y'",
			code:          new(int32(1))},
		"Failed": {reason: "A failure reports no revision.", versionOutput: "47147121\nLost connection", code: new(int32(1))},
		"Foreign": {
			reason: "The image does not contain it; the table may.", code: new(int32(1)), want: "742c857f1dfb",
			versionOutput: "CRITICAL keystone [-] Unhandled error: alembic.util.exc.CommandError: Can't locate revision identified by " +
				"'742c857f1dfb'\nERROR keystone",
		},
		"Gone": {reason: "The result is unknown.", versionOutput: "47147121"},
		"Heads": {
			reason: "Neutron's tool prints the heads of all branches; the one in the table counts.", code: new(int32(0)), want: "47147121",
			versionOutput: "  Running current for neutron ...\nINFO  [alembic.runtime.migration] Context impl MySQLImpl.\n47147121 " +
				"(head)\n5c85685d616d " +
				"(contract) (head)\n  OK\n",
		},
		"NoHeads": {
			reason: "For an empty database it prints only that it has finished.", empty: "OK", code: new(int32(0)), want: "OK",
			versionOutput: "  Running current for neutron ...\n  OK\n",
		},
		"UnknownHead": {
			reason: "It is ignored if there is a revision.", empty: "OK", code: new(int32(0)), want: "0123abcd",
			versionOutput: "0123abcd (head)\n  OK\n",
		},
		"Sentence": {
			reason: "Glance's tool prints a sentence.", empty: "Database is not under migration control.", code: new(int32(0)),
			want: "Database is not under migration control.", versionOutput: "INFO alembic\nDatabase is not under migration control.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := identified(keystone("2025.1"))
			if tc.empty != "" {
				s.Spec.SchemaVersion.Empty = tc.empty
			}
			if got := (&observation{sync: s, versionOutput: tc.versionOutput}).revision(batchjob.Result{Code: tc.code}); got != tc.want {
				t.Errorf("%s\n%q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRetriesVersionStepWithUnreadableOutput: a version step with an unreadable output has failed and is retried; other steps are not.
func TestRetriesVersionStepWithUnreadableOutput(t *testing.T) {
	c := newCluster(t, identified(keystone("2025.1")), secret())
	r := c.reconciler(c.API)
	read := r.Output
	r.Output = func(context.Context, *corev1.Pod, string) (string, error) { return "", errors.New("no log") }
	c.reconcileUntil(r, "a failure", func(s *openstackv1.DatabaseSync) bool { return s.Status.Phase == openstackv1.SyncPhaseFailed })
	if got := c.sync().Status; got.SchemaRevision != "" || got.History[0].Result != openstackv1.StepFailed {
		t.Errorf("%v", got)
	}
	r.Output = read
	c.reconcileUntil(r, "the end", finished)
	if diff := cmp.Diff([]string{"version/db-version 2025.1 #1", "version/db-version 2025.1 #2", "sync/db-sync 2025.1 #1"},
		c.starts); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
}

// TestPrefersTerminationMessageToLog: the termination message of a container has precedence over its log, which may be lost.
func TestPrefersTerminationMessageToLog(t *testing.T) {
	c := newCluster(t, identified(keystone("2026.1")), secret())
	c.serves, c.startedAttempts = []string{"2025.1"}, []string{"2025.1"}
	r := c.reconciler(c.API)
	r.Output = func(context.Context, *corev1.Pod, string) (string, error) { return "", errors.New("no log") }
	c.messages = true
	c.reconcileUntil(r, "the schema's release", func(s *openstackv1.DatabaseSync) bool { return s.Status.InstalledRelease != "" })
	if got := c.sync().Status; got.InstalledRelease != "2025.2" || meta.IsStatusConditionTrue(got.Conditions, conditionReady) {
		t.Errorf("%v", got)
	}
}
