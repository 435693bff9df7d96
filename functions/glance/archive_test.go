package glance

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// fakeGlance are the parts of Glance that the script uses: a database with the tables of tasks and images, and glance-manage, whose commands
// remove some of the rows that were deleted, and print how many of how many.
var fakeGlance = map[string]string{
	"glance/__init__.py": "", "glance/cmd/__init__.py": "", "glance/db/__init__.py": "", "glance/db/sqlalchemy/__init__.py": "",
	"oslo_utils/__init__.py": "",
	"sqlalchemy/__init__.py": "from sqlalchemy import event\ntext = str\n",
	"sqlalchemy/event.py": `listeners = []
def listen(engine, name, listener):
    assert name == "after_cursor_execute"
    listeners.append(listener)
def remove(engine, name, listener):
    listeners.remove(listener)
`,
	"oslo_utils/timeutils.py": `import datetime
def utcnow():
    return datetime.datetime(2026, 3, 2, 12)
`,
	"glance/db/sqlalchemy/api.py": `import contextlib, sqlite3
sqlite3.register_adapter(__import__("datetime").datetime, str)
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE tasks (id, deleted, deleted_at, expires_at)")
connection.execute("CREATE TABLE images (id)")
connection.executemany("INSERT INTO tasks VALUES (?, ?, ?, ?)", [
    ("running", 0, None, None), ("finished", 0, None, "2026-03-02 12:00:01"),
    ("deleted", 1, "2026-02-01 00:00:00", "2026-01-01 00:00:00"),
] + [("expired%d" % i, 0, None, "2026-03-02 12:00:00") for i in range(4)])
connection.executemany("INSERT INTO images VALUES (?)", [("a",), ("b",), ("c",)])
class get_engine:
    @contextlib.contextmanager
    def begin(self):
        yield connection
`,
	"glance/cmd/manage.py": `import sys
from glance.db.sqlalchemy import api
from sqlalchemy import event
def remove(table, age_in_days, max_rows):
    chosen = "SELECT id FROM %s WHERE %s ORDER BY id LIMIT %s" % (table, "deleted = 1" if table == "tasks" else "1", max_rows)
    for statement in "SELECT 1", "DELETE FROM %s WHERE id IN (%s)" % (table, chosen):
        cursor = api.connection.execute(statement)
        for listener in event.listeners:
            listener(api.connection, cursor, statement, (), None, False)
    print("removed", cursor.rowcount, table, age_in_days)
class DbCommands:
    def purge(self, age_in_days=30, max_rows=100):
        remove("tasks", age_in_days, max_rows)
    purge.args = ["age_in_days", "max_rows"]
    def purge_images_table(self, age_in_days=180, max_rows=100):
        remove("images", age_in_days, max_rows)
def main():
    assert DbCommands.purge.args == ["age_in_days", "max_rows"]
    DbCommands().purge(**dict(a.removeprefix("--").split("=") for a in sys.argv[3:]))
    print(*[row[0] for row in api.connection.execute("SELECT id FROM tasks ORDER BY id")], event.listeners)
`,
}

// TestArchiveScript proves that expired tasks of all owners are deleted before rows are purged, that running, unexpired and deleted tasks
// keep their state, that rows are removed in batches until none is left, and that rows of images are purged last and by a separate age.
func TestArchiveScript(t *testing.T) {
	folder := t.TempDir()
	for name, text := range fakeGlance {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("python3", "-c", archiveScript, "db", "purge", "--age_in_days=30", "--max_rows=2")
	c.Env = append(os.Environ(), "PYTHONPATH="+folder, "IMAGES_AFTER_DAYS=180")
	const want = `deleted 4 expired tasks
removed 2 tasks 30
removed 2 tasks 30
removed 1 tasks 30
removed 0 tasks 30
removed 2 images 180
removed 1 images 180
removed 0 images 180
finished running []
`
	out, err := c.CombinedOutput()
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestImageRowsOutliveReferencingRows verifies that a Glance without archive settings has the ages of the schema, and that rows of images
// are not removed before rows that refer to them.
func TestImageRowsOutliveReferencingRows(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		after, imagesAfter int32
		want               [2]int32
	}{
		"None":        {"The schema's defaults.", 0, 0, [2]int32{30, 180}},
		"Both":        {"The spec's ages.", 7, 8, [2]int32{7, 8}},
		"ImagesFirst": {"Removal of an image's row fails while rows refer to it.", 365, 180, [2]int32{365, 365}},
	} {
		xr := glancev1.Glance{}
		xr.Spec.Archive = glancev1.Archive{Archive: common.Archive{AfterDays: tc.after}, ImagesAfterDays: tc.imagesAfter}
		function.SetDefaults(&xr)
		a := xr.Spec.Archive
		complete(&a)
		if diff := cmp.Diff(tc.want, [2]int32{a.AfterDays, a.ImagesAfterDays}); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
