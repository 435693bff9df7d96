// Command mutation breaks packages on purpose, in one small way after another, and says which mistakes no test notices:
//
//	go run ./hack/mutation [flags] PACKAGE…
//
// Tools for mutations change conditions and operators. Most of what this project emits are literals, so this one changes
// those: it drops a field, an element or an assignment, flips a bool, and puts a sibling in the place of a constant, a number or
// a name.
//
// All mutants of all packages are compiled at once (mutant schemata): each place calls a function that gives the original unless
// an environment variable chooses another. One run of the tests records which places they reach; then each mutant that is reached
// is run alone. Tests run in a copy of the tree, with -update where they have it: goldens notice nothing.
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
	// root of the tree, and work, a folder outside of it for what is built.
	root, work string
	// tests are packages to run instead of those of the table.
	tests []string
	// sample is how many mutants of a package are tried at most, all if 0.
	sample int
	// only tries mutants whose place and words contain it.
	only     string
	parallel int
	list     bool
}

func run(ctx context.Context) error {
	var o options
	tests := flag.String("tests", "", "packages whose tests judge besides a package's own, not those of the table: with commas; - for none")
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
