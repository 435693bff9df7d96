//go:build linux

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Platform are the values of the chart for a node. There is no gateway, so services are reached directly.
const Platform = `
function: {replicas: 1}
platformConfig:
  spec:
    domain: cloud.example.com
    exposure: {type: None}
    tls: {enabled: true, issuerRef: {name: platform, kind: ClusterIssuer}}
    queueIssuer: queues
    storageClass: hostpath
    providerConfig: in-cluster
    network: {mariadbOperator: [mariadb-system]}
    thirdPartyImages: {ceph: {tag: v18.2.7}, rabbitmq: {tag: 4.0.5-management}}
    limits:
    - name: tests
      namespaces: ["tenant-*"]
      ingressClasses: [none]
      s3Endpoints: ["s3.object-store.svc:443"]
      hypervisorNetworks: [10.244.0.0/16]
      hypervisorNodes: [node-role.kubernetes.io/hypervisor]
      maxima: {runsPerHour: 60}
      storageNodes: [kubernetes.io/hostname=node]
      storageDevices: ["loop*"]
      storageNetworks: ["*"]
`

// system is Crossplane's namespace.
const system = "crossplane-system"

// crossplane is Crossplane itself, which docs/install.md installs with these values.
var crossplane = operator{
	name: "crossplane", namespace: system, tool: "crossplane-core-newest",
	module: "github.com/crossplane/crossplane/v2", chart: "cluster/charts/crossplane",
	values: `{args: [--circuit-breaker-burst=100000, --circuit-breaker-refill-rate=1000, --poll-interval=5m]}`,
	files:  map[string]string{"cluster/crds": "crds", "cluster/webhookconfigurations": "webhookconfigurations"},
}

// Upstream names of the packages, and local ones.
const (
	project  = "ghcr.io/c5c3"
	upbound  = "xpkg.upbound.io/upbound"
	provider = "upbound-provider-kubernetes"
)

// packages builds the packages and the companion's image of this tree, and the package of provider-kubernetes, each
// with its program.
func (r renderer) packages(ctx context.Context) error {
	l := layout{filepath.Join(r.folder, "images")}
	tag := "v" + release.Version
	for _, p := range []struct{ main, name, pkg string }{
		{"functions", project + "/function-cobaltcore:" + tag, "package/function/crossplane.yaml"},
		{"companion", project + "/crossplane-cobaltcore-companion:" + release.Version, ""},
	} {
		path := filepath.Join(r.folder, "bin", p.main)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./"+p.main)
		cmd.Dir, cmd.Env = r.root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build %s: %w\n%s", p.main, err, out)
		}
		var pkg []byte
		if p.pkg != "" {
			var err error
			if pkg, err = os.ReadFile(filepath.Join(r.root, filepath.FromSlash(p.pkg))); err != nil {
				return err
			}
		}
		if err := l.programPackage(p.name, p.main, path, pkg); err != nil {
			return err
		}
	}
	// Only the existing compositions are part of it.
	parts := []string{"package/configuration/crossplane.yaml"}
	compositions, err := filepath.Glob(filepath.Join(r.root, "compositions", "*.yaml"))
	if err != nil {
		return err
	}
	for _, c := range compositions {
		name := filepath.Base(c)
		parts = append(parts, "apis/"+strings.TrimSuffix(name, ".yaml")+"/definition.yaml", "compositions/"+name)
	}
	configuration, err := stream(r.root, parts...)
	if err != nil {
		return err
	}
	if err := l.add(project+"/configuration-cobaltcore:"+tag, map[string]any{}, []file{{"package.yaml", 0o644, configuration}}); err != nil {
		return err
	}
	if err := r.providerPackage(ctx, l); err != nil {
		return err
	}
	return l.prune() // an earlier tree's
}

// providerPackage creates the package of provider-kubernetes.
func (r renderer) providerPackage(ctx context.Context, l layout) error {
	path, err := install.Tool(ctx, r.root, "provider-kubernetes", r.log)
	if err != nil {
		return err
	}
	dir, err := output(ctx, filepath.Join(r.root, "hack", "tools", "provider-kubernetes"),
		"go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "github.com/crossplane-contrib/provider-kubernetes")
	if err != nil {
		return err
	}
	dir = strings.TrimSpace(dir)
	pkg, err := stream(dir, "package/crossplane.yaml", "package/crds/*.yaml")
	if err != nil {
		return err
	}
	return l.programPackage(upbound+"/provider-kubernetes:"+providerVersion, "provider", path, pkg)
}

// providerVersion is the version of docs/install.md and hack/tools.
const providerVersion = "v1.3.0"

// stream joins YAML files of a folder.
func stream(dir string, globs ...string) ([]byte, error) {
	var out bytes.Buffer
	for _, g := range globs {
		all, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(g)))
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("there is no %s in %s", g, dir)
		}
		for _, f := range all {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "---\n%s\n", bytes.TrimSpace(data))
		}
	}
	return out.Bytes(), nil
}

