package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Environment variables for the number of the mutant, and for the file in which a test records the mutants that it reaches.
const (
	activeVariable = "COBALTCORE_MUTANT"
	recordVariable = "COBALTCORE_MUTANTS_REACHED"
)

// furtherTests lists the packages whose tests cover other packages, in addition to their own: the first matching prefix is used.
var furtherTests = []struct {
	prefix string
	tests  []string
}{
	// A table in test/invariants covers the steps before composition, test/emitted covers the composed objects.
	{prefix: "functions/controlplane/", tests: []string{"functions/controlplane", "test/composed", "test/invariants", "test/emitted"}},
	{prefix: "functions/", tests: []string{"test/composed", "test/invariants", "test/emitted"}},
	{prefix: "companion/internal/batchjob", tests: []string{"companion/cellmapping", "companion/ovnsync", "companion/databasesync"}},
	{prefix: "companion/internal/", tests: []string{
		"companion/keyrepository", "companion/databasesync", "companion/credentialrotation", "companion/secretaggregate",
		"companion/identitycheck", "companion/endpointregion", "companion/roleassignment",
	}},
	{prefix: "companion", tests: []string{"test/companion"}},
	{prefix: "internal/offline/preview", tests: []string{"cmd/cobaltcore"}},
	{prefix: "internal/offline/fake", tests: []string{"internal/readiness", "internal/offline/simulate"}},
	// Composed objects cover the packages that build them.
	{prefix: "internal/kube/certificate", tests: builders},
	{prefix: "internal/kube/c5c3", tests: append([]string{"companion"}, builders...)},
	{prefix: "internal/kube/exposure", tests: builders},
	{prefix: "internal/openstack/korc", tests: builders},
	{prefix: "internal/kube/mariadb", tests: builders},
	{prefix: "internal/kube/monitoring", tests: builders},
	{prefix: "internal/kube/object", tests: builders},
	{prefix: "internal/openstack/release", tests: builders},
	{prefix: "internal/openstack/service", tests: append([]string{"functions/placement", "functions/glance"}, builders...)},
	{prefix: "internal/openstack/image", tests: []string{"functions/glance", "test/claims"}},
	{prefix: "internal/offline/servicetest", tests: []string{"functions/placement", "functions/glance", "functions/keystone"}},
	{prefix: "internal/kube/secret", tests: builders},
	{prefix: "internal/tenant/tenantsecret", tests: builders},
	{prefix: "internal/kube/workload", tests: builders},
	{prefix: "internal/offline/schema", tests: []string{"internal/offline/definition", "internal/offline/preview"}},
	// Everything else stands for itself.
}

// skipped are tests that take longer than all other tests of their package together, and detect the same mutants.
var skipped = map[string]string{
	"functions/glance":    "^TestOptionsCannotChangeComputedValues$",
	"functions/keystone":  "^TestOptionsCannotChangeComputedValues$",
	"functions/placement": "^TestOptionsCannotChangeComputedValues$",
	"test/emitted":        "^TestClientsReadCloudsFileUnchanged$",
	"test/invariants": "^(TestExamplesBecomeReady|TestInvariantsHoldInRandomHistories|TestComposedObjectsHaveNoFindings|" +
		"TestDrawnSpecsAreValid)$",
	"companion/cellmapping":        "^TestRecoversFromFaultAtAnyCall$",
	"companion/credentialrotation": "^TestRecoversFromFaultAtAnyCall$",
	"companion/databasesync":       "^(TestRecoversFromFaultAtAnyCall|TestInvariantsHoldInAnyHistory)$",
	"companion/keyrepository":      "^TestRecoversFromFaultAtAnyCall$",
	"companion/ovnsync":            "^TestRecoversFromFaultAtAnyCall$",
	"companion/secretaggregate":    "^TestRecoversFromFaultAtAnyCall$",
	"companion/roleassignment":     "^TestRecoversFromFaultAtAnyCall$",
	"companion/identitycheck":      "^TestRecoversFromFaultAtAnyCall$",
}

