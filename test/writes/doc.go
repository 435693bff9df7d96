// Package writes counts what a claim's way to Ready costs an API server, by a model of Crossplane's core around the functions: time is
// counted, not waited for, so that the number is the same on every machine. What a real Crossplane needs is measured by
// test/platform/bench, which other load on the machine changes by a fourth.
package writes
