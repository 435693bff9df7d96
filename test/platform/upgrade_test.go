//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// newestCore is the tool of hack/tools with the newest supported Crossplane. The platform of all other tests has the
// oldest.
const newestCore = "crossplane-core-newest"

// later is a version after the version of the tree.
const later = "v99.0.0"

// TestUpgrade creates a claim on the newest Crossplane with the packages, the chart and the function of the previous
// commit, and then installs this tree's. No object is re-created or deleted, and no pod template changes, except those
// listed in ROLLS_PODS_OF or in trailers of the commits in between: "Rolls-pods-of: keystone". The objects of
// Keystone's catalog that the control plane composed are then composed by its IdentityCatalog.
func TestUpgrade(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	before := commitBefore(t, root)
	cache, err := platform.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p, err := platform.Start(t.Context(), platform.Options{
		Dir: filepath.Join(cache, "platform-upgrade"), Root: root, Tree: checkout(t, root, before), Core: newestCore,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()

	u := claim(t, "tenant-upgrade")
	ctx, cancel := stopwatch.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := p.Order(ctx, u); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(ctx, u); err != nil {
		t.Fatal(err)
	}
	name := instance(t, get(t, p.Cluster, claimKind, u.GetNamespace(), u.GetName()))
	previous, templates := uids(t, p, name), podTemplates(t, p, name)

	ctx, cancel = stopwatch.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := p.Upgrade(ctx, root, later); err != nil {
		t.Fatal(err)
	}
	for range 3 { // so that effects of the first time are also observed
		touch(t, p, name, platform.Image(later))
	}
	if err := p.WaitReady(ctx, u); err != nil {
		t.Fatal(err)
	}

	eventually(t, timeout, func() error { return catalogMoved(t, p, name, previous) })
	is := uids(t, p, name)
	for id, uid := range previous {
		if is[id] != uid && !moves(previous, id) {
			t.Errorf("%v was made again or is gone", id)
		}
	}
	rolls := rolled(t, root, before)
	for id, template := range podTemplates(t, p, name) {
		if diff := cmp.Diff(templates[id], template); diff != "" && !slices.Contains(rolls, id.Name) {
			t.Errorf("the pods of %v are restarted; if that is required, the commit needs the trailer \"Rolls-pods-of: %s\": -before, +after:\n%s",
				id, id.Name, diff)
		}
	}
	opened, err := p.CircuitOpenings(t.Context())
	if err != nil || opened > 0 {
		t.Errorf("Crossplane's circuit breakers opened %d times (%v)", opened, err)
	}

	t.Run("Channels", func(t *testing.T) { channels(t, p, u) })

	drop := claim(t, "tenant-upgrade", set("Delete", "spec", "deletionPolicy"))
	if err := p.Order(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	checkNotRetained(t, p, name)
	if err := p.Client.Delete(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	eventually(t, deletion, func() error {
		if ns, err := p.Get(t.Context(), namespaceKind, types.NamespacedName{Name: name}); err != nil || ns != nil {
			return fmt.Errorf("the namespace is still there: %w", err)
		}
		return nil
	})
}

// oldUsages are the names of the Usages that once kept Keystone, one for each entry of its catalog.
var oldUsages = regexp.MustCompile(`^(domain|project|role|user|service|endpoint)-.*-uses-keystone$`)

// moves reports whether an existing object is now composed by an IdentityCatalog, or no longer composed.
func moves(previous map[objectID]types.UID, id objectID) bool {
	for other := range previous {
		if other.Kind == "IdentityCatalog" {
			return false
		}
	}
	return id.Group == "openstack.k-orc.cloud" || id.Kind == "RoleAssignment" || id.Kind == "EndpointRegion" ||
		id.Kind == "Usage" && oldUsages.MatchString(id.Name)
}

// catalogMoved returns an error until all moved objects are composed by the IdentityCatalog, and one Usage has replaced
// the Usages of its entries.
func catalogMoved(t *testing.T, p *platform.Platform, namespace string, previous map[objectID]types.UID) error {
	t.Helper()
	is := map[objectID]unstructured.Unstructured{}
	for _, o := range p.Composed(t.Context(), namespace) {
		is[idOf(o)] = o
		if o.GetKind() == "Usage" && oldUsages.MatchString(o.GetName()) {
			return fmt.Errorf("the Usage %s is left", o.GetName())
		}
	}
	for id := range previous {
		if !moves(previous, id) || id.Kind == "Usage" {
			continue
		}
		o, exists := is[id]
		if owner := metav1.GetControllerOf(&o); !exists || owner == nil || owner.Kind != "IdentityCatalog" {
			return fmt.Errorf("%v is not composed by the IdentityCatalog (it exists: %t)", id, exists)
		}
	}
	for id := range is {
		if id.Kind == "Usage" && id.Name == "catalog-uses-keystone" {
			return nil
		}
	}
	return errors.New("nothing keeps Keystone for its catalog")
}

// commitBefore returns BEFORE, or the last commit if files were changed since, or else the one before it.
func commitBefore(t *testing.T, root string) string {
	t.Helper()
	if before := os.Getenv("BEFORE"); before != "" {
		return before
	}
	changed, err := exec.CommandContext(t.Context(), "git", "-C", root, "status", "--porcelain").Output()
	if err != nil {
		t.Skipf("without a git repository, there is no version to upgrade from: %v", err)
	}
	if len(changed) > 0 {
		return "HEAD"
	}
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--quiet", "--verify", "HEAD~1").Run(); err != nil {
		t.Skip("there is no commit before this one, or it was not fetched")
	}
	return "HEAD~1"
}

// channels checks that a new function, as a second Function, can serve some control planes first. Control planes that
// the platform team bound to the channel "stable" stay with the first Function when the Compositions get revisions of
// the channel "next", and so do their services; all others are moved.
func channels(t *testing.T, p *platform.Platform, stable *unstructured.Unstructured) {
	team, err := p.As("operator", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	patch := `{"spec":{"compositionRevisionSelector":{"matchLabels":{"crossplane.c5c3.io/channel":"stable"}}}}`
	if err := team.Patch(t.Context(), stable.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := stopwatch.WithTimeout(t.Context(), timeout)
	defer cancel()
	const function, version = "function-cobaltcore-next", "v99.1.0"
	image, err := p.AddFunction(ctx, function, version)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AddChannel(ctx, version, "next", function); err != nil {
		t.Fatal(err)
	}
	next := claim(t, "tenant-next")
	if err := p.Order(ctx, next); err != nil {
		t.Fatal(err)
	}
	for u, want := range map[*unstructured.Unstructured]string{stable: "stable", next: "next"} {
		if err := p.WaitReady(ctx, u); err != nil {
			t.Fatal(err)
		}
		eventually(t, timeout, func() error {
			is := get(t, p.Cluster, claimKind, u.GetNamespace(), u.GetName())
			composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
			xr := get(t, p.Cluster, compositeKind, "", composite)
			if got := channelOf(t, p, xr, "spec"); got != want {
				return fmt.Errorf("%s is composed by the channel %q, want %s", u.GetNamespace(), got, want)
			}
			keystone := get(t, p.Cluster, keystoneKind, instance(t, is), "keystone")
			if got := channelOf(t, p, keystone, "spec", "crossplane"); got != want {
				return fmt.Errorf("the Keystone of %s is composed by the channel %q, want %s", u.GetNamespace(), got, want)
			}
			return nil
		})
	}
	if n, err := p.Calls(t.Context(), image); err != nil || n == 0 {
		t.Errorf("the new function was called %d times (%v)", n, err)
	}
}

// channelOf returns the channel of the CompositionRevision that a composite resource refers to at a path.
func channelOf(t *testing.T, p *platform.Platform, xr *unstructured.Unstructured, path ...string) string {
	t.Helper()
	revision, _, _ := unstructured.NestedString(xr.Object, append(path, "compositionRevisionRef", "name")...)
	kind := schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositionRevision"}
	return get(t, p.Cluster, kind, "", revision).GetLabels()["crossplane.c5c3.io/channel"]
}

// checkout writes the files of a commit into a folder.
func checkout(t *testing.T, root, commit string) string {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "tree.tar")
	for _, cmd := range [][]string{
		{"git", "-C", root, "archive", "--output=" + archive, commit},
		{"tar", "-x", "-f", archive, "-C", dir},
	} {
		if out, err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	return dir
}

// rolled returns the names in ROLLS_PODS_OF, and in Rolls-pods-of trailers of the commits since another.
func rolled(t *testing.T, root, since string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "log", "--format=%(trailers:key=Rolls-pods-of,valueonly,separator= )",
		since+"..HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(os.Getenv("ROLLS_PODS_OF")+" "+string(out), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
}

// uids returns the UIDs of all composed objects in a namespace, except those with a hash in their name.
func uids(t *testing.T, p *platform.Platform, namespace string) map[objectID]types.UID {
	t.Helper()
	out := map[objectID]types.UID{}
	for _, o := range p.Composed(t.Context(), namespace) {
		if o.GetKind() != "ConfigMap" && !kubernetesOwn(o) && !controllersOwn(o) {
			out[idOf(o)] = o.GetUID()
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d objects exist: too few for this test", len(out))
	}
	return out
}

// podTemplates returns the pod templates of all workloads in a namespace.
func podTemplates(t *testing.T, p *platform.Platform, namespace string) map[objectID]any {
	t.Helper()
	out := map[objectID]any{}
	for _, o := range p.Composed(t.Context(), namespace) {
		if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found && o.GroupVersionKind().Group == "apps" {
			out[idOf(o)] = template
		}
	}
	if len(out) < 3 {
		t.Fatalf("only %v have pods: this tests nothing", slices.Collect(maps.Keys(out)))
	}
	return out
}

// touch makes Crossplane reconcile the composite resources of a control plane again, because a new function is called
// for each only in its next pass, and waits until it has called that function for them.
func touch(t *testing.T, p *platform.Platform, namespace, image string) {
	t.Helper()
	before, err := p.Calls(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	touched := append(list(t, p.Cluster, compositeKind, ""), list(t, p.Cluster, keystoneKind, namespace)...)
	for _, o := range touched {
		patch := `{"metadata":{"annotations":{"touched":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`
		if err := p.Client.Patch(t.Context(), &o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, timeout, func() error {
		got, err := p.Calls(t.Context(), image)
		if err == nil && got < before+len(touched) {
			err = fmt.Errorf("%s was called %d times", image, got-before)
		}
		return err
	})
}
