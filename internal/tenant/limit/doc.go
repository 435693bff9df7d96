// Package limit compares the values of claims with the limits of a platform: patterns for names, hosts and domains, and a
// walk through all values of an API object.
package limit