var builders = []string{"functions/keystone", "functions/controlplane", "test/emitted"}

// waits is the time limit of a test, far longer than any test takes on a busy machine.
const waits = time.Hour

// suite is the tests of one package, built with all mutants.
type suite struct {
	name, binary string
	flags        []string
	duration     time.Duration // of processor time, without a mutant
	reached      map[int]bool
}

// judge runs the tests with each mutant.
func judge(ctx context.Context, o options, packages []*pkg) error {
	suites, err := build(ctx, o, packages)
	if err != nil {
		return err
	}
	trees := make(chan string, o.parallel)
	for i := range o.parallel {
		tree := filepath.Join(o.work, "tree"+strconv.Itoa(i))
		if err := copyTree(ctx, o.root, tree); err != nil {
			return err
		}
		trees <- tree
	}
	for _, name := range slices.Sorted(mapKeys(suites)) {
		tree := <-trees
		err := suites[name].baseline(ctx, tree, o.work)
		trees <- tree
		if err != nil {
			return err
		}
	}

	var wait sync.WaitGroup
	count := counter{}
	for _, p := range packages {
		judges := o.judges(p, suites)
		for _, m := range o.choose(p, judges) {
			tree := <-trees
			wait.Go(func() {
				defer func() { trees <- tree }()
				if killer := killer(ctx, judges, tree, m); ctx.Err() == nil {
					count.note(m, killer)
				}
			})
		}
	}
	wait.Wait()
	return ctx.Err()
}

// killer returns the suite that detects the mutant, or "".
func killer(ctx context.Context, judges []*suite, tree string, m *mutant) string {
	for _, s := range judges {
		if s.reached[m.id] && !s.passes(ctx, tree, m.id) {
			return s.name
		}
	}
	return ""
}

// counter reports the progress.
type counter struct {
	sync.Mutex
	done int
}

func (c *counter) note(m *mutant, killer string) {
	c.Lock()
	defer c.Unlock()
	m.detectedBy = killer
	if killer == "" {
		fmt.Fprintln(os.Stderr, m)
	}
	if c.done++; c.done%100 == 0 {
		fmt.Fprintf(os.Stderr, "… %d mutants so far\n", c.done)
	}
}

// names returns the packages whose tests judge a package: its own first.
func (o options) names(p *pkg) []string {
	names := []string{p.name}
	if o.tests != nil {
		for _, t := range o.tests {
			names = append(names, strings.TrimPrefix(t, "./"))
		}
		return names
	}
	for _, e := range furtherTests {
		if strings.HasPrefix(p.name, e.prefix) {
			return append(names, e.tests...)
		}
	}
	return names
}

