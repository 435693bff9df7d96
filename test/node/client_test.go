//go:build node && linux

package node_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// clientRelease is the release that the openstack client is of, and everything that it needs.
const clientRelease = "2025.2"

// testClient checks that the openstack client, without access to Kubernetes, logs in over verified TLS, and finds the
// resources of K-ORC and of Keystone's bootstrap: by name, and endpoints by region, which K-ORC's endpoints alone do
// not have.
func testClient(ctx context.Context, t *testing.T, namespace string, c *cloud) {
	openstack := clientOf(ctx, t, namespace, c)
	if token := openstack("token", "issue", "-f", "value", "-c", "id"); len(token) != 1 || len(token[0]) < 32 {
		t.Errorf("the token is %d lines", len(token))
	}
	got := openstack("endpoint", "list", "--service", "identity", "--region", region, "-f", "value", "-c", "Interface", "-c", "URL")
	if diff := cmp.Diff([]string{"internal " + c.url, "public " + c.url}, got); diff != "" {
		t.Errorf("endpoints in %s: -want +got\n%s", region, diff)
	}
	for kind, names := range map[string][]string{
		"project": {"admin", "service"}, "user": {"admin"}, "role": {"admin", "manager", "member", "reader", "service"},
	} {
		got := openstack(kind, "list", "-f", "value", "-c", "Name")
		for _, want := range names {
			if !slices.Contains(got, want) {
				t.Errorf("there is no %s %s, only %v", kind, want, got)
			}
		}
	}
}

// clientOf returns the openstack client of the administrator of a control plane: it takes arguments, and returns the
// sorted lines of the output.
func clientOf(ctx context.Context, t *testing.T, namespace string, c *cloud) func(args ...string) []string {
	t.Helper()
	venv, err := install.Services(ctx, "../..", clientRelease, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "keystone"}, service); err != nil {
		t.Fatal(err)
	}
	// The records that a name server of the tenant's network would have.
	hosts, err := os.OpenFile(sandbox.Hosts, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close()
	if _, err := fmt.Fprintln(hosts, service.Spec.ClusterIP, at.Hostname()); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	authority := filepath.Join(home, "ca.crt")
	if err := os.WriteFile(authority, secret(ctx, t, namespace, "keystone-tls")["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) []string {
		t.Helper()
		cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "openstack"), args...)
		cmd.Env = []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OS_CACERT=" + authority, "OS_AUTH_URL=" + c.url, "OS_IDENTITY_API_VERSION=3",
			"OS_REGION_NAME=" + region, "OS_USERNAME=" + c.user, "OS_PASSWORD=" + c.password, "OS_USER_DOMAIN_NAME=Default",
			"OS_PROJECT_NAME=admin", "OS_PROJECT_DOMAIN_NAME=Default",
		}
		requested := &strings.Builder{}
		cmd.Stderr = requested
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("openstack %s: %v\n%s", strings.Join(args, " "), err, requested.String())
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if lines[0] == "" {
			return nil
		}
		slices.Sort(lines)
		return lines
	}
}
