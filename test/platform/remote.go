package platform

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// remoteUser is as whom the provider comes to the remote cluster.
const remoteUser = "crossplane"

// remote waits until the remote cluster serves, if there is one.
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

// reachRemote installs our chart in the remote cluster, for workloads, and returns the provider the way there.
func (p *Platform) reachRemote(ctx, background context.Context, x *crossplane) error {
	if p.Remote == nil {
		return nil
	}
	if err := p.helm(ctx, p.Remote, chartOf(p.options.Tree), map[string]any{
		"mode":     "workload",
		"workload": map[string]any{"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": remoteUser}}},
	}); err != nil {
		return err
	}
	var err error
	if p.RemoteOperators, err = p.startFakes(background, p.Remote); err != nil {
		return err
	}
	if err := p.Remote.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": namespace, "name": remoteUser},
	}}); err != nil {
		return err
	}
	kubeconfig, err := p.Remote.serviceAccount(ctx, remoteUser)
	if err != nil {
		return err
	}
	return x.providerConfigs(ctx, p.Remote.Name, kubeconfig)
}
