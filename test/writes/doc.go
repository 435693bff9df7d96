// Package writes counts the writes to an API server until a claim is ready, with a model of Crossplane's core around
// the functions: time is simulated, so that the number is the same on every machine. test/platform/bench measures a
// real Crossplane, which varies by a fourth with other load on the machine.
package writes
