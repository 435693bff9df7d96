// Command kubernetes-node runs a node of a control plane of ../kubernetes: kubelet, kube-proxy and kube-scheduler, in one binary that is
// selected by its name:
//
//	ln -s kubernetes-node kubelet && ./kubelet --help
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs are the programs in this binary, by name.
var programs = map[string]func() *cobra.Command{
	"kubelet":        func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy":     proxy.NewProxyCommand,
	"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: call this binary by the name kubelet, kube-proxy or kube-scheduler (by symbolic links)\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(program()))
}
