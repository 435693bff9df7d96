// Package node is a Kubernetes cluster of one real node on one Linux machine, without systemd, Docker or a registry elsewhere:
//
//	etcd, kube-apiserver, kube-controller-manager, kube-scheduler     of hack/tools/kubernetes and kubernetes-node
//	containerd, runc, network plugins                                 Debian's
//	kubelet, kube-proxy                                               of hack/tools/kubernetes-node
//	CoreDNS, a provisioner of hostPath volumes                        pods, from images that are made of their programs
//	a registry                                                        inside the process that calls Start, for containerd
//
// Install brings programs and images, where there is a network. The cluster then runs in a machine of its own (package sandbox): its
// processes, mounts, addresses and packet filters are seen by nobody else, and the kernel ends all of them with the first process.
// Folders and control groups are removed by Clean.
package node
