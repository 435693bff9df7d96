package platform

import (
	"context"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

// local is the name of the provider configs for the management cluster itself.
const local = "in-cluster"

// provider starts provider-kubernetes with its service account, which gets its permissions from the chart and from
// Crossplane's RBAC manager.
func (x *crossplane) provider(ctx context.Context) error {
	kubeconfig, err := x.serviceAccount(ctx, "provider-kubernetes")
	if err != nil {
		return err
	}
	// The last of the permissions that Crossplane's RBAC manager grants to a provider. A provider that starts earlier
	// lists the kinds only once, and exits; a pod would be restarted.
	if err := x.waitForPermission(ctx, "provider-kubernetes", "watch", definitionResource); err != nil {
		return err
	}
	ports, err := kubernetes.FreePorts(2)
	if err != nil {
		return err
	}
	if err := x.processes.Start("provider-kubernetes", "provider-kubernetes",
		[]string{env("KUBECONFIG", kubeconfig), env("TLS_SERVER_CERTS_DIR", x.serverCertificate())},
		"--enable-watches", "--webhook-port="+strconv.Itoa(ports[0]), "--health-probe-bind-addr="+kubernetes.Address(ports[1]),
		"--metrics-bind-address=0",
	); err != nil {
		return err
	}
	return x.providerConfigs(ctx, local, kubeconfig)
}

// kubeconfigKey is the key of a kubeconfig in a Secret.
const kubeconfigKey = "kubeconfig"

// kubeconfigSecret returns the name of the Secret with the kubeconfig of a cluster.
func kubeconfigSecret(cluster string) string { return "kubeconfig-" + cluster }

// providerConfigs creates the configurations of provider-kubernetes for a cluster: for Objects with a namespace and
// without.
func (x *crossplane) providerConfigs(ctx context.Context, name, kubeconfig string) error {
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	secret := kubeconfigSecret(name)
	config := func(apiVersion, kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind,
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{"credentials": map[string]any{
				"source":    "Secret",
				"secretRef": map[string]any{"namespace": namespace, "name": secret, "key": kubeconfigKey},
			}},
		}}
	}
	return x.applyAll(ctx, []*unstructured.Unstructured{
		secretObject(namespace, secret, map[string]any{kubeconfigKey: base64Of(data)}),
		config("kubernetes.crossplane.io/v1alpha1", "ProviderConfig"),
		config("kubernetes.m.crossplane.io/v1alpha1", "ClusterProviderConfig"),
	})
}
