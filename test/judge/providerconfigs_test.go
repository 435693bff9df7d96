package judge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/judge"
)

func TestAccessToClustersReadsTheNamedSecret(t *testing.T) {
	secretRef := func(namespace, name, key string) map[string]any {
		return map[string]any{"namespace": namespace, "name": name, "key": key}
	}
	given := map[string]any{"kind": "WorkloadCluster", "spec": map[string]any{"source": map[string]any{"existing": map[string]any{
		"kubeconfigSecretRef": secretRef("clusters", "south", "kubeconfig"),
	}}}}
	for name, c := range map[string]struct {
		reason string
		ref    map[string]any
		want   []string
	}{
		"named":             {"The platform team creates the Secret.", secretRef("clusters", "south", "kubeconfig"), nil},
		"another namespace": {"A Secret of a tenant must not give access.", secretRef("tenant", "south", "kubeconfig"), []string{"ProviderConfig south reads key kubeconfig of Secret south in namespace tenant, which no WorkloadCluster names."}},
		"another key":       {"The key must exist.", secretRef("clusters", "south", "config"), []string{"ProviderConfig south reads key config of Secret south in namespace clusters, which no WorkloadCluster names."}},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge.Judge(judge.Cloud{Given: []map[string]any{given}, Objects: []judge.Object{{Manifest: map[string]any{
				"apiVersion": "kubernetes.crossplane.io/v1alpha1", "kind": "ProviderConfig", "metadata": map[string]any{"name": "south"},
				"spec": map[string]any{"credentials": map[string]any{"source": "Secret", "secretRef": c.ref}},
			}}}})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
