package emitted

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// composed is an object with its source.
type composed struct {
	from, apiVersion, kind, name string
	fields                       map[string]any
}

// allComposed returns the objects of all claims, and those that the functions of each kind compose in their tests,
// including the ones on hypervisors.
//
// Tests must not change them.
func allComposed(t *testing.T) []composed {
	t.Helper()
	if allObjects == nil {
		allObjects = readComposed(t)
	}
	return allObjects
}

// everything caches the result of allComposed.
var allObjects []composed

func readComposed(t *testing.T) []composed {
	t.Helper()
	var out []composed
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			out = append(out, composed{c.name, o.APIVersion, o.Kind, o.Name, o.Manifest.AsMap()})
		}
	}
	files, err := filepath.Glob("../../functions/*/testdata/*/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := composed{from: file}
		if err := yaml.Unmarshal(text, &o.fields); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		o.apiVersion, _ = o.fields["apiVersion"].(string)
		o.kind, _ = o.fields["kind"].(string)
		if meta, ok := o.fields["metadata"].(map[string]any); ok {
			o.name, _ = meta["name"].(string)
		}
		out = append(out, o)
	}
	return out
}

// TestScratchIsBounded checks that no pod can fill the disk or the memory of its node: each of its directories there
// has a size limit, and a pod with directories on the disk requests storage for them.
func TestScratchIsBounded(t *testing.T) {
	directories, sizes := 0, map[string]bool{}
	for _, o := range allComposed(t) {
		for _, p := range pods(o.fields) {
			onDisk := false
			for _, v := range p.Volumes {
				if v.EmptyDir == nil {
					continue
				}
				directories++
				onDisk = onDisk || v.EmptyDir.Medium == corev1.StorageMediumDefault
				if v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
					t.Errorf("%s: %s %s: emptyDir %s has no sizeLimit", o.from, o.kind, o.name, v.Name)
					continue
				}
				sizes[v.EmptyDir.SizeLimit.String()] = true
			}
			r := p.Containers[0].Resources
			if _, ok := r.Requests[corev1.ResourceEphemeralStorage]; onDisk && !ok && r.Limits.StorageEphemeral().IsZero() {
				t.Errorf("%s: %s %s: container %s requests no ephemeral storage", o.from, o.kind, o.name, p.Containers[0].Name)
			}
			for _, c := range p.Containers {
				limit, limited := c.Resources.Limits[corev1.ResourceEphemeralStorage]
				if request := c.Resources.Requests[corev1.ResourceEphemeralStorage]; limited && request.Cmp(limit) > 0 {
					t.Errorf("%s: %s %s: container %s requests more ephemeral storage than its limit", o.from, o.kind, o.name, c.Name)
				}
			}
		}
	}
	// The default, Cinder's conversion, Horizon's assets, Barbican's keys, libvirt's secrets, and Tempest's workspace.
	for _, size := range []string{"1Gi", "50Gi", "512Mi", "16Mi", "64Mi", "5Gi"} {
		if !sizes[size] {
			t.Errorf("no directory of %s among %d", size, directories)
		}
	}
}

// growing are the names of options that bound something. One that is composed has a row in docs/growth.md.
var growing = regexp.MustCompile(`(_age_threshold|_removal_limit|cache_max_size|max_operations|disk_free_limit\.absolute|wal_max_size_bytes|time_to_live|` +
	`_retention|max_events_per_stack|max_age|max_length|segment_size)$`)

