// Command mutation introduces defects into packages, one at a time, and reports the ones that no test detects:
//
//	go run ./hack/mutation [flags] PACKAGE…
//
// Other mutation tools change conditions and operators. This project emits mostly literals, so this command changes them: it drops a
// field, an element or an assignment, flips a bool, and replaces a constant, a number or a name by a sibling.
//
// All mutants of all packages are compiled at once (mutant schemata): each location calls a function that returns the original value
// unless an environment variable selects a mutant. One run of the tests records the locations that they reach; then each reached mutant is
// run alone. Tests run in a copy of the tree, with -update if they have it, so that goldens detect nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1) //nolint:gocritic // The process ends, and the signal handler with it.
	}
}

// options of one run.
type options struct {
	// root of the tree, and work, a folder outside of it for build results.
	root, work string
	// tests are packages to run instead of the table.
	tests []string
	// sample is the maximum number of mutants of a package, or 0 for all.
	sample int
	// only tries mutants whose place and words contain it.
	only     string
	parallel int
	list     bool
}

func run(ctx context.Context) error {
	var o options
	tests := flag.String("tests", "", "packages whose tests run in addition to a package's own, instead of the table: with commas; - for none")
	flag.IntVar(&o.sample, "sample", 0, "try at most that many mutants of each package, always the same ones")
	flag.StringVar(&o.only, "only", "", "try mutants whose line in the report contains this")
	flag.IntVar(&o.parallel, "parallel", 2, "how many tests run at the same time")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run nothing")
	flag.Parse()
	switch *tests {
	case "":
	case "-":
		o.tests = []string{}
	default:
		o.tests = strings.Split(*tests, ",")
	}
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./functions/...", "./internal/..."}
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("cannot find the root of the tree: %w", err)
	}
	o.root = strings.TrimSpace(string(out))
	if o.work, err = os.MkdirTemp("", "mutation-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.work) }()

	packages, err := load(ctx, patterns)
	if err != nil {
		return err
	}
	id := 0
	for _, p := range packages {
		if id, err = p.mutate(id); err != nil {
			return err
		}
	}
	known, err := readEquivalents(filepath.Join(o.root, "hack", "mutation", "equivalent.txt"))
	if err != nil {
		return err
	}
	if err := known.mark(packages); err != nil {
		return err
	}
	if o.list {
		for _, p := range packages {
			for _, m := range p.mutants {
				fmt.Println(m)
			}
		}
		return nil
	}
	if err := judge(ctx, o, packages); err != nil {
		return err
	}
	report(os.Stdout, packages)
	return nil
}
