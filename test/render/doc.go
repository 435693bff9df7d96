// Package render checks the output of the real crossplane CLI with our function, without Docker: for every example, with
// nothing observed, half of it ready, and all of it. `make render` runs it.
package render
