// Package bench measures the functions as Crossplane calls them. docs/contributing/benchmarks.md holds the numbers; `make bench` makes
// them.
package bench
