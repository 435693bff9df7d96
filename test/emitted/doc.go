// Package emitted checks everything that the functions emit, for every example and for claims that ask for all the rest, by
// what will get it: each object by the real CRD, each option of a configuration file by the option registry of its release, each
// pod by the restricted Pod Security Standard.
package emitted
