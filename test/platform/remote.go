package platform

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/platform/operators"
)

// remoteUser is the user of the provider in the remote cluster.
const remoteUser = "crossplane"

// remote waits until the remote cluster is ready, if there is one.
func (p *Platform) remote(ctx context.Context) error {
	if p.Remote == nil {
		return nil
	}
	return p.Remote.serving(ctx)
}

func (p *Platform) defineRemote(ctx context.Context, definitions []*unstructured.Unstructured) error {
	if p.Remote == nil {
		return nil
	}
	return p.Remote.define(ctx, definitions)
}

// connectRemoteCluster gives the provider access to the remote cluster.
func (p *Platform) connectRemoteCluster(ctx, background context.Context, x *crossplane) (err error) {
	if p.Remote == nil {
		return nil
	}
	p.RemoteOperators, err = p.setUpCluster(ctx, background, x, p.Remote)
	return err
}

// setUpCluster installs the chart in another cluster, for workloads, starts the fakes there, and configures the provider's
// access.
func (p *Platform) setUpCluster(ctx, background context.Context, x *crossplane, c *Cluster) (*operators.Operators, error) {
	fakes, kubeconfig, err := p.prepareCluster(ctx, background, c)
	if err != nil {
		return nil, err
	}
	return fakes, x.providerConfigs(ctx, c.Name, kubeconfig)
}

// prepareCluster installs the chart in another cluster, for workloads, and starts the fakes there. It returns the path of the kubeconfig of
// the provider's account.
func (p *Platform) prepareCluster(ctx, background context.Context, c *Cluster) (*operators.Operators, string, error) {
	if err := p.helm(ctx, c, chartOf(p.options.Tree), map[string]any{
		"mode":     "workload",
		"workload": map[string]any{"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": remoteUser}}},
	}); err != nil {
		return nil, "", err
	}
	fakes, err := p.startFakes(background, c)
	if err != nil {
		return nil, "", err
	}
	if err := c.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": namespace, "name": remoteUser},
	}}); err != nil {
		return nil, "", err
	}
	kubeconfig, err := c.serviceAccount(ctx, remoteUser)
	return fakes, kubeconfig, err
}

// AddCluster starts an additional cluster for workloads, whose fakes share the store of the others. The PlatformConfig
// has to offer it to claims.
func (p *Platform) AddCluster(ctx context.Context, name string) (*Cluster, error) {
	c, err := p.launchCluster(ctx, name)
	if err != nil {
		return nil, err
	}
	_, err = p.setUpCluster(ctx, p.background, p.crossplane, c)
	return c, err
}

// AddUnregisteredCluster is AddCluster without the provider configs, which a WorkloadCluster composes. It returns the name of a Secret in
// Crossplane's namespace with the kubeconfig of the provider's account.
func (p *Platform) AddUnregisteredCluster(ctx context.Context, name string) (c *Cluster, secret string, err error) {
	if c, err = p.launchCluster(ctx, name); err != nil {
		return nil, "", err
	}
	_, kubeconfig, err := p.prepareCluster(ctx, p.background, c)
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	secret = kubeconfigSecret(name)
	return c, secret, p.apply(ctx, secretObject(namespace, secret, map[string]any{kubeconfigKey: base64Of(data)}))
}

// launchCluster starts an additional cluster with the definitions of other projects.
func (p *Platform) launchCluster(ctx context.Context, name string) (*Cluster, error) {
	p.added = append(p.added, name)
	c, err := startCluster(name, filepath.Join(p.Dir, name), false, p.processes)
	if err != nil {
		return nil, err
	}
	if err := c.serving(ctx); err != nil {
		return nil, err
	}
	return c, c.define(ctx, p.foreign)
}
