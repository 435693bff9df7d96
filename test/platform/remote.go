package platform

import (
	"context"
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
	if err := p.helm(ctx, c, chartOf(p.options.Tree), map[string]any{
		"mode":     "workload",
		"workload": map[string]any{"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": remoteUser}}},
	}); err != nil {
		return nil, err
	}
	fakes, err := p.startFakes(background, c)
	if err != nil {
		return nil, err
	}
	if err := c.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": namespace, "name": remoteUser},
	}}); err != nil {
		return nil, err
	}
	kubeconfig, err := c.serviceAccount(ctx, remoteUser)
	if err != nil {
		return nil, err
	}
	return fakes, x.providerConfigs(ctx, c.Name, kubeconfig)
}

// AddCluster starts an additional cluster for workloads, whose fakes share the store of the others. The PlatformConfig
// has to offer it to claims.
func (p *Platform) AddCluster(ctx context.Context, name string) (*Cluster, error) {
	p.added = append(p.added, name)
	c, err := startCluster(name, filepath.Join(p.Dir, name), false, p.processes)
	if err != nil {
		return nil, err
	}
	if err := c.serving(ctx); err != nil {
		return nil, err
	}
	if err := c.define(ctx, p.foreign); err != nil {
		return nil, err
	}
	_, err = p.setUpCluster(ctx, p.background, p.crossplane, c)
	return c, err
}
