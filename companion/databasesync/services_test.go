package databasesync

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// stepOf returns a step with the given name and command.
func stepOf(name, commandLine string) openstackv1.Step {
	s := openstackv1.Step{Name: name}
	for word := range strings.FieldsSeq(commandLine) {
		s.Command.Command = append(s.Command.Command, openstackv1.Argument(word))
	}
	return s
}

// glanceEmpty is the output of glance-manage db version for an empty database (29.0 to 32.0).
const glanceEmpty = `Database is either not under migration control or under legacy migration control, ` +
	`please run "glance-manage db sync" to place the database under alembic migration control.`

// services are DatabaseSyncs of services with different tools, as documented in docs/adding-a-service.md, with the output of
// the tools for an empty database and for one of 2025.1.
var services = map[string]struct {
	spec         openstackv1.DatabaseSyncSpec
	empty, found string
	// exits are exit codes of attempts other than 0.
	exits map[string]int32
	// upgraded are the steps of an upgrade to 2026.1.
	upgraded []string
}{
	"placement": {
		spec: openstackv1.DatabaseSyncSpec{
			Sync: []openstackv1.Step{stepOf("db-sync", "placement-manage db sync")},
			// The sync only adds columns, so the previous release keeps running: the upgrade can be aborted.
			Expand: []openstackv1.Step{stepOf("db-sync", "placement-manage db sync")},
			OnlineMigrations: []openstackv1.Step{func() openstackv1.Step {
				s := stepOf("online-data-migrations", "placement-manage db online_data_migrations")
				s.RepeatCodes = []int32{1}
				return s
			}()},
			UpgradeCheck: func() *openstackv1.Step {
				s := stepOf("upgrade-check", "placement-status upgrade check")
				s.SuccessCodes = []int32{0, 1}
				return &s
			}(),
			SchemaVersion: &openstackv1.SchemaVersion{
				Step: stepOf("db-version", "placement-manage db version"), Empty: "None",
				Revisions: []openstackv1.SchemaRevision{{Revision: "a082b8bb98d0", Releases: []string{"2025.1", "2025.2"}}},
			},
		},
		empty: "None\n", found: "a082b8bb98d0\n",
		exits: map[string]int32{"check/upgrade-check #1": 1, "migrate/online-data-migrations #1": 1},
		upgraded: []string{
			"check/upgrade-check #1", "expand/db-sync #1", "migrate/online-data-migrations #1", "migrate/online-data-migrations #2",
		},
	},
	"glance": {
		spec: openstackv1.DatabaseSyncSpec{
			Sync:     []openstackv1.Step{stepOf("db-sync", "glance-manage db sync")},
			Expand:   []openstackv1.Step{stepOf("expand", "glance-manage db expand"), stepOf("migrate", "glance-manage db migrate")},
			Contract: []openstackv1.Step{stepOf("contract", "glance-manage db contract")},
			SchemaVersion: &openstackv1.SchemaVersion{
				Step: stepOf("db-version", "glance-manage db version"), Empty: glanceEmpty,
				Revisions: []openstackv1.SchemaRevision{{Revision: "2024_1_contract01", Releases: []string{"2025.1", "2025.2"}}},
			},
		},
		empty:    "2026-11-22 13:22:17.217 22700 INFO alembic.runtime.migration [-] Context impl SQLiteImpl.\n" + glanceEmpty + "\n",
		found:    "2026-11-22 13:22:17.217 22700 INFO alembic.runtime.migration [-] Context impl SQLiteImpl.\n2024_1_contract01\n",
		upgraded: []string{"expand/expand #1", "expand/migrate #1", "contract/contract #1"},
	},
	"nova-cell1": {
		spec: openstackv1.DatabaseSyncSpec{
			Sync: []openstackv1.Step{stepOf("db-sync", "nova-manage db sync --local_cell")},
			// Only the check of the new release contains its requirements, and it reads the new schema.
			Expand: []openstackv1.Step{stepOf("db-sync", "nova-manage db sync --local_cell"), func() openstackv1.Step {
				s := stepOf("upgrade-check", "nova-status upgrade check")
				s.SuccessCodes = []int32{0, 1}
				return s
			}()},
			OnlineMigrations: []openstackv1.Step{func() openstackv1.Step {
				s := stepOf("online-data-migrations", "nova-manage db online_data_migrations")
				s.RepeatCodes = []int32{1}
				return s
			}()},
		},
		exits: map[string]int32{"expand/upgrade-check #1": 2}, // Old nova-computes, which are removed at the second attempt.
		upgraded: []string{
			"expand/db-sync #1", "expand/upgrade-check #1", "expand/upgrade-check #2", "migrate/online-data-migrations #1",
		},
	},
	"heat": {
		spec: openstackv1.DatabaseSyncSpec{
			Sync: []openstackv1.Step{func() openstackv1.Step {
				s := stepOf("db-sync", "heat-manage db_sync")
				s.Quiesced = true
				return s
			}()},
		},
		upgraded: []string{"sync/db-sync #1"},
	},
}

// TestSupportsToolsOfAllServices: the tools of other services are supported, from an empty database to its upgrade, and from a retained
// database.
func TestSupportsToolsOfAllServices(t *testing.T) {
	for name, tc := range services {
		t.Run(name, func(t *testing.T) {
			run := func(requested string, releases ...string) []string {
				sync := keystone(releases[0])
				tc.spec.Release, tc.spec.Template, tc.spec.Consumers = sync.Spec.Release, sync.Spec.Template, sync.Spec.Consumers
				sync.Spec = *tc.spec.DeepCopy()
				c := newCluster(t, sync, secret())
				c.exits = func(r record) int32 {
					return tc.exits[strings.Split(c.starts[len(c.starts)-1], " ")[0]+" #"+strconv.Itoa(int(r.Attempt))]
				}
				if requested == tc.found && requested != "" {
					c.serves, c.startedAttempts = []string{"2025.1"}, []string{"2025.1"}
				}
				r := c.reconciler(c.API)
				r.Output = func(context.Context, *corev1.Pod, string) (string, error) { return requested, nil }
				for i, release := range releases {
					if i > 0 {
						c.order(release)
					}
					c.reconcileUntil(r, "the end", finished)
				}
				c.Verify()
				var out []string
				for _, s := range c.starts {
					step, attempt, _ := strings.Cut(s, " "+releases[len(releases)-1]+" ")
					if attempt != "" {
						out = append(out, step+" "+attempt)
					}
				}
				return out
			}
			if diff := cmp.Diff(tc.upgraded, run(tc.empty, "2025.1", "2026.1")); diff != "" {
				t.Errorf("an upgrade of a new database, -want +got:\n%s", diff)
			}
			if tc.spec.SchemaVersion == nil {
				return
			}
			if diff := cmp.Diff(append([]string{"version/db-version #1"}, tc.upgraded...), run(tc.found, "2026.1")); diff != "" {
				t.Errorf("a retained database, -want +got:\n%s", diff)
			}
		})
	}
}
