// Command kubernetes is a control plane without nodes: etcd, kube-apiserver, kube-controller-manager and kubectl, in one binary that
// is one of them by the name it is called with:
//
//	ln -s kubernetes kube-apiserver && ./kube-apiserver --help
//
// One binary is a third of the size, and of the time to link, of four.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// programs are the programs in this binary, by name.
var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: call this binary by the name etcd, kube-apiserver, kube-controller-manager or kubectl (by symbolic links)\n", name)
		os.Exit(2)
	}
	if err := program().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
