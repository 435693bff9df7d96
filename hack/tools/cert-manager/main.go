// Command cert-manager is cert-manager's controllers for issuers that sign themselves or with a CA, of its public packages: its own
// command is a module that module proxies do not have. It has no webhook, no ACME and no leader election, and runs in a pod.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1) //nolint:gocritic // No cleanup is required.
	}
}

// run runs all controllers until one fails.
func run(ctx context.Context) error {
	logs.InitLogs()
	ctx = logs.NewContext(ctx, logs.Log, "cert-manager")
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		KubernetesAPIQPS: 50, KubernetesAPIBurst: 100,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
		CertificateOptions: controller.CertificateOptions{CertificateRequestMinimumBackoffDuration: time.Minute},
	})
	if err != nil {
		return err
	}
	root, err := factory.Build()
	if err != nil {
		return err
	}
	finished := make(chan error)
	for name, build := range controller.Known() {
		c, err := build(factory)
		if err != nil {
			return fmt.Errorf("cannot make the controller %s: %w", name, err)
		}
		go func() { finished <- c.Run(5, ctx) }()
	}
	root.SharedInformerFactory.Start(ctx.Done())
	root.KubeSharedInformerFactory.Start(ctx.Done())
	root.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	select {
	case <-ctx.Done():
		return nil
	case err := <-finished:
		return err
	}
}
