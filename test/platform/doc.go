// Package platform runs the real Crossplane on one machine, as processes, without Docker and without a container registry:
//
//	etcd, kube-apiserver, kube-controller-manager      Kubernetes without a node
//	crossplane                                         core and RBAC manager, each with its own service account's rights
//	provider-kubernetes                                the same
//	function                                           that of this tree, called by mutual TLS
//	companion                                          one for each control plane, with the rights of its Role
//	helm                                               installs our chart, which installs our packages
//
// Beside them, inside the process that calls Start, are a registry that serves the packages, and fakes of everything that is not there
// (package operators): the operators of other projects, and the kubelet.
//
// Everything is below one folder: programs, logs, certificates, kubeconfigs and data. Every certificate is new and every port is a
// free one, so several platforms run side by side. Nothing of a platform outlives the process that started it.
package platform
