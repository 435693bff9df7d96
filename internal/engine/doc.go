// Package engine groups what every composition function is made of, whatever it composes: a call from request to response (function),
// what is observed (observe), what must exist now (compose), when it is ready (ready), and the answer (respond).
// It knows no kind of ours and no service.
package engine
