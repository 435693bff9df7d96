//go:build linux

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/externalsecrets"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// operator is an operator of another project. It runs with its original manifests and permissions: only the program is
// provided, under the name of the image in the manifests.
type operator struct {
	name      string
	namespace string
	// tool of hack/tools with its program; empty: External Secrets, which is built separately.
	tool string
	// module with its manifests: in the tool's version, or in a separate one.
	module string
	// chart or kustomization is the folder in the module with its manifests, definitions a folder with its CRDs.
	chart, kustomization, definitions string
	// values of the chart.
	values string
	// without lists the objects that are omitted, by kind or by kind/name.
	without []string
	// library is the folder in the module with a chart on which its chart depends.
	library string
	// files are folders in the module, whose files the image has, too, in a folder of its root.
	files map[string]string
	// base is an image of another project to which its program is added, as bin; empty: the image contains only its
	// program.
	base, bin string
}

// rook creates Ceph from its objects, and runs in Ceph's image with its program added, as the released one does.
var rook = operator{
	name: "rook-ceph", namespace: "rook-ceph", tool: "rook",
	module: "github.com/rook/rook", chart: "deploy/charts/rook-ceph", library: "deploy/charts/library",
	base: cephImage, bin: "usr/local/bin/rook",
	// Devices are files (Node.Device), and nothing mounts a volume: the drivers would need images that are not there.
	values: `{allowLoopDevices: true, csi: {` +
		`rookUseCsiOperator: false, disableCsiDriver: "true", enableRbdDriver: false, enableCephfsDriver: false}}`,
}

// certManager issues certificates.
var certManager = operator{
	name: "cert-manager", namespace: "cert-manager", tool: "cert-manager",
	module: "github.com/cert-manager/cert-manager", chart: "deploy/charts/cert-manager", definitions: "deploy/crds",
	// The program here contains only the controllers: see hack/tools/cert-manager. They have no probes.
	values: `{livenessProbe: {enabled: false}, startupapicheck: {enabled: false}}`,
	without: []string{
		"Deployment/cert-manager-webhook", "Deployment/cert-manager-cainjector",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	},
}

// externalSecrets brings Secrets from where they are to where they are read.
var externalSecrets = operator{
	name: "external-secrets", namespace: "external-secrets",
	module: externalsecrets.Module, chart: "deploy/charts/external-secrets", definitions: "config/crds/bases",
	values: `{installCRDs: false}`,
}

// controlPlaneOperators are the operators that control planes need, in the order of their installation.
var controlPlaneOperators = []operator{
	certManager,
	externalSecrets,
	{
		name: "mariadb-operator", namespace: "mariadb-system", tool: "mariadb-controller",
		module: "github.com/mariadb-operator/mariadb-operator/v25", chart: "deploy/charts/mariadb-operator", definitions: "config/crd/bases",
	},
	{
		name: "rabbitmq-cluster-operator", namespace: "rabbitmq-system", tool: "rabbitmq-cluster-operator",
		module: "github.com/rabbitmq/cluster-operator/v2", kustomization: "config/installation",
	},
	{
		name: "rabbitmq-topology-operator", namespace: "rabbitmq-system", tool: "rabbitmq-topology-operator",
		module: "github.com/rabbitmq/messaging-topology-operator", kustomization: "config/installation",
		// cert-manager's CA is not injected into its webhooks.
		without: []string{"ValidatingWebhookConfiguration"},
	},
	{
		name: "k-orc", namespace: "orc-system", tool: "k-orc",
		module: "github.com/k-orc/openstack-resource-controller/v2", kustomization: "config/default",
	},
}

// renderer renders the manifests of operators.
type renderer struct {
	root, folder, helm string
	log                io.Writer
}

// newRenderer returns a renderer with a folder for its output.
func newRenderer(root string, log io.Writer) (renderer, error) {
	folder, err := Folder()
	r := renderer{root: root, folder: folder, helm: filepath.Join(folder, "bin", "helm"), log: log}
	return r, errors.Join(err, os.MkdirAll(filepath.Join(folder, "operators"), 0o755))
}

