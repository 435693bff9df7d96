// Package platform runs the real Crossplane on one machine, as processes, without Docker and without a container
// registry:
//
//	etcd, kube-apiserver, kube-controller-manager      Kubernetes without a node
//	crossplane                                         core and RBAC manager, each with the permissions of its service account
//	provider-kubernetes                                the same
//	function                                           built from this tree, called by mutual TLS
//	companion                                          one for each control plane, with the permissions of its Role
//	helm                                               installs the chart, which installs the packages
//
// The process that calls Start also runs a registry that serves the packages, and fakes of all other components
// (package operators): the operators of other projects, and the kubelet.
//
// All files are below one folder: programs, logs, certificates, kubeconfigs and data. Every certificate is new and
// every port is a free one, so several platforms can run at the same time. No part of a platform outlives the process
// that started it.
package platform
