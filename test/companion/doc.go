// Package companion tests the companion against real Kubernetes controllers: etcd, kube-apiserver and kube-controller-manager of
// hack/tools/kubernetes, with the rights that the control plane gives it and in a namespace that takes restricted pods only. There is no
// node: the test says how pods end.
//
//	go test -tags platform ./test/companion
package companion
