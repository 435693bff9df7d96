// Package effort selects how many cases a test tries: a few in `make test`, which has a budget of processor time, and many in
// `make test-long`. Both try cases of the same generators.
package effort

import (
	"flag"
	"fmt"
	"os"
	"strconv"
)

// variable is set by `make test-long`.
const variable = "COBALTCORE_TEST_LONG"

// Long reports whether `make test-long` runs the tests.
func Long() bool {
	return os.Getenv(variable) == "1"
}

// Of returns short in `make test` and long in `make test-long`.
func Of(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Sample returns every stride-th item from the first on in `make test`, and all items in `make test-long`.
func Sample[T any](items []T, stride int) []T {
	if Long() || stride <= 1 {
		return items
	}
	out := make([]T, 0, len(items)/stride+1)
	for i := 0; i < len(items); i += stride {
		out = append(out, items[i])
	}
	return out
}

// Histories sets the number of cases of each property test in a package (the flag -rapid.checks), unless the flag is set. The short run
// always tries the same cases, so that it does not fail by chance; the long one tries new ones each time. Call it in TestMain. It
// returns an error if the flags of rapid are not defined.
func Histories(short, long int) error {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	flags := map[string]int{"rapid.checks": Of(short, long), "rapid.seed": Of(1, 0)}
	for name, value := range flags {
		if set[name] {
			continue
		}
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			return fmt.Errorf("set the flag -%s: %w", name, err)
		}
	}
	return nil
}
