package stopwatch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// suites are the folders of tests that wait for real programs.
var suites = []string{"openstack", "node", "platform", "companion", "store", "internal"}

// limit matches a limit by a clock.
var limit = regexp.MustCompile(`<-time\.After\([\d *]*time\.(Minute|Second)\)|\btime\.Since\([^()]*\) [<>]=? |` +
	`\bcontext\.WithTimeout(Cause)?\(|\bcontext\.WithDeadline(Cause)?\(`)

// exceptions are the files with limits by a clock, with the number of these limits.
var exceptions = map[string]struct {
	reason string
	count  int
}{
	"internal/guide/guide_test.go":              {"It is the end of a context that the test verifies.", 1},
	"node/load_test.go":                         {"It measures how long requests are not answered.", 2},
	"node/faultinjection_test.go":               {"It is the timeout of a request that is repeated.", 1},
	"node/up/main.go":                           {"A user waits for it.", 1},
	"openstack/cluster/cluster.go":              {"It is the interval of a controller.", 1},
	"openstack/cluster/pod.go":                  {"It is the grace period of a pod, which ends a hook.", 1},
	"openstack/cluster/probe.go":                {"It is the timeout of a probe, as a kubelet has.", 1},
	"openstack/clouds/pool.go":                  {"It is the interval of a call.", 1},
	"openstack/heat/heat_test.go":               {"It is the timeout of a request that is repeated.", 1},
	"openstack/keystone/administration_test.go": {"It is the age of a token.", 1},
	"openstack/load/load_test.go":               {"They are the duration and the interval of a measurement, and the timeout of a queue.", 3},
	"openstack/nova/fleet_test.go":              {"It is the interval of requests.", 1},
	"openstack/nova/site_test.go":               {"They are the times after which Neutron and a node controller report a failure.", 2},
	"openstack/uwsgi/health_test.go":            {"It is the duration of an observation.", 1},
	"platform/bench/main.go":                    {"A user gives it.", 1},
	"platform/companion.go":                     {"They are the pause before a restart, and the grace period of a process.", 2},
	"platform/demo/main.go":                     {"They are a user's timeout, and the interval of a display.", 2},
}

func TestWaitsAreLimitedWithoutTheLoad(t *testing.T) {
	found := map[string]int{}
	for _, folder := range suites {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || filepath.Dir(path) == "../../internal/stopwatch" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if n := len(limit.FindAll(text, -1)); n > 0 {
				found[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = n
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{}
	for _, file := range slices.Sorted(maps.Keys(exceptions)) {
		want[file] = exceptions[file].count
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("a limit by a clock fails on a busy machine: use package stopwatch, or list the file with a reason (-listed +found)\n%s", diff)
	}
}
