// Package bench measures the functions as Crossplane calls them. docs/performance.md holds the numbers; `make bench` makes them.
package bench
