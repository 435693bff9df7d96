// Package companion tests the companion with real Kubernetes controllers: etcd, kube-apiserver and
// kube-controller-manager of hack/tools/kubernetes, with the permissions that the control plane grants it and in a
// namespace that admits restricted pods only. There is no node: the test sets how pods end.
//
//	go test -tags platform ./test/companion
package companion