// install creates the images and the manifests of an operator.
func (r renderer) install(ctx context.Context, o operator) error {
	source, program, err := r.build(ctx, o)
	if err != nil {
		return err
	}
	objects, err := r.render(ctx, o, source)
	if err != nil {
		return err
	}
	more, err := filesOf(source, o.files)
	if err != nil {
		return err
	}
	l := layout{filepath.Join(r.folder, "images")}
	for _, i := range imagesOf(objects) {
		if i.program == "" {
			i.program = o.name
		}
		if o.base != "" {
			err = l.within(i.name, withoutRegistry(o.base), o.bin, program)
		} else {
			err = l.program(i.name, i.program, program, more...)
		}
		if err != nil {
			return fmt.Errorf("cannot make its image: %w", err)
		}
	}
	var out bytes.Buffer
	for _, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "---\n%s", data)
	}
	return os.WriteFile(filepath.Join(r.folder, "operators", o.name+".yaml"), out.Bytes(), 0o644)
}

// filesOf returns the files of folders in a module, for an image.
func filesOf(source string, folders map[string]string) ([]file, error) {
	var out []file
	for from, to := range folders {
		entries, err := os.ReadDir(filepath.Join(source, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		out = append(out, file{to + "/", 0o755, nil})
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(from), e.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, file{to + "/" + e.Name(), 0o644, data})
		}
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// build returns the folder of an operator's module, and its program.
func (r renderer) build(ctx context.Context, o operator) (source, program string, err error) {
	if o.tool == "" {
		return externalsecrets.Build(ctx, r.folder, r.log)
	}
	if program, err = install.Tool(ctx, r.root, o.tool, r.log); err != nil {
		return "", "", err
	}
	source, err = output(ctx, filepath.Join(r.root, "hack", "tools", o.tool), "go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", o.module)
	return strings.TrimSpace(source), program, err
}

// render returns an operator's objects, its definitions first.
func (r renderer) render(ctx context.Context, o operator, source string) ([]*unstructured.Unstructured, error) {
	text, err := r.manifests(ctx, o, source)
	if err != nil {
		return nil, err
	}
	if o.definitions != "" {
		files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(o.definitions), "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			text += "\n---\n" + string(data)
		}
	}
	all, err := platform.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "Kustomization" || u.GetKind() == "Namespace" ||
			slices.Contains(o.without, u.GetKind()) || slices.Contains(o.without, u.GetKind()+"/"+u.GetName())
	})
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return installOrder(a) - installOrder(b) })
	return all, nil
}

// installOrder returns the position of an object in the installation: kinds first, then the objects that a pod needs,
// then pods, and last the objects that need these.
func installOrder(u *unstructured.Unstructured) int {
	switch u.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "Deployment":
		return 2
	case "ValidatingWebhookConfiguration":
		return 3
	}
	return 1
}

// manifests renders an operator's chart or kustomization.
func (r renderer) manifests(ctx context.Context, o operator, source string) (string, error) {
	if o.kustomization != "" {
		return output(ctx, r.folder, filepath.Join(r.folder, "bin", "kubectl"),
			"kustomize", filepath.Join(source, filepath.FromSlash(o.kustomization)))
	}
	scratch, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	chart := filepath.Join(scratch, o.name)
	if err := os.CopyFS(chart, os.DirFS(filepath.Join(source, filepath.FromSlash(o.chart)))); err != nil {
		return "", err
	}
	if err := released(chart, source[strings.LastIndex(source, "@v")+2:]); err != nil {
		return "", err
	}
	if o.library != "" {
		library := filepath.Join(source, filepath.FromSlash(o.library))
		if err := os.CopyFS(filepath.Join(chart, "charts", filepath.Base(library)), os.DirFS(library)); err != nil {
			return "", err
		}
	}
	values := filepath.Join(scratch, "values.yaml")
	if err := os.WriteFile(values, []byte(o.values), 0o600); err != nil {
		return "", err
	}
	return output(ctx, r.folder, r.helm, "template", o.name, chart, "--namespace", o.namespace, "--values", values)
}

