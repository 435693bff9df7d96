package cinder

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// archived is a stub of Cinder: RECORDS are the services with their remaining users, and each command removes deleted records.
var archived = map[string]string{
	"cinder/__init__.py": "", "cinder/cmd/__init__.py": "", "cinder/db/__init__.py": "", "oslo_utils/__init__.py": "",
	"cinder/context.py": `def get_admin_context(read_deleted="no"):
    return read_deleted
`,
	"oslo_utils/timeutils.py": `import datetime
def utcnow(with_timezone=False):
    return datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.timezone.utc)
`,
	"cinder/db/api.py": `def worker_get_all(context, service_id):
    assert context == "yes"
    return [1] if service_id == "works" else []
`,
	"cinder/objects.py": `import datetime, json, os
from oslo_utils import timeutils
class Service:
    def __init__(self, binary, host, minutes, cluster, kept):
        self.binary, self.host, self.cluster_name, self.id, self.uuid = binary, host, cluster, kept, kept
        self.created_at, self.updated_at = timeutils.utcnow(with_timezone=True) - datetime.timedelta(minutes=minutes), None
    def destroy(self):
        print("destroyed")
class ServiceList:
    def get_all(context):
        return [Service(*r) for r in json.loads(os.environ["RECORDS"])]
class VolumeList:
    def get_all(context, limit, filters):
        assert context == "yes" and limit == 1
        return [1] if filters == {"service_uuid": "made"} else []
`,
	"cinder/cmd/manage.py": `import sys
class DbCommands:
    def purge(self, age_in_days):
        print("purged", age_in_days)
    purge.args = ["age_in_days"]
def main():
    assert DbCommands.purge.args == ["age_in_days"]
    DbCommands().purge(*sys.argv[3:])
`,
}

// TestArchive verifies that only records of pods that were scaled down are removed, and only without remaining users.
func TestArchive(t *testing.T) {
	folder := t.TempDir()
	for name, text := range archived {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const ordered = `{"cinder-scheduler": {"cinder-scheduler": 1}, "cinder-volume": {"cinder-volume-a": 2, "cinder-volume-a-1": 1}, ` +
		`"cinder-backup": {"cinder-backup": 0}}`
	removed := func(entry string) string { return "destroyed\nremoved the record of " + entry + "\n" }
	retained := func(entry, why string) string { return entry + " is gone, and its record stays: " + why + "\n" }
	for name, tc := range map[string]struct{ reason, record, want string }{
		"Scheduler":  {"One replica was removed.", `["cinder-scheduler", "cinder-scheduler-1", 60, null, ""]`, removed("cinder-scheduler on cinder-scheduler-1")},
		"Ordered":    {"It is down, and comes back.", `["cinder-scheduler", "cinder-scheduler-0", 9999, null, ""]`, ""},
		"Lately":     {"It may be stopping.", `["cinder-scheduler", "cinder-scheduler-1", 59, null, ""]`, ""},
		"Named":      {"No pod is called so.", `["cinder-scheduler", "cinder-scheduler-01", 60, null, ""]`, ""},
		"Foreign":    {"It does not belong to this Cinder.", `["cinder-volume", "by-hand@lvm", 9999, "cinder@lvm", ""]`, ""},
		"Unknown":    {"A program of another version.", `["cinder-other", "cinder-other-7", 9999, null, ""]`, ""},
		"Backup":     {"There are no backups any more.", `["cinder-backup", "cinder-backup-0", 60, null, ""]`, removed("cinder-backup on cinder-backup-0")},
		"Manager":    {"Others share its volumes.", `["cinder-volume", "cinder-volume-a-2@a", 60, "cinder@a", ""]`, removed("cinder-volume on cinder-volume-a-2@a")},
		"LongerName": {"It is another backend's first.", `["cinder-volume", "cinder-volume-a-1-0@a_1", 60, "cinder@a_1", ""]`, ""},
		"Alone": {
			"Its volumes would have no manager.", `["cinder-volume", "cinder-volume-a-2@a", 60, null, ""]`,
			retained("cinder-volume on cinder-volume-a-2@a", "volumes are its own"),
		},
		"Works": {
			"Cinder's own way to end that needs the record.", `["cinder-volume", "cinder-volume-a-2@a", 60, "cinder@a", "works"]`,
			retained("cinder-volume on cinder-volume-a-2@a", "it has left work undone (cinder work-cleanup)"),
		},
		"Made": {
			"Deleted volumes could not be removed.", `["cinder-volume", "cinder-volume-a-2@a", 60, "cinder@a", "made"]`,
			retained("cinder-volume on cinder-volume-a-2@a", "volumes name it as the one that made them"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command("python3", "-c", archiveScript, "db", "purge", "30")
			c.Env = append(os.Environ(), "PYTHONPATH="+folder, "ORDERED="+ordered, "RECORDS=["+tc.record+"]")
			out, err := c.CombinedOutput()
			if diff := cmp.Diff("purged 30\n"+tc.want, string(out)); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestManagerReplicasListAllProcesses verifies that all processes are listed, including the backup service if it is disabled.
func TestManagerReplicasListAllProcesses(t *testing.T) {
	for file, want := range map[string]map[string]map[string]int32{
		"medium": {
			"cinder-scheduler": {"cinder-scheduler": 2}, "cinder-volume": {"cinder-volume-ceph-rbd": 2, "cinder-volume-archive-1": 1},
			"cinder-backup": {"cinder-backup": 2, "cinder-backup-61292825d2": 2},
		},
		"small": {
			"cinder-scheduler": {"cinder-scheduler": 1}, "cinder-volume": {"cinder-volume-ceph-rbd": 1}, "cinder-backup": {"cinder-backup": 0},
		},
	} {
		if diff := cmp.Diff(want, derived(t, servicetest.Spec(t, file)).managerReplicas()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
