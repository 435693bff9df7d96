// Package pods tests the fake node of package cluster, which all clouds need.
package pods
