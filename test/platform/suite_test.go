//go:build platform

// The tests of this package run on one platform, each in a separate namespace, several at a time:
//
//	go test -tags platform ./test/platform
package platform_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// cloud is the platform that all tests share.
var cloud *platform.Platform

// remote is the name of the second cluster, which the PlatformConfig of the examples offers to namespaces tenant-….
const remote = "west"

// Timeouts for operations that take seconds on an idle machine, and longer on a busy one, and for a deletion: each
// level of Usages is checked every half minute.
const (
	timeout  = 5 * time.Minute
	deletion = 12 * time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	cache, err := platform.CacheDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	progress := io.Discard
	if testing.Verbose() {
		progress = os.Stderr
	}
	cloud, err = platform.Start(context.Background(), platform.Options{
		Dir: filepath.Join(cache, "platform-test"), Remote: remote, Progress: progress, Tap: true,
		Packages: os.Getenv("PACKAGES"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start the platform:", err)
		return 1
	}
	defer cloud.Stop()
	findings := listen(cloud.Tap, flag.Lookup("test.run").Value.String() != "")
	code := m.Run()
	if err := findings(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// An open circuit drops events: everything still works, but slowly, so no test would fail.
	opened, err := cloud.CircuitOpenings(context.Background())
	if err != nil || opened > 0 {
		fmt.Fprintf(os.Stderr, "Crossplane's circuit breakers opened %d times (%v)\n", opened, err)
		return 1
	}
	return code
}

// Kinds that the tests look at.
var (
	claimKind      = controlplanev1.GroupVersionKind
	compositeKind  = controlplanev1.CompositeGroupVersionKind
	keystoneKind   = platform.KeystoneKind
	mariaDBKind    = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
	objectKind     = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: "Object"}
	objectMKind    = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "Object"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	namespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	secretKind     = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	serviceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
)

// edit changes a field of a claim.
type edit struct {
	value any
	path  []string
}

// set returns an edit; the path is relative to the claim.
func set(value any, path ...string) edit { return edit{value: value, path: path} }

// claim returns the claim of the examples, named cloud, in a namespace, with some fields set.
func claim(t *testing.T, namespace string, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	objects, err := platform.Decode(examples.Claim)
	if err != nil || len(objects) != 1 {
		t.Fatalf("cannot read the claim of the examples: %v", err)
	}
	u := objects[0]
	u.SetNamespace(namespace)
	for _, e := range edits {
		if err := unstructured.SetNestedField(u.Object, e.value, e.path...); err != nil {
			t.Fatalf("cannot set %v: %v", e.path, err)
		}
	}
	return u
}

// order creates a claim.
func order(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := cloud.Order(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// ready waits until a claim is ready, and returns it.
func ready(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	ctx, cancel := stopwatch.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := cloud.WaitReady(ctx, u); err != nil {
		t.Fatalf("%v\nThe end of the fakes' log:\n%s", err, cloud.Log("operators", 10))
	}
	return get(t, cloud.Cluster, u.GroupVersionKind(), u.GetNamespace(), u.GetName())
}

// get reads an existing object.
func get(t *testing.T, c *platform.Cluster, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := c.Get(t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if u == nil {
		t.Fatalf("there is no %s %s/%s", kind.Kind, namespace, name)
	}
	return u
}

// addLimit adds a limit (JSON) to the PlatformConfig, as the platform team permits something to a tenant.
func addLimit(t *testing.T, limit string) {
	t.Helper()
	addToPlatform(t, "limits", limit)
}

// addToPlatform adds an item (JSON) to a list in the spec of the PlatformConfig.
func addToPlatform(t *testing.T, list, item string) {
	t.Helper()
	config := get(t, cloud.Cluster, platformKind, "", "default")
	patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op": "add", "path": "/spec/%s/-", "value": %s}]`, list, item))
	if err := cloud.Client.Patch(t.Context(), config, patch); err != nil {
		t.Fatal(err)
	}
}

// list reads all objects of a kind in a namespace.
func list(t *testing.T, c *platform.Cluster, kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	t.Helper()
	all, err := c.List(t.Context(), kind, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// eventually waits until a function returns no error; its last error is reported if it never does.
func eventually(t *testing.T, timeout time.Duration, so func() error) {
	t.Helper()
	var err error
	for start := time.Now(); stopwatch.Since(start) < timeout; time.Sleep(100 * time.Millisecond) {
		if err = so(); err == nil {
			return
		}
		if failed := cloud.Err(); failed != nil {
			t.Fatal(failed)
		}
	}
	t.Fatalf("after %s: %v", timeout, err)
}

// remove deletes a claim and waits until it is deleted.
func remove(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := cloud.Client.Delete(t.Context(), u.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, deletion, func() error {
		remaining, err := cloud.Get(t.Context(), u.GroupVersionKind(), client.ObjectKeyFromObject(u))
		if err == nil && remaining != nil {
			return fmt.Errorf("the claim is still there")
		}
		return err
	})
}

// instance returns the namespace of a claim's objects.
func instance(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	name, _, _ := unstructured.NestedString(u.Object, "status", "instance")
	if name == "" {
		t.Fatal("status.instance is empty")
	}
	return name
}

// previewed returns the preview of a claim.
func previewed(t *testing.T, u *unstructured.Unstructured) *preview.Result {
	t.Helper()
	doc, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := preview.Run(bytes.TrimSpace(doc), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatalf("cannot preview the claim: %v", err)
	}
	return r
}