// setting is a line of a configuration, of oslo.config or of RabbitMQ.
var setting = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.]*) = (\S+)$`)

// lines calls a function with each line of each text in an object.
func lines(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			lines(member, f)
		}
	case []any:
		for _, item := range v {
			lines(item, f)
		}
	case string:
		for line := range strings.Lines(v) {
			f(strings.TrimRight(line, "\n"))
		}
	}
}

// growthRow is a row of the table in docs/growth.md.
type growthRow struct{ service, data, bound, tests string }

var quoted = regexp.MustCompile("`([^`]+)`")

// growthTable reads the table.
func growthTable(t *testing.T) []growthRow {
	t.Helper()
	page, err := os.ReadFile("../../docs/growth.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Service | What grows | Bound | Test |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var out []growthRow
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("a row has %d cells: %s", len(cells), row)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, growthRow{cells[0], cells[1], cells[2], cells[3]})
	}
	return out
}

// boundBy returns the names of one kind in the bounds: "CronJob `nova-archive`" contains nova-archive.
func boundBy(kind string, rows []growthRow) map[string]bool {
	named := regexp.MustCompile(kind + " `([^`]+)`")
	out := map[string]bool{}
	for _, r := range rows {
		for _, m := range named.FindAllStringSubmatch(r.bound, -1) {
			out[m[1]] = true
		}
	}
	return out
}

// TestGrowthTableMatchesComposedObjects checks that docs/growth.md has a row for each composed CronJob, for each option with a limit and
// for each composed service, and no other rows.
func TestGrowthTableMatchesComposedObjects(t *testing.T) {
	rows := growthTable(t)
	jobs, options, services := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range allComposed(t) {
		switch {
		case o.kind == "CronJob":
			jobs[o.name] = true
		case strings.HasSuffix(strings.Split(o.apiVersion, "/")[0], ".openstack.c5c3.io"),
			slices.Contains([]string{"MariaDB", "RabbitmqCluster", "Valkey", "OVNCluster", "CephCluster"}, o.kind):
			services[o.kind] = true
		}
		lines(o.fields, func(line string) {
			if m := setting.FindStringSubmatch(line); m != nil && growing.MatchString(m[1]) {
				options[m[1]] = true
			}
		})
	}
	// Kinds that are a part of a service, or keep nothing.
	for _, part := range []string{"NovaCell", "IdentityCatalog", "KeystoneService"} {
		delete(services, part)
	}
	if diff := cmp.Diff(jobs, boundBy("CronJob", rows)); diff != "" || len(jobs) < 8 {
		t.Errorf("composed CronJobs, and CronJobs in the table (-composed +documented):\n%s", diff)
	}
	if diff := cmp.Diff(options, boundBy("Option", rows)); diff != "" || len(options) < 8 {
		t.Errorf("composed options, and options in the table (-composed +documented):\n%s", diff)
	}
	documented := map[string]bool{}
	for _, r := range rows {
		documented[r.service] = true
	}
	for service := range services {
		if !documented[service] {
			t.Errorf("%s has no row: list its growing data and the bounds", service)
		}
	}
	t.Logf("%d CronJobs, %d options, services %v", len(jobs), len(options), slices.Sorted(maps.Keys(services)))
}

// TestGrowthTableAgesMatchCronJobs checks that the ages in the table are those of the CronJobs: each number of days is configured in a
// composed CronJob of the row.
func TestGrowthTableAgesMatchCronJobs(t *testing.T) {
	commands := map[string]string{}
	for _, o := range allComposed(t) {
		if o.kind != "CronJob" {
			continue
		}
		for _, p := range pods(o.fields) {
			c := p.Containers[0]
			commands[o.name] += fmt.Sprintln(c.Command, c.Args, c.Env)
		}
	}
	days, checked := regexp.MustCompile(`\b([0-9]+) days`), 0
	for _, r := range growthTable(t) {
		for job := range boundBy("CronJob", []growthRow{r}) {
			for _, age := range days.FindAllStringSubmatch(r.bound, -1) {
				checked++
				if !regexp.MustCompile(`\b` + age[1] + `\b`).MatchString(commands[job]) {
					t.Errorf("%s, %s: CronJob %s does not run by %s days", r.service, r.data, job, age[1])
				}
			}
		}
	}
	if checked < 6 {
		t.Errorf("only %d ages", checked)
	}
}

// TestGrowthTableNamesExistingTests checks that every row names an existing test.
func TestGrowthTableNamesExistingTests(t *testing.T) {
	var source strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range growthTable(t) {
		names := quoted.FindAllStringSubmatch(r.tests, -1)
		if len(names) == 0 && !strings.HasPrefix(r.tests, "None: ") {
			t.Errorf("%s, %s: name a test, or the reason why there is none", r.service, r.data)
		}
		for _, name := range names {
			test, part, _ := strings.Cut(name[1], "/")
			if !strings.Contains(source.String(), "func "+test+"(t *testing.T") || part != "" && !strings.Contains(source.String(), `t.Run("`+part+`"`) {
				t.Errorf("%s, %s: there is no test %s", r.service, r.data, name[1])
			}
		}
	}
}
