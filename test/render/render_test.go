package render

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/manifest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files")

// script is hack/render/render.sh. Building the CLI takes minutes, so that only `make render` sets it.
var script = os.Getenv("RENDER")

// states are the observed states: nothing; the result of half of the calls, of which the newest is not ready yet;
// everything.
var states = []string{"empty", "half", "ready"}

func TestRenderMatchesGoldens(t *testing.T) {
	if script == "" {
		t.Skip("run by `make render`, which builds the crossplane CLI first")
	}
	target := serve(t)
	claims, err := fs.Glob(examples.Files, "controlplane/*.yaml")
	if err != nil || len(claims) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, file := range claims {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		example := strings.TrimSuffix(path.Base(file), ".yaml")
		for _, state := range states {
			t.Run(example+"/"+state, func(t *testing.T) {
				parent := simulated(t, newParent(t, claim), state)
				check(t, example+"-controlplane-"+state, render(t, target, parent, "controlplane"))
				keystone := simulated(t, newKeystone(t, claim), state)
				check(t, example+"-keystone-"+state, render(t, target, keystone, "keystone"))
			})
		}
	}
}

// TestCrossplaneFetchesResourcesOfPool checks that Crossplane itself fetches the resources that a pool of hypervisors requires, the claim
// of its control plane and then the composite resource that this names, and calls again with both.
func TestCrossplaneFetchesResourcesOfPool(t *testing.T) {
	if script == "" {
		t.Skip("run by `make render`, which builds the crossplane CLI first")
	}
	target := serve(t)
	read := func(file string) []byte {
		claim, err := examples.Files.ReadFile("hypervisor/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}
	plane, err := preview.Run(read("control-plane"), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		t.Run(state, func(t *testing.T) {
			pool := newParent(t, read("claim"))
			pool.RequiredResources = plane.Existing
			check(t, "claim-hypervisor-"+state, render(t, target, simulated(t, pool, state), "hypervisor"))
		})
	}
}

// TestCrossplaneFetchesResourcesOfStorage checks the required resources of a StorageCluster, the ConfigMap with the monitors of Rook, and
// of a control plane with data in its pools: the claim, and then the composite resource that this names.
func TestCrossplaneFetchesResourcesOfStorage(t *testing.T) {
	if script == "" {
		t.Skip("run by `make render`, which builds the crossplane CLI first")
	}
	target := serve(t)
	read := func(file string) []byte {
		claim, err := examples.Files.ReadFile("storage/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}
	storage, err := preview.Run(read("claim"), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		t.Run(state, func(t *testing.T) {
			check(t, "claim-storage-"+state, render(t, target, simulated(t, newParent(t, read("claim")), state), "storage"))
			plane := newParent(t, read("control-plane"))
			plane.RequiredResources = storage.Existing
			check(t, "storage-controlplane-"+state, render(t, target, simulated(t, plane, state), "controlplane"))
		})
	}
}

// TestCloudComposesClaimsInItsNamespace checks the claims that an OpenStackCluster composes in the namespace of its own claim.
func TestCloudComposesClaimsInItsNamespace(t *testing.T) {
	if script == "" {
		t.Skip("run by `make render`, which builds the crossplane CLI first")
	}
	target := serve(t)
	claim, err := examples.Files.ReadFile("cloud/claim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		t.Run(state, func(t *testing.T) {
			w := simulated(t, newParent(t, claim), state)
			w.RequiredResources = nil // It requires none, and the composed claims are observed resources.
			check(t, "claim-cloud-"+state, render(t, target, w, "cloud"))
		})
	}
}

// serve starts the function like the package's image, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wire.Register()
	go func() {
		s := &function.Server{Kinds: kinds.Runners(), Log: logging.NewNopLogger()}
		if err := sdk.Serve(s, sdk.Listen("tcp", address), sdk.Insecure(true), sdk.WithMetricsServer("")); err != nil {
			fmt.Fprintln(os.Stderr, "the function stopped:", err)
		}
	}()
	for range 100 {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
	}
	return address
}

func newParent(t *testing.T, claim []byte) *simulate.Cluster {
	t.Helper()
	w, err := preview.NewCluster(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newKeystone returns the Keystone that a claim's control plane composes.
func newKeystone(t *testing.T, claim []byte) *simulate.Cluster {
	t.Helper()
	w := newParent(t, claim)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	rsp := w.Kinds[controlplanev1.CompositeGroupVersionKind.GroupKind().String()].Run(w.Request())
	return &simulate.Cluster{XR: rsp.Composed["keystone"].Object.Tree(), Kinds: w.Kinds}
}

// simulated calls the function as often as the state requires.
func simulated(t *testing.T, w *simulate.Cluster, state string) *simulate.Cluster {
	t.Helper()
	full := &simulate.Cluster{
		XR: w.XR, Kinds: w.Kinds, Required: w.Required, RequiredResources: w.RequiredResources, Nested: w.Nested, Admit: w.Admit,
	}
	calls := 0
	for done := false; !done; calls++ {
		done = call(t, full)
	}
	switch state {
	case "half":
		for range calls / 2 {
			call(t, w)
		}
		createDesired(w)
	case "ready":
		return full
	}
	return w
}

func call(t *testing.T, w *simulate.Cluster) (done bool) {
	t.Helper()
	done, err := w.Call(func(simulate.Step) {})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// createDesired makes the next desired resources exist, but not ready.
func createDesired(w *simulate.Cluster) {
	rsp := w.Kinds[compose.KindOf(w.XR).GroupKind().String()].Run(w.Request())
	for name, r := range rsp.Composed {
		if w.Observed[name] == nil {
			w.Observed[name] = simulate.Exist(r.Object)
		}
	}
}

// render runs the crossplane CLI on a simulation.
func render(t *testing.T, target string, w *simulate.Cluster, kind string) []byte {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, docs ...*structpb.Struct) string {
		var b bytes.Buffer
		for _, d := range docs {
			fmt.Fprintf(&b, "---\n%s", manifest.YAML(d))
		}
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	root := filepath.Join("..", "..")
	args := []string{
		file("xr.yaml", w.XR), filepath.Join(root, "compositions", kind+".yaml"), target,
		"--xrd", filepath.Join(root, "apis", kind, "definition.yaml"),
	}
	if required := w.Required["platform"]; len(required) > 0 {
		// With the policies that docs/ci.md passes to a job without a cluster.
		args = append(args, "-e", file("required.yaml", append(required, w.RequiredResources...)...), "-e", filepath.Join(root, "examples", "platform", "admission.yaml"))
	}
	if len(w.Observed) > 0 {
		args = append(args, "-o", file("observed.yaml", named(w.Observed)...))
	}
	cmd := exec.Command(script, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("crossplane render: %v\n%s", err, stderr.String())
	}
	return out
}

// named returns observed objects with the annotation by which Crossplane identifies them.
func named(observed map[string]encoded.Struct) []*structpb.Struct {
	var out []*structpb.Struct
	for name, o := range observed {
		named := o.With(encoded.Text(name), "metadata", "annotations", "crossplane.io/composition-resource-name")
		out = append(out, named.Tree())
	}
	return out
}

func check(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: crossplane renders something else than the golden file (-want, +got); look at it, then run with -update:\n%s", name, diff)
	}
}
