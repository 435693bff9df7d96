package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// event is a line of go test -json (see `go doc test2json`).
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Output  string  `json:"Output"`
	Elapsed float64 `json:"Elapsed"`
	// ImportPath names the package of build-output.
	ImportPath string `json:"ImportPath"`
}

// result is a package that ran, or runs.
type result struct {
	path, dir string
	// output holds the lines of each test that has not passed, and under "" the lines without a test.
	output map[string][]string
	// order are the tests of output in the order in which they began.
	order []string
	// cpu is the processor time and seconds the wall-clock time, both in seconds.
	cpu, seconds float64
	action       string
	cached       bool
}

// report prints progress and collects the data of the summary.
type report struct {
	o       options
	cpu     cpu
	results map[string]*result
	done    []*result
	// packages is the number of packages with tests.
	packages                int
	passed, failed, skipped int
	// skips are the skipped tests by package and reason.
	skips map[[2]string][]string
	// depth is the deepest level of tests that ran: 1 for a function, 2 for its subtests.
	depth int
}

func newReport(o options, packages []goPackage) *report {
	r := &report{o: o, results: map[string]*result{}, packages: len(packages), skips: map[[2]string][]string{}}
	for _, p := range packages {
		dir := p.Dir
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved // as /proc shows it
		}
		r.results[p.ImportPath] = &result{path: p.ImportPath, dir: dir, output: map[string][]string{}}
	}
	return r
}

// read handles all events of go test.
func (r *report) read(events io.Reader) error {
	reader := bufio.NewReader(events)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(r.o.out, string(line)) // go test prints some errors as plain text.
			} else {
				r.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

// add handles one event.
func (r *report) add(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(r.o.out, e.Output)
		return
	}
	p := r.results[e.Package]
	if p == nil {
		return // It has no test files.
	}
	switch e.Action {
	case "output":
		if r.o.verbose && (e.Test != "" || !isResult(e.Output)) {
			fmt.Fprint(r.o.out, e.Output)
		}
		if e.Test == "" && strings.HasSuffix(e.Output, "\t(cached)\n") {
			p.cached = true
		}
		if _, ok := p.output[e.Test]; !ok {
			p.order = append(p.order, e.Test)
		}
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.end(p, e)
		} else {
			r.endTest(p, e)
		}
	}
}

// isResult reports whether a line is the result of a package, which the report prints itself.
func isResult(line string) bool {
	return line == "PASS\n" || line == "FAIL\n" || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")
}

// endTest counts a test, and forgets the output of one that did not fail.
func (r *report) endTest(p *result, e event) {
	r.depth = max(r.depth, 1+strings.Count(e.Test, "/"))
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		return
	case "skip":
		r.skipped++
		key := [2]string{p.path, reason(p.output[e.Test])}
		r.skips[key] = append(r.skips[key], e.Test)
	}
	delete(p.output, e.Test)
}

// place is the place of a line that a test logs.
var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason returns why a test was skipped: its last line of output but the result.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(strings.TrimSpace(line), "--- ") {
			return strings.TrimSpace(place.ReplaceAllString(line, ""))
		}
	}
	return "no reason given"
}

// end prints the result of a package, and in full the output of its failed tests.
func (r *report) end(p *result, e event) {
	p.action, p.seconds = e.Action, e.Elapsed
	p.cpu, _ = r.cpu.seconds(p.dir)
	r.done = append(r.done, p)
	if p.action == "fail" {
		for _, test := range p.order {
			for _, line := range p.output[test] {
				if !r.o.verbose && (test != "" || !isResult(line)) {
					fmt.Fprint(r.o.out, line)
				}
			}
		}
	}
	status, note := "ok  ", fmt.Sprintf("%.1f CPU-seconds", p.cpu)
	if p.cached {
		note = "cached"
	}
	if p.action == "fail" {
		status = "FAIL"
	}
	fmt.Fprintf(r.o.out, "%s\t%s\t%.1fs\t(%s) [%d/%d]\n", status, p.path, p.seconds, note, len(r.done), r.packages)
	p.output = nil
}

