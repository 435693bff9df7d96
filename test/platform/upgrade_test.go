//go:build platform

package platform_test

import (
	"context"
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

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// newestCore is the tool of hack/tools with the newest Crossplane that we support. The platform that all other tests share has the oldest.
const newestCore = "crossplane-core-newest"

// later is a version after that of the tree.
const later = "v99.0.0"

// TestUpgrade: on the newest Crossplane, a claim is made with the packages, the chart and the function of the commit before, and then
// those of this tree are installed. No object is created again, none goes, and no pod template changes, but for those that ROLLS_PODS_OF
// or the commits in between name, these in a trailer: "Rolls-pods-of: keystone". What the control plane once composed of Keystone's catalog
// comes to be composed by its IdentityCatalog.
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
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := p.Order(ctx, u); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(ctx, u); err != nil {
		t.Fatal(err)
	}
	name := instance(t, get(t, p.Cluster, claimKind, u.GetNamespace(), u.GetName()))
	was, templates := uids(t, p, name), podTemplates(t, p, name)

	ctx, cancel = context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := p.Upgrade(ctx, root, later); err != nil {
		t.Fatal(err)
	}
	for range 3 { // so that also what follows from the first time has been seen
		touch(t, p, name, platform.Image(later))
	}
	if err := p.WaitReady(ctx, u); err != nil {
		t.Fatal(err)
	}

	eventually(t, soon, func() error { return catalogMoved(t, p, name, was) })
	is := uids(t, p, name)
	for id, uid := range was {
		if is[id] != uid && !moves(was, id) {
			t.Errorf("%v was made again or is gone", id)
		}
	}
	rolls := rolled(t, root, before)
	for id, template := range podTemplates(t, p, name) {
		if diff := cmp.Diff(templates[id], template); diff != "" && !slices.Contains(rolls, id.Name) {
			t.Errorf("the pods of %v are rolled; if they have to be, the commit has to say \"Rolls-pods-of: %s\": -before, +after:\n%s",
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
	notKept(t, p, name)
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

// moves reports whether something was there that an IdentityCatalog composes now, or that nobody does any more.
func moves(was map[thing]types.UID, id thing) bool {
	for other := range was {
		if other.Kind == "IdentityCatalog" {
			return false
		}
	}
	return id.Group == "openstack.k-orc.cloud" || id.Kind == "RoleAssignment" || id.Kind == "EndpointRegion" ||
		id.Kind == "Usage" && oldUsages.MatchString(id.Name)
}

// catalogMoved is an error until all that moves is composed by the IdentityCatalog, and one Usage has replaced those of its entries.
func catalogMoved(t *testing.T, p *platform.Platform, namespace string, was map[thing]types.UID) error {
	t.Helper()
	is := map[thing]unstructured.Unstructured{}
	for _, o := range p.Composed(t.Context(), namespace) {
		is[thingOf(o)] = o
		if o.GetKind() == "Usage" && oldUsages.MatchString(o.GetName()) {
			return fmt.Errorf("the Usage %s is left", o.GetName())
		}
	}
	for id := range was {
		if !moves(was, id) || id.Kind == "Usage" {
			continue
		}
		o, there := is[id]
		if owner := metav1.GetControllerOf(&o); !there || owner == nil || owner.Kind != "IdentityCatalog" {
			return fmt.Errorf("%v is not composed by the IdentityCatalog (it is there: %t)", id, there)
		}
	}
	for id := range is {
		if id.Kind == "Usage" && id.Name == "catalog-uses-keystone" {
			return nil
		}
	}
	return errors.New("nothing keeps Keystone for its catalog")
}

// commitBefore is BEFORE, or the last commit where files were changed since, or the one before it.
func commitBefore(t *testing.T, root string) string {
	t.Helper()
	if before := os.Getenv("BEFORE"); before != "" {
		return before
	}
	changed, err := exec.CommandContext(t.Context(), "git", "-C", root, "status", "--porcelain").Output()
	if err != nil {
		t.Skipf("this is no git repository, so there is nothing to upgrade from: %v", err)
	}
	if len(changed) > 0 {
		return "HEAD"
	}
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--quiet", "--verify", "HEAD~1").Run(); err != nil {
		t.Skip("there is no commit before this one, or it was not fetched")
	}
	return "HEAD~1"
}

// channels: a new function, as a second Function, works for some control planes first. What the platform team bound to the channel "stable"
// stays with the first Function when the Compositions get revisions of the channel "next", and so do its services; everything else follows.
func channels(t *testing.T, p *platform.Platform, stable *unstructured.Unstructured) {
	team, err := p.As("operator", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	patch := `{"spec":{"compositionRevisionSelector":{"matchLabels":{"crossplane.c5c3.io/channel":"stable"}}}}`
	if err := team.Patch(t.Context(), stable.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
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
		eventually(t, soon, func() error {
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

// channelOf is the channel of the Composition's revision that composes a composite resource, which refers to it below a path.
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

// rolled are the names in ROLLS_PODS_OF, and after Rolls-pods-of in the messages of the commits since another.
func rolled(t *testing.T, root, since string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "log", "--format=%(trailers:key=Rolls-pods-of,valueonly,separator= )",
		since+"..HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(os.Getenv("ROLLS_PODS_OF")+" "+string(out), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
}

// uids are those of everything that we compose in a namespace, but for what a hash names.
func uids(t *testing.T, p *platform.Platform, namespace string) map[thing]types.UID {
	t.Helper()
	out := map[thing]types.UID{}
	for _, o := range p.Composed(t.Context(), namespace) {
		if o.GetKind() != "ConfigMap" && !kubernetesOwn(o) && !controllersOwn(o) {
			out[thingOf(o)] = o.GetUID()
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d objects are there: this tests nothing", len(out))
	}
	return out
}

// podTemplates are those of everything in a namespace that has pods.
func podTemplates(t *testing.T, p *platform.Platform, namespace string) map[thing]any {
	t.Helper()
	out := map[thing]any{}
	for _, o := range p.Composed(t.Context(), namespace) {
		if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found && o.GroupVersionKind().Group == "apps" {
			out[thingOf(o)] = template
		}
	}
	if len(out) < 3 {
		t.Fatalf("only %v have pods: this tests nothing", slices.Collect(maps.Keys(out)))
	}
	return out
}

// touch lets Crossplane look at the composite resources of a control plane again, as a new function comes to each only at its next pass, and
// waits until it has called that function for them.
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
	eventually(t, soon, func() error {
		got, err := p.Calls(t.Context(), image)
		if err == nil && got < before+len(touched) {
			err = fmt.Errorf("%s was called %d times", image, got-before)
		}
		return err
	})
}
