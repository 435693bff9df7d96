// Package limit holds what claims name against what a platform allows: patterns of names, hosts and domains, and the walk over all that
// an API object says.
package limit