// judges returns the suites of a package, in the order in which they run.
func (o options) judges(p *pkg, suites map[string]*suite) []*suite {
	var out []*suite
	for _, name := range o.names(p) {
		if s := suites[name]; s != nil && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *suite) int {
		if a.name == p.name || b.name == p.name {
			return cmp.Compare(boolean(b.name == p.name), boolean(a.name == p.name))
		}
		return cmp.Compare(a.duration, b.duration)
	})
	return out
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose returns the mutants to try, without unreached mutants and known equivalents.
func (o options) choose(p *pkg, judges []*suite) []*mutant {
	var out []*mutant
	for _, m := range p.mutants {
		for _, s := range judges {
			m.reached = m.reached || s.reached[m.id]
		}
		if m.equivalent == "" && strings.Contains(m.String(), o.only) {
			out = append(out, m)
		}
	}
	if o.sample > 0 && len(out) > o.sample {
		slices.SortFunc(out, func(a, b *mutant) int { return cmp.Or(cmp.Compare(hash(a.key), hash(b.key)), cmp.Compare(a.id, b.id)) })
		out = out[:o.sample]
		slices.SortFunc(out, func(a, b *mutant) int { return cmp.Compare(a.id, b.id) })
	}
	// Mutants that no test reaches are not run, because no test can detect them.
	var reached []*mutant
	for _, m := range out {
		if m.tried = true; m.reached {
			reached = append(reached, m)
		} else {
			fmt.Fprintf(os.Stderr, "%s (not reached)\n", m)
		}
	}
	return reached
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// build compiles the tests of all packages that judge, with all mutants in them.
func build(ctx context.Context, o options, packages []*pkg) (map[string]*suite, error) {
	overlay := struct {
		Replace map[string]string `json:"Replace"`
	}{Replace: map[string]string{}}
	names := map[string]bool{}
	for _, p := range packages {
		for path, text := range p.texts {
			to := filepath.Join(o.work, "src", strconv.Itoa(len(overlay.Replace))+".go")
			if err := write(to, []byte(text)); err != nil {
				return nil, err
			}
			overlay.Replace[path] = to
		}
		for _, name := range o.names(p) {
			names[name] = true
		}
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(o.work, "overlay.json")
	if err := write(overlayFile, data); err != nil {
		return nil, err
	}
	suites := map[string]*suite{}
	for _, name := range slices.Sorted(mapKeys(names)) {
		s := &suite{name: name, binary: filepath.Join(o.work, "bin", strings.ReplaceAll(name, "/", "-")), reached: map[int]bool{}}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlayFile, "-o", s.binary, "./"+name)
		cmd.Dir, cmd.Stderr = o.root, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("cannot build the tests of %s: %w", name, err)
		}
		if _, err := os.Stat(s.binary); err != nil {
			continue // It has none.
		}
		s.flags = flags(ctx, s.binary)
		if skip := skipped[name]; skip != "" {
			s.flags = append(s.flags, "-test.skip="+skip)
		}
		suites[name] = s
	}
	return suites, nil
}

// flags are the flags with which goldens are rewritten, and properties are tested with the same seed each time.
func flags(ctx context.Context, binary string) []string {
	help, _ := exec.CommandContext(ctx, binary, "-h").CombinedOutput()
	var out []string
	for flag, value := range map[string]string{
		"update": "true", "rapid.seed": "1", "rapid.nofailfile": "true", "rapid.shrinktime": "1ns",
	} {
		if bytes.Contains(help, []byte("\n  -"+flag)) {
			out = append(out, "-"+flag+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// baseline runs the tests without a mutant, and records the mutants that they reach.
func (s *suite) baseline(ctx context.Context, tree, work string) error {
	record := filepath.Join(work, "reached")
	_ = os.Remove(record)
	cmd := s.command(ctx, tree, time.Hour, recordVariable+"="+record)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", s.name, err, tail(out))
	}
	s.duration = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	data, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(data)) {
		id, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		s.reached[id] = true
	}
	fmt.Fprintf(os.Stderr, "%s reaches %d mutants in %.1f s\n", s.name, len(s.reached), s.duration.Seconds())
	return nil
}

// passes reports whether the tests pass with a mutant. A test that does not end has detected it. Processor time is limited instead of
// wall-clock time, because a test takes longer on a busy machine. A test that blocks is terminated after waits.
func (s *suite) passes(ctx context.Context, tree string, id int) bool {
	return s.command(ctx, tree, 30*time.Second+5*s.duration, activeVariable+"="+strconv.Itoa(id)).Run() == nil
}

// command returns the run of the tests, limited to some processor time.
func (s *suite) command(ctx context.Context, tree string, limit time.Duration, env string) *exec.Cmd {
	args := append([]string{
		"-c", `ulimit -t "$0" && exec "$@"`, strconv.Itoa(int(limit.Seconds())), s.binary, "-test.failfast", "-test.timeout=" + waits.String(),
	}, s.flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(tree, s.name)
	// One processor for each: so many run at the same time.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", env)
	return cmd
}

func tail(out []byte) []byte { return out[max(0, len(out)-3000):] }

// copyTree copies tracked files and untracked files that are not ignored.
func copyTree(ctx context.Context, root, to string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-co", "--exclude-standard", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot list the files of the tree: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // It was deleted, but not in the index.
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(to, name), data); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(to, name), info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
