// Package render checks what the real crossplane CLI renders with our function, without Docker: for every example, with
// nothing observed, half of it ready, and all of it. `make render` runs it.
package render
