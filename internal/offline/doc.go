// Package offline groups the packages that replace a cluster: the validation of an API server, a simulation of the owners of objects,
// and the preview that uses both.
package offline
