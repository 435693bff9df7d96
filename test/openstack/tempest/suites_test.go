//go:build openstack && linux

package tempest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/volumes"
)

var (
	// suiteNames are the names of the suites that TestSuitesOfTempestPass runs.
	suiteNames = flag.String("groups", "", `suites of Tempest, separated by spaces, or "all"`)
	// suiteLogs is the folder of the suites' logs.
	suiteLogs = flag.String("results", "", "a folder for the log of each suite of Tempest")
)

// suiteTimeout limits one suite. It is the limit of the CronJob's Jobs.
const suiteTimeout = 8 * time.Hour

// tempestSuite is a part of Tempest that one Job runs.
type tempestSuite struct {
	name, include, exclude string
	concurrency            int
}

// moves match the tests that bring a server to another node or flavor.
const moves = `compute\.admin\.test_(migrations|live_migration)|test_server_actions.*(resize|migrat)|compute\.servers\.test_servers_resize`

// tempestSuites lists all tests of APIs, and the services' plugins, in the order of their runs: suites without servers first.
var tempestSuites = []tempestSuite{
	{"identity", `^tempest\.api\.identity`, "", 3},
	{"keystone", `^keystone_tempest_plugin`, "", 3},
	{"image", `^tempest\.api\.image`, "", 2},
	{"volume", `^tempest\.api\.volume`, "", 3},
	{"cinder", `^cinder_tempest_plugin`, "", 2},
	{"barbican", `^barbican_tempest_plugin`, "", 3},
	{"heat", `^heat_tempest_plugin`, "", 2},
	{"network", `^tempest\.api\.network`, "", 3},
	{"neutron", `^neutron_tempest_plugin`, "", 3},
	{"moves", moves, "", 2},
	{"compute", `^tempest\.api\.compute`, moves, 2},
}

// chosenSuites returns the suites that names select, or a suite of the tests that a regular expression matches.
func chosenSuites(names, tests string) ([]tempestSuite, error) {
	if tests != "" {
		return []tempestSuite{{"run", tests, "", 2}}, nil
	}
	if names == "all" {
		return tempestSuites, nil
	}
	var out []tempestSuite
	for name := range strings.FieldsSeq(names) {
		i := slices.IndexFunc(tempestSuites, func(s tempestSuite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no suite %q in -groups; use names of tempestSuites, or all", name)
		}
		out = append(out, tempestSuites[i])
	}
	return out, nil
}

// TestSuitesOfTempestPass runs Tempest's tests of APIs and the services' plugins, one suite after the other, against one cloud of
// two nodes, with the claim's CronJob. No test fails, and they leave no objects. Nothing runs unless flags select
// suites or tests.
func TestSuitesOfTempestPass(t *testing.T) {
	if harness.Programs.Ceph == "" || *suiteNames+*suite == "" {
		t.Skip("suites of Tempest take hours; name them: make tempest GROUPS=\"image volume\"")
	}
	chosen, err := chosenSuites(*suiteNames, *suite)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			claim := harness.Claim(t, "suites.yaml", r, harness.Suffix(r))
			d := volumes.Start(t, r, i, claim, func(o *clouds.Options) { o.Nodes = 2 })
			offer(t, d)
			c := testedCloud{cloud: d.Cloud, claim: string(claim)}
			c.before = allResources(t, d, c)
			for _, s := range chosen {
				t.Run(s.name, func(t *testing.T) { c.runSuite(t, d, s) })
			}
			d.Memory(t)
		})
	}
}

// runSuite runs a suite in a cloud, and keeps its log.
func (c testedCloud) runSuite(t *testing.T, d *volumes.Disks, s tempestSuite) {
	c.order(t, fmt.Sprintf("tests: {includeRegex: %q, excludeRegex: %q, concurrency: %d}", s.include, s.exclude, s.concurrency))
	began := time.Now()
	job := c.startRun(t, s.name)
	c.endedWithin(t, job, suiteTimeout)
	log := c.log(t, job)
	t.Logf("| %s | %v | %v | %v | %.0f min |\n%s", s.name, number(c.status(), "passed"), number(c.status(), "failed"), number(c.status(), "skipped"),
		time.Since(began).Minutes(), skipReasons(log))
	if *suiteLogs != "" {
		err := errors.Join(os.MkdirAll(*suiteLogs, 0o755), os.WriteFile(filepath.Join(*suiteLogs, s.name+".log"), []byte(log), 0o644))
		if err != nil {
			t.Error(err)
		}
	}
	if got := c.result(); !strings.HasPrefix(got, "True TestsPassed") {
		t.Errorf("%s\n%s", got, verdicts(log))
	}
	if diff := gocmp.Diff(c.before, allResources(t, d, c)); diff != "" {
		t.Errorf("tests have left (-before +after):\n%s", diff)
	}
}

// number returns a count of a claim's status, in which 0 is absent.
func number(status map[string]any, key string) float64 {
	n, _ := status[key].(float64)
	return n
}

var skippedLine = regexp.MustCompile(`(?m)^SKIPPED: (\S+) (.*)$`)

// skipReasons lists the reasons of skipped tests, with the number of tests, the most frequent reason first.
func skipReasons(log string) string {
	count := map[string]int{}
	for _, line := range skippedLine.FindAllStringSubmatch(log, -1) {
		count[line[2]]++
	}
	reasons := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var out strings.Builder
	for _, r := range reasons {
		fmt.Fprintf(&out, "%5d %s\n", count[r], r)
	}
	return out.String()
}
