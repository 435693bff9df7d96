// Package effort selects how many cases a test tries: a few in `make test`, which has a budget of processor time, and many in
// `make test-long`. Both try cases of the same generators from the same seeds.
package effort

import "os"

// variable is the environment variable that `make test-long` sets.
const variable = "COBALTCORE_TEST_LONG"

// Long reports whether tests run in `make test-long`.
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