// Crossplane installs Crossplane with its normal package runtime, and this project as described in docs/install.md.
// Packages are pulled from the local registry. Values are values of the chart. The node is ready for claims when this
// returns.
func (n *Node) Crossplane(ctx context.Context, root, values string) error {
	if err := n.deploy(ctx, crossplane); err != nil {
		return err
	}
	n.logf("Crossplane runs")
	for name, prefix := range map[string]string{"c5c3": project, "upbound": upbound} {
		if err := n.eventually(ctx, fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata: {name: %s}
spec:
  matchImages: [{prefix: %s}]
  rewriteImage: {prefix: "%s:%s/%s"}
`, name, prefix, nodeAddress, registryPort, name)); err != nil {
			return err
		}
	}
	if err := n.eventually(ctx, fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: %s}
spec: {package: "%s/provider-kubernetes:%s"}
`, provider, upbound, providerVersion)); err != nil {
		return err
	}
	if err := n.healthy(ctx, "Provider", provider); err != nil {
		return err
	}
	n.logf("the provider is healthy")
	if err := n.helm(ctx, filepath.Join(root, "package", "chart"), values); err != nil {
		return err
	}
	if err := n.eventually(ctx, fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: %s}
spec:
  package: "%s/provider-kubernetes:%s"
  runtimeConfigRef: {name: provider-kubernetes}
`, provider, upbound, providerVersion)); err != nil {
		return err
	}
	for kind, name := range map[string]string{
		"Function": "c5c3-function-cobaltcore", "Configuration": "c5c3-configuration-cobaltcore", "Provider": provider,
	} {
		if err := n.healthy(ctx, kind, name); err != nil {
			return err
		}
	}
	n.logf("the packages are healthy")
	return n.waitServed(ctx)
}

// waitServed waits until the API serves this project's kinds: a package is healthy earlier.
func (n *Node) waitServed(ctx context.Context) error {
	return n.processes.Wait(ctx, "the kinds of claims", func(ctx context.Context) (bool, error) {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion("apiextensions.crossplane.io/v1")
		all.SetKind("CompositeResourceDefinitionList")
		if err := n.Client.List(ctx, all); err != nil {
			return false, err
		}
		for i := range all.Items {
			desired := []string{"Established"}
			if _, ok, _ := unstructured.NestedMap(all.Items[i].Object, "spec", "claimNames"); ok {
				desired = append(desired, "Offered")
			}
			for _, w := range desired {
				if c, _ := platform.ConditionOf(&all.Items[i], w); c.Status != "True" {
					return false, fmt.Errorf("%s is not %s yet: %s", all.Items[i].GetName(), w, c.Message)
				}
			}
		}
		return len(all.Items) > 0, nil
	})
}

// helm installs the chart.
func (n *Node) helm(ctx context.Context, chart, values string) error {
	file := filepath.Join(n.state, "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(n.processes.Dir, "bin", "helm"), "upgrade", "--install", "cobaltcore", chart,
		"--namespace="+system, "--values="+file)
	home := filepath.Join(n.state, "helm")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.Kubeconfig, "KUBECACHEDIR="+home,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot install our chart: %w\n%s", err, out)
	}
	return nil
}

// eventually applies objects until the API accepts them.
func (n *Node) eventually(ctx context.Context, text string) error {
	return n.processes.Wait(ctx, "an object of the platform", func(ctx context.Context) (bool, error) {
		err := n.Apply(ctx, []byte(text))
		return err == nil, err
	})
}

// healthy waits until a package is healthy.
func (n *Node) healthy(ctx context.Context, kind, name string) error {
	return n.WaitCondition(ctx, schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: kind},
		types.NamespacedName{Name: name}, "Healthy")
}

// WaitCondition waits until a condition of an object is true, for the current generation if the condition has one. The
// error contains its conditions.
func (n *Node) WaitCondition(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, condition string) error {
	return n.processes.Wait(ctx, fmt.Sprintf("%s of %s %s", condition, kind.Kind, name), func(ctx context.Context) (bool, error) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		if err := n.Client.Get(ctx, name, u); err != nil {
			return false, err
		}
		c, ok := platform.ConditionOf(u, condition)
		if ok && c.Status == "True" && (c.ObservedGeneration == 0 || c.ObservedGeneration == u.GetGeneration()) {
			return true, nil
		}
		var requested []error
		for _, c := range platform.Conditions(u) {
			if c.Status != "True" {
				requested = append(requested, fmt.Errorf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
		}
		return false, errors.Join(requested...)
	})
}
