// Command testbudget runs `go test`, reports progress, and holds the tests to a budget of processor time:
//
//	go run ./hack/testbudget [flags] PACKAGE… [-- flags of the test binary]
//
// It fails before anything is compiled if the filter (-run, or -match without it) selects no test; packages without a selected test are
// neither compiled nor run. It fails after the run if all selected tests together, or those of one package, use more processor time than
// the budget allows. Wall-clock time does not count: a loaded machine is slow, but its tests need the same work. Packages whose result
// comes from Go's cache use none.
//
// A finished package is one line, a failed test is printed in full, and the last line is "N passed, N failed, N skipped".
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags of a run.
type options struct {
	patterns []string
	// filter and tags are passed to go test.
	filter, tags string
	// skip is the expression of tests that do not run.
	skip string
	// checked are further expressions that must each match the name of a test.
	checked string
	// total and each are budgets in CPU-seconds, for all packages and for one; 0 sets no limit.
	total, each float64
	// timeout ends a package that hangs.
	timeout  time.Duration
	count    int
	parallel int
	// packages limits the number of packages that are tested at the same time; 0: as many as processors.
	packages int
	// verbose prints the output of every test as it comes.
	verbose bool
	// checkOnly ends after the check of the filter.
	checkOnly bool
	// binary are flags of the test binaries.
	binary []string
	out    io.Writer
}

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.filter, "run", "", "run only tests that match the regular expression")
	flag.StringVar(&o.skip, "skip", "", "do not run tests that match the regular expression")
	flag.StringVar(&o.tags, "tags", "", "build tags, separated by commas")
	flag.StringVar(&o.checked, "match", "", "fail unless the regular expression matches a test, too")
	flag.Float64Var(&o.total, "total", 0, "budget of all packages in CPU-seconds; 0: none")
	flag.Float64Var(&o.each, "package", 0, "budget of each package in CPU-seconds; 0: none")
	flag.DurationVar(&o.timeout, "timeout", time.Hour, "end a package that hangs")
	flag.IntVar(&o.count, "count", 0, "run each test so many times, and use no cached result; 0: once, or cached")
	flag.IntVar(&o.parallel, "parallel", 0, "how many tests of a package run at the same time; 0: as many as processors")
	flag.IntVar(&o.packages, "p", 0, "how many packages run at the same time; 0: as many as processors")
	flag.BoolVar(&o.verbose, "v", false, "print the output of every test as it comes")
	flag.BoolVar(&o.checkOnly, "check", false, "only check that the filter selects tests")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: testbudget [flags] PACKAGE… [-- flags of the test binary]")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.patterns, o.binary = arguments(flag.Args())
	if len(o.patterns) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "testbudget:", err)
		os.Exit(1)
	}
}

// arguments splits the arguments at "--".
func arguments(args []string) (patterns, binary []string) {
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

// run checks the filter, compiles, runs the tests, and reports whether they passed within the budget.
func run(ctx context.Context, o options) error {
	packages, err := list(ctx, o)
	if err != nil {
		return err
	}
	for _, expression := range []string{o.filter, o.checked} {
		if err := match(expression, packages); err != nil {
			return err
		}
	}
	if o.checkOnly {
		return nil
	}
	if expression := cmp.Or(o.filter, o.checked); expression != "" {
		if packages, err = selected(expression, packages); err != nil {
			return err
		}
		o.patterns = paths(packages)
	}
	if err := compile(ctx, o); err != nil {
		return err
	}
	report := newReport(o, packages)
	failed := test(ctx, o, report)
	return errors.Join(report.finish(), failed)
}

// compile compiles the tests with progress. A package that does not compile is reported by go test.
func compile(ctx context.Context, o options) error {
	root, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	args := []string{"-test"}
	if o.tags != "" {
		args = append(args, "-tags", o.tags)
	}
	c := exec.CommandContext(ctx, filepath.Join(strings.TrimSpace(root), "hack", "compile.sh"), append(args, o.patterns...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("the tests do not compile: %w", err)
	}
	return nil
}

// test runs go test and feeds its events into the report. It returns an error if the run failed.
func test(ctx context.Context, o options, r *report) error {
	args := []string{"test", "-json", "-timeout", o.timeout.String()}
	if o.tags != "" {
		args = append(args, "-tags", o.tags)
	}
	if o.filter != "" {
		args = append(args, "-run", o.filter)
	}
	if o.skip != "" {
		args = append(args, "-skip", o.skip)
	}
	if o.count > 0 {
		args = append(args, "-count", strconv.Itoa(o.count))
	}
	if o.parallel > 0 {
		args = append(args, "-parallel", strconv.Itoa(o.parallel))
	}
	if o.packages > 0 {
		args = append(args, "-p", strconv.Itoa(o.packages))
	}
	args = append(args, o.patterns...)
	if len(o.binary) > 0 {
		args = append(append(args, "-args"), o.binary...)
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = environment(os.Environ())
	c.Stderr = os.Stderr
	events, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	// An interrupt reaches go test, too, which ends its tests; the report is written after that.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	if err := c.Start(); err != nil {
		return err
	}
	stop := r.cpu.watch(c.Process.Pid)
	err = r.read(events)
	stop()
	if failed := c.Wait(); err == nil && failed != nil {
		err = fmt.Errorf("go test: %w", failed)
	}
	return err
}

// environment returns the environment of go test. Unless GOGC is set, tests collect garbage at five times the live heap instead of twice:
// this saves a fifth of the processor time of tests that compose claims, and requires up to 1 GiB of memory for each package that runs.
func environment(env []string) []string {
	if os.Getenv("GOGC") != "" {
		return env
	}
	return append(env, "GOGC=400")
}

// output returns the output of a command.
func output(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}
