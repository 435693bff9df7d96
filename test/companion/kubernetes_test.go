//go:build platform

package companion

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// startKubernetes starts a control plane without nodes, which is stopped after the test, and returns an administrator's
// configuration.
func startKubernetes(t *testing.T) *rest.Config {
	t.Helper()
	build := exec.Command("../../hack/tools/build.sh", "kubernetes")
	build.Stderr = os.Stderr
	binary, err := build.Output()
	if err != nil {
		t.Fatalf("cannot build Kubernetes: %v", err)
	}
	ps := &process.Group{Dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(ps.Logs(12, "it-etcd", "it-apiserver", "it-controller-manager"))
		}
		ps.Stop()
	})
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if err := ps.Link(name, strings.TrimSpace(string(binary))); err != nil {
			t.Fatal(err)
		}
	}
	api, err := kubernetes.Start("it", t.TempDir(), ps, "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		t.Fatal(err)
	}
	const controllers = "job-controller,deployment-controller,replicaset-controller,garbage-collector-controller,ttl-after-finished-controller"
	ctx, cancel := stopwatch.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := api.Serve(ctx, controllers); err != nil {
		t.Fatal(err)
	}
	return api.Config
}

// eventually waits for a condition, at most three minutes.
func eventually(t *testing.T, description string, holds func() bool) {
	t.Helper()
	ctx, cancel := stopwatch.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited too long for %s", description)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
