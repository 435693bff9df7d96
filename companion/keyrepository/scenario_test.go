package keyrepository

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// timeline records the externally visible behavior of a KeyRepository: its conditions when they change, events, and steps in the
// log.
type timeline struct {
	lines []string
	last  string
}

var (
	hashed = regexp.MustCompile(`-migrate-[0-9a-z]+`)
	// quiet matches a step in the log without an event.
	quiet = regexp.MustCompile(`executed a step\s+\{.*"step": "(\w+)", "note": ""`)
)

// watch records the current state.
func (s *timeline) watch(c *cluster) {
	for _, step := range quiet.FindAllStringSubmatch(c.logs.String(), -1) {
		s.lines = append(s.lines, ". "+step[1])
	}
	c.logs.Reset()
	var states []string
	for _, name := range []string{conditionReady, conditionDistributed, conditionMigrated, conditionBackedUp} {
		if condition := meta.FindStatusCondition(c.repo().Status.Conditions, name); condition != nil {
			states = append(states, fmt.Sprintf("%s=%s", map[bool]string{true: name, false: "not " + name}[condition.Status == "True"],
				condition.Reason))
		}
	}
	line := strings.Join(states, " ")
	if line != s.last {
		s.lines, s.last = append(s.lines, line), line
	}
	for _, e := range controllertest.Events(c.events) {
		s.lines = append(s.lines, "- "+hashed.ReplaceAllString(e, "-migrate-*"))
	}
}

// TestReportsProgressOfRotations: the visible behavior from the creation of keys to the second rotation.
func TestReportsProgressOfRotations(t *testing.T) {
	for name, tc := range map[string]struct {
		repo *openstackv1.KeyRepository
		want []string
	}{
		"Fernet": {fernet(), []string{
			"not Ready=InProgress not Distributed=NoKeys",
			"- Normal KeysCreated created the keys in Secret keystone-keys",
			"Ready=KeysReady not Distributed=Waiting",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 1",
			"- Normal KeysDistributed every pod has the keys with primary 1",
			"Ready=KeysReady Distributed=AllPodsRestarted",
			"- Normal KeysRotated rotated the keys: 2 is primary now",
			"Ready=KeysReady not Distributed=Waiting",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 2",
			"- Normal KeysDistributed every pod has the keys with primary 2",
			"Ready=KeysReady Distributed=AllPodsRestarted",
			"- Normal KeysRotated rotated the keys: 3 is primary now",
			"Ready=KeysReady not Distributed=Waiting",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 3",
			"- Normal KeysDistributed every pod has the keys with primary 3",
			"Ready=KeysReady Distributed=AllPodsRestarted",
		}},
		"Credential": {withBackup(credential()), []string{
			". ReadSecretStore",
			"not Ready=InProgress not Distributed=NoKeys not Migrated=NoKeys not BackedUp=NoKeys",
			"not Ready=SecretStoreUnavailable not Distributed=NoKeys not Migrated=NoKeys not BackedUp=NoKeys",
			"- Warning SecretStoreUnavailable waiting for store vault to report entry prod/keys: no response yet. " +
				"If the store will never respond and has no keys, set on this KeyRepository the annotation openstack.c5c3.io/regenerate: \"repo-uid\"",
			"not Ready=InProgress not Distributed=NoKeys not Migrated=NoKeys not BackedUp=NoKeys",
			"- Normal KeysCreated created the keys in Secret keystone-keys",
			". ClearRestore",
			"Ready=KeysReady not Distributed=Waiting Migrated=Migrated not BackedUp=Waiting",
			". PushKeys",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 1",
			"- Normal KeysDistributed every pod has the keys with primary 1",
			"Ready=KeysReady Distributed=AllPodsRestarted Migrated=Migrated not BackedUp=Waiting",
			"Ready=KeysReady Distributed=AllPodsRestarted Migrated=Migrated BackedUp=Pushed",
			". PushKeys",
			". PushKeys",
			". PushKeys",
			"- Normal KeysRotated rotated the keys: 2 is primary now",
			". PushKeys",
			"Ready=KeysReady not Distributed=Waiting not Migrated=Waiting not BackedUp=Waiting",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 2",
			". ClearPush",
			"Ready=KeysReady not Distributed=Waiting not Migrated=Waiting BackedUp=Pushed",
			". ClearPush",
			". ClearPush",
			". ClearPush",
			"- Normal KeysDistributed every pod has the keys with primary 2",
			"Ready=KeysReady Distributed=AllPodsRestarted not Migrated=Waiting BackedUp=Pushed",
			"- Normal MigrationStarted started Job keystone-credential-keys-migrate-*",
			"- Normal KeysMigrated all stored data is encrypted with key 2",
			"Ready=KeysReady Distributed=AllPodsRestarted Migrated=Migrated BackedUp=Pushed",
			". PushKeys",
			"- Normal KeysRotated rotated the keys: 3 is primary now",
			". PushKeys",
			"Ready=KeysReady not Distributed=Waiting not Migrated=Waiting not BackedUp=Waiting",
			"- Normal PodsRestarted restarted Deployment keystone to distribute the keys with primary 3",
			". ClearPush",
			"Ready=KeysReady not Distributed=Waiting not Migrated=Waiting BackedUp=Pushed",
			". ClearPush",
			"- Normal KeysDistributed every pod has the keys with primary 3",
			"Ready=KeysReady Distributed=AllPodsRestarted not Migrated=Waiting BackedUp=Pushed",
			"- Normal MigrationStarted started Job keystone-credential-keys-migrate-*",
			"- Warning MigrationRetried deleted the failed Job keystone-credential-keys-migrate-* to run it again",
			"- Normal MigrationStarted started Job keystone-credential-keys-migrate-*",
			"- Normal KeysMigrated all stored data is encrypted with key 3",
			"Ready=KeysReady Distributed=AllPodsRestarted Migrated=Migrated BackedUp=Pushed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.repo, deployment())
			got := &timeline{}
			c.onPass = func() { got.watch(c) }
			r := c.reconciler(c.API, c.API)
			c.run(r)
			before := controllertest.Series(t, metrics, tc.repo.Name)["companion_key_repository_rotations_total"]
			c.untilRotation(r)
			c.jobFails = true
			c.Clock.SetTime(c.repo().Status.NextRotation.Time)
			c.reconcileN(r)
			c.jobFails = false
			c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
			c.reconcileN(r)
			c.run(r)
			if diff := cmp.Diff(tc.want, got.lines); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			status := c.repo().Status
			backedUp := 0.0
			if tc.repo.Spec.Backup != nil {
				backedUp = float64(status.LastBackup.Unix())
			}
			for name, want := range map[string]float64{
				"rotations_total":                 before + 2,
				"last_rotation_timestamp_seconds": float64(status.LastRotation.Unix()),
				"next_rotation_timestamp_seconds": float64(status.NextRotation.Unix()),
				"last_backup_timestamp_seconds":   backedUp,
				"keys":                            float64(len(c.set())),
				"required_keys":                   float64(status.NeededKeys),
			} {
				if got := controllertest.Series(t, metrics, tc.repo.Name)["companion_key_repository_"+name]; got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		})
	}
}
