// Package emitted checks everything that the functions emit, for every example and for additional claims that cover all
// other features, with the rules of the consumer: each object with the real CRD, each option of a configuration file
// with the option registry of its release, each pod with the restricted Pod Security Standard.
package emitted