// released makes the chart of a module's sources renderable: without missing dependencies, and with the module's
// version, which a release would set.
func released(chart, version string) error {
	path := filepath.Join(chart, "Chart.yaml")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join(chart, "Chart.template.yaml"))
	}
	if err != nil {
		return err
	}
	about := map[string]any{}
	// Values that a release fills in are in braces.
	if err := yaml.Unmarshal(bytes.ReplaceAll(data, []byte("{{IS_PRERELEASE}}"), []byte("false")), &about); err != nil {
		return err
	}
	delete(about, "dependencies")
	before, _ := about["appVersion"].(string)
	about["version"], about["appVersion"] = version, version
	if strings.HasPrefix(before, "v") {
		about["appVersion"] = "v" + version
	}
	if data, err = yaml.Marshal(about); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(chart, "Chart.lock")); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// requestedImage is an image in a Deployment, and the program that it starts in it; empty: the image's entry point.
type requestedImage struct{ name, program string }

// imagesOf returns the images of Deployments.
func imagesOf(objects []*unstructured.Unstructured) []requestedImage {
	var out []requestedImage
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			m, _ := c.(map[string]any)
			a := requestedImage{}
			a.name, _ = m["image"].(string)
			if command, _ := m["command"].([]any); len(command) > 0 {
				a.program, _ = command[0].(string)
				a.program = strings.TrimPrefix(a.program, "/")
			}
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Operators installs the operators of a kit and waits until they run.
func (n *Node) Operators(ctx context.Context, k PlatformServices) error {
	for _, f := range k.folders {
		if err := own(f); err != nil {
			return err
		}
	}
	if err := n.deploy(ctx, k.operators...); err != nil {
		return err
	}
	if k.queues {
		if err := n.queues(ctx); err != nil {
			return fmt.Errorf("cannot make the authority of queues: %w", err)
		}
	}
	n.logf("the operators run")
	return nil
}

// queues creates the CA of queues, and makes the operator of their objects trust it, as described in docs/install.md.
func (n *Node) queues(ctx context.Context) error {
	authority, err := examples.Files.ReadFile("queues/authority.yaml")
	if err != nil {
		return err
	}
	if err := n.Apply(ctx, authority); err != nil {
		return err
	}
	patch, err := examples.Files.ReadFile("queues/topology-operator.yaml")
	if err != nil {
		return err
	}
	if patch, err = yaml.YAMLToJSON(patch); err != nil {
		return err
	}
	const namespace = "rabbitmq-system"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "messaging-topology-operator"}}
	if err := n.Client.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return err
	}
	return n.WaitDeployments(ctx, namespace)
}

// deploy installs operators and waits until they run.
func (n *Node) deploy(ctx context.Context, all ...operator) error {
	folder, err := Folder()
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := n.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+o.namespace+"}}")); err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, "operators", o.name+".yaml"))
		if err != nil {
			return err
		}
		objects, err := platform.Decode(data)
		if err != nil {
			return err
		}
		for _, u := range objects {
			place(u, o.namespace)
			// Kinds and webhooks that were installed before become available with a delay.
			if err := n.processes.Wait(ctx, u.GetKind()+" "+u.GetName(), func(ctx context.Context) (bool, error) {
				err := n.apply(ctx, u.DeepCopy())
				return err == nil, err
			}); err != nil {
				return fmt.Errorf("cannot install %s: %w", o.name, err)
			}
		}
	}
	for _, o := range all {
		if err := n.WaitDeployments(ctx, o.namespace); err != nil {
			return err
		}
	}
	return nil
}

// clusterScoped are kinds without a namespace that manifests of operators have.
var clusterScoped = []string{
	"APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
}

// place sets the operator's namespace on an object without one: charts leave that to helm.
func place(u *unstructured.Unstructured, namespace string) {
	if u.GetNamespace() == "" && !slices.Contains(clusterScoped, u.GetKind()) {
		u.SetNamespace(namespace)
	}
}

// output runs a program to completion in a folder, and returns its output.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), args[0], err, stderr.Bytes())
	}
	return string(out), nil
}