// finish prints the summary. It returns an error if a budget is exceeded or no test ran.
func (r *report) finish() error {
	slices.SortStableFunc(r.done, func(a, b *result) int { return cmp.Compare(b.cpu, a.cpu) })
	r.printSkips()
	r.printCosts()
	var errs []error
	for _, p := range r.done {
		if p.action == "fail" {
			fmt.Fprintf(r.o.out, "failed: %s\n", p.path)
		}
		if r.o.each > 0 && p.cpu > r.o.each {
			errs = append(errs, fmt.Errorf("%s: tests used %.1f CPU-seconds, and a package must use at most %.0f; "+
				"cache what they compute again, or move a longer search to make test-long (internal/effort)", p.path, p.cpu, r.o.each))
		}
	}
	if total := r.total(); r.o.total > 0 && total > r.o.total {
		errs = append(errs, fmt.Errorf("all tests used %.1f CPU-seconds, and must use at most %.0f; "+
			"start with the most expensive packages above", total, r.o.total))
	}
	if r.passed+r.failed == 0 && len(r.done) == r.packages {
		errs = append(errs, fmt.Errorf("no test ran: the filter %q selects none, or all of them were skipped (%d)", r.o.filter, r.skipped))
	} else if err := r.checkDepth(); err != nil {
		errs = append(errs, err)
	}
	for _, err := range errs {
		fmt.Fprintln(r.o.out, "error:", err)
	}
	fmt.Fprintf(r.o.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	if len(errs) > 0 {
		return fmt.Errorf("%d errors in addition to failed tests", len(errs))
	}
	return nil
}

// checkDepth returns an error if the filter names subtests and none ran.
func (r *report) checkDepth() error {
	if r.o.filter == "" || r.failed > 0 {
		return nil
	}
	least := 0
	for i, alternative := range split(r.o.filter, '|') {
		if levels := len(split(alternative, '/')); i == 0 || levels < least {
			least = levels
		}
	}
	if r.depth < least {
		return fmt.Errorf("filter %q: no subtest matches; go test -v without the filter's last part lists them", r.o.filter)
	}
	return nil
}

// total returns the CPU-seconds of all packages.
func (r *report) total() float64 {
	total := 0.0
	for _, p := range r.done {
		total += p.cpu
	}
	return total
}

// expensive is the number of packages in the table of costs.
const expensive = 15

// printCosts prints the packages that used most processor time.
func (r *report) printCosts() {
	total, cached := r.total(), 0
	for _, p := range r.done {
		if p.cached {
			cached++
		}
	}
	limit := ""
	if r.o.total > 0 {
		limit = fmt.Sprintf(" of at most %.0f", r.o.total)
	}
	if total == 0 && cached < len(r.done) && runtime.GOOS != "linux" {
		fmt.Fprintln(r.o.out, "CPU-seconds: not measured, because only Linux has /proc; CI enforces the budget")
		return
	}
	fmt.Fprintf(r.o.out, "CPU-seconds: %.1f%s, %d packages, %d of them cached\n", total, limit, len(r.done), cached)
	for i, p := range r.done {
		if i == expensive || p.cpu < 1 {
			break
		}
		fmt.Fprintf(r.o.out, "  %6.1f  %s\n", p.cpu, p.path)
	}
}

// printSkips prints which tests were skipped, and why.
func (r *report) printSkips() {
	keys := make([][2]string, 0, len(r.skips))
	for k := range r.skips {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		tests := r.skips[k]
		name := tests[0]
		if len(tests) > 1 {
			name = fmt.Sprintf("%s and %d others", name, len(tests)-1)
		}
		fmt.Fprintf(r.o.out, "skipped: %s %s: %s\n", k[0], name, k[1])
	}
}
