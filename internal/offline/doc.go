// Package offline groups what stands for a cluster where there is none: the checks of an API server, a simulation of what owners do,
// and the preview made of both.
package offline
