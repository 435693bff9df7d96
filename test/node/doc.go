// Package node runs a Kubernetes cluster of one real node on one Linux machine, without systemd, Docker or an external
// registry:
//
//	etcd, kube-apiserver, kube-controller-manager, kube-scheduler     of hack/tools/kubernetes and kubernetes-node
//	containerd, runc, network plugins                                 Debian's
//	kubelet, kube-proxy                                               of hack/tools/kubernetes-node
//	CoreDNS, a provisioner of hostPath volumes                        pods, from images that are made of their programs
//	a registry                                                        inside the process that calls Start, for containerd
//
// Install installs programs and images, while there is a network. The cluster then runs in a sandbox (package sandbox):
// its processes, mounts, addresses and packet filters are not visible outside, and the kernel ends all of them with the
// first process. Folders and control groups are removed by Clean.
package node
