// Package clustercheck reconciles ClusterChecks: it reports properties of the cluster that the companion runs in, with which a
// WorkloadCluster decides whether claims can use the cluster. It reads nothing secret, and changes nothing.
package clustercheck
