package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

// functionName is the name of the Function, as Compositions name it; functionImage is its package.
const (
	functionName  = "c5c3-function-cobaltcore"
	functionImage = project + "/function-cobaltcore"

	configurationName = "c5c3-configuration-cobaltcore"
)

// install installs the project as a platform team does: the provider, then the chart, which installs the packages.
func (p *Platform) install(ctx, background context.Context, x *crossplane, provider string) error {
	chart := chartOf(p.options.Tree)
	version, err := chartVersion(chart)
	if err != nil {
		return err
	}
	providerVersion := provider[strings.LastIndex(provider, "@")+1:]
	if p.registry, err = images(p.options.Tree, p.options.Packages, "v"+version, provider, providerVersion); err != nil {
		return err
	}
	if err := p.registry.Serve(ctx, kubernetes.Address(0)); err != nil {
		return err
	}
	p.program = functionProgram
	if err := p.startFunction(p.program, functionImage+":v"+version); err != nil {
		return err
	}
	go x.runtime(background, p.functions.of)
	if err := x.applyAll(ctx, []*unstructured.Unstructured{
		rewrite(p.registry, "cobaltcore", project, "c5c3"),
		rewrite(p.registry, "upbound", providers, "upbound"),
		providerPackage(providerVersion),
	}); err != nil {
		return err
	}
	if err := p.helm(ctx, p.Cluster, chart, managementValues("")); err != nil {
		return err
	}
	if p.Operators, err = p.startFakes(background, p.Cluster); err != nil {
		return err
	}
	p.logf("the chart is installed")
	if err := together(ctx,
		func(ctx context.Context) error { return x.provider(ctx) },
		func(ctx context.Context) error { return p.connectRemoteCluster(ctx, background, x) },
		func(ctx context.Context) error { return p.healthy(ctx, "Function", functionName) },
		func(ctx context.Context) error { return p.healthy(ctx, "Provider", providerName) },
		func(ctx context.Context) error {
			return p.healthy(ctx, "Configuration", configurationName)
		},
	); err != nil {
		return err
	}
	p.logf("the packages are healthy")
	return p.waitServed(ctx)
}

// managementValues returns the chart's values for the management cluster. The provider uses a kubeconfig here, as there
// is no pod. An empty version is the chart's default.
func managementValues(version string) map[string]any {
	return map[string]any{
		"provider": map[string]any{"configName": ""},
		"packages": map[string]any{"version": version},
	}
}

// PlatformTeam is the group that may set Crossplane's own fields of claims: the chart's default, which contains no
// permanent members.
const PlatformTeam = "cobaltcore:platform"

// helm installs the chart into a cluster.
func (p *Platform) helm(ctx context.Context, c *Cluster, chart string, values map[string]any) error {
	var config struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(p.options.PlatformConfig, &config); err != nil {
		return fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	values["platformConfig"] = map[string]any{"spec": config.Spec}
	data, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	file := c.File("values.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	_, err = p.processes.Run(ctx, "helm", p.helmEnvironment(c.Kubeconfig),
		"upgrade", "--install", "cobaltcore", chart, "--namespace="+namespace, "--create-namespace", "--values="+file)
	return err
}

// chartOf returns the folder of the chart in a tree.
func chartOf(tree string) string { return filepath.Join(tree, "package", "chart") }

// template returns the objects of a chart.
func (p *Platform) template(ctx context.Context, name, chart string) ([]*unstructured.Unstructured, error) {
	out, err := p.processes.Run(ctx, "helm", p.helmEnvironment(""), "template", name, chart, "--namespace="+namespace)
	if err != nil {
		return nil, err
	}
	return Decode(out)
}

// helmEnvironment sets the folders of helm and of its Kubernetes client.
func (p *Platform) helmEnvironment(kubeconfig string) []string {
	home := filepath.Join(p.Dir, "helm")
	return []string{
		env("KUBECONFIG", kubeconfig), env("KUBECACHEDIR", home),
		env("HELM_CACHE_HOME", home), env("HELM_CONFIG_HOME", home), env("HELM_DATA_HOME", home),
	}
}

func (p *Platform) healthy(ctx context.Context, kind, name string) error {
	return p.WaitCondition(ctx, packageKind(kind), types.NamespacedName{Name: name}, "Healthy", "True")
}

// waitServed waits until every definition has its API.
func (p *Platform) waitServed(ctx context.Context) error {
	kind := schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositeResourceDefinition"}
	all, err := p.List(ctx, kind, "")
	if err != nil {
		return err
	}
	for _, d := range all {
		if err := p.WaitCondition(ctx, kind, types.NamespacedName{Name: d.GetName()}, "Established", "True"); err != nil {
			return err
		}
		if _, claimed, _ := unstructured.NestedMap(d.Object, "spec", "claimNames"); !claimed {
			continue
		}
		if err := p.WaitCondition(ctx, kind, types.NamespacedName{Name: d.GetName()}, "Offered", "True"); err != nil {
			return err
		}
	}
	return nil
}
