package platform

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/registry"
)

// The packages have their published names. Crossplane is configured to fetch them from the local registry.
const (
	project      = "ghcr.io/c5c3"
	providers    = "xpkg.upbound.io/upbound"
	providerName = "upbound-provider-kubernetes" // as Crossplane would call it when it installs it for a package that needs it
)

// providerModule is the Go module of provider-kubernetes.
const providerModule = "github.com/crossplane-contrib/provider-kubernetes"

// packageKind returns a kind of Crossplane's package manager.
func packageKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: kind}
}

// images fills a registry: with the packages of a folder that `make package` created, or, without one, with packages
// built from this tree; and with provider-kubernetes from its module. The tag is the tag of this project's packages.
func images(root, packages, tag, provider, providerVersion string) (*registry.Registry, error) {
	r := registry.New()
	if packages != "" {
		if err := r.AddLayout(filepath.Join(packages, "oci"), func(name string) string { return "c5c3/" + name }); err != nil {
			return nil, fmt.Errorf("cannot read the packages in %s (make package makes them): %w", packages, err)
		}
	} else if err := addTree(r, root, tag); err != nil {
		return nil, fmt.Errorf("cannot make packages of this tree: %w", err)
	}
	definitions, err := filepath.Glob(filepath.Join(provider, "package", "crds", "*.yaml"))
	if err != nil {
		return nil, err
	}
	stream, err := stream(append([]string{filepath.Join(provider, "package", "crossplane.yaml")}, definitions...)...)
	if err != nil {
		return nil, err
	}
	return r, r.AddPackage("upbound/provider-kubernetes", providerVersion, stream)
}

// addTree adds the packages of this tree. They contain no program: it runs here.
func addTree(r *registry.Registry, root, tag string) error {
	if err := addFunction(r, root, "function-cobaltcore", tag); err != nil {
		return err
	}
	configuration, err := configurationOf(root)
	if err != nil {
		return err
	}
	return r.AddPackage("c5c3/configuration-cobaltcore", tag, configuration)
}

// configurationOf returns the content of the Configuration of a tree.
func configurationOf(root string) ([]byte, error) {
	files := []string{filepath.Join(root, "package", "configuration", "crossplane.yaml")}
	compositions, err := filepath.Glob(filepath.Join(root, "compositions", "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, c := range compositions {
		files = append(files, filepath.Join(root, "apis", strings.TrimSuffix(filepath.Base(c), ".yaml"), "definition.yaml"), c)
	}
	return stream(files...)
}

// addFunction adds the function's package under a name.
func addFunction(r *registry.Registry, root, name, tag string) error {
	function, err := stream(filepath.Join(root, "package", "function", "crossplane.yaml"))
	if err != nil {
		return err
	}
	return r.AddPackage("c5c3/"+name, tag, function)
}

// stream joins YAML files.
func stream(files ...string) ([]byte, error) {
	var out bytes.Buffer
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(bytes.TrimSpace(data))
		out.WriteString("\n")
	}
	return out.Bytes(), nil
}

// rewrite configures Crossplane to fetch images with a prefix from the local registry.
func rewrite(r *registry.Registry, name, prefix, path string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1beta1",
		"kind":       "ImageConfig",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"matchImages":  []any{map[string]any{"prefix": prefix}},
			"rewriteImage": map[string]any{"prefix": r.Address() + "/" + path},
		},
	}}
}

// providerPackage returns the package of provider-kubernetes as a platform team installs it: with the runtime config of
// the chart, which grants its permissions.
func providerPackage(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1",
		"kind":       "Provider",
		"metadata":   map[string]any{"name": providerName},
		"spec": map[string]any{
			"package": providers + "/provider-kubernetes:" + version,
			"runtimeConfigRef": map[string]any{
				"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig", "name": "provider-kubernetes",
			},
		},
	}}
}

// runtime acts as an external runtime of functions for Crossplane: it sets the endpoint of every revision. It runs
// until the context ends.
func (x *crossplane) runtime(ctx context.Context, endpoint func(image string) string) {
	const pause = 300 * time.Millisecond
	for {
		list, err := x.List(ctx, packageKind("FunctionRevision"), "")
		for i := range list {
			image, _, _ := unstructured.NestedString(list[i].Object, "spec", "image")
			if at := endpoint(image); at != "" {
				err = errors.Join(err, x.runs(ctx, &list[i], at))
			}
		}
		if err != nil && ctx.Err() == nil {
			_ = os.WriteFile(x.File("runtime.log"), []byte(err.Error()+"\n"), 0o644)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// runs sets the endpoint of a revision's function.
func (x *crossplane) runs(ctx context.Context, revision *unstructured.Unstructured, endpoint string) error {
	at, _, _ := unstructured.NestedString(revision.Object, "status", "endpoint")
	if c, ok := ConditionOf(revision, "RuntimeHealthy"); ok && c.Status == "True" && at == endpoint {
		return nil
	}
	name, _, _ := unstructured.NestedString(revision.Object, "spec", "tlsServerSecretName")
	if name == "" {
		name = revision.GetName() + "-tls"
	}
	if err := x.serverSecret(ctx, name); err != nil {
		return err
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": revision.GetAPIVersion(),
		"kind":       revision.GetKind(),
		"metadata":   map[string]any{"name": revision.GetName()},
		"status": map[string]any{
			"endpoint":            endpoint,
			"tlsServerSecretName": name,
			"conditions": []any{map[string]any{
				"type": "RuntimeHealthy", "status": "True", "reason": "ExternalProcess",
				"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
			}},
		},
	}}
	return x.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), owner, client.ForceOwnership)
}

// serverSecret creates the Secret of a function's server certificate, which the package manager requires.
func (x *crossplane) serverSecret(ctx context.Context, name string) error {
	data := map[string]any{}
	for _, file := range []string{"tls.crt", "tls.key", "ca.crt"} {
		content, err := os.ReadFile(filepath.Join(x.serverCertificate(), file))
		if err != nil {
			return err
		}
		data[file] = base64Of(content)
	}
	return x.apply(ctx, secretObject(namespace, name, data))
}

func namespaceObject(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
}

func secretObject(namespace, name string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     data,
	}}
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func secretData(u *unstructured.Unstructured) (map[string][]byte, error) {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	var s corev1.Secret
	err = json.Unmarshal(data, &s)
	return s.Data, err
}

// chartVersion returns the version of the chart, which is also the version of the packages that it installs.
func chartVersion(chart string) (string, error) {
	data, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	var c struct {
		AppVersion string `json:"appVersion"`
	}
	err = yaml.Unmarshal(data, &c)
	return c.AppVersion, err
}
