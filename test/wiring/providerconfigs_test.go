package wiring

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccessToClustersReadsTheNamedSecret(t *testing.T) {
	secretRef := func(namespace, name, key string) fields {
		return fields{"namespace": namespace, "name": name, "key": key}
	}
	cluster := fields{"kind": "WorkloadCluster", "spec": fields{"source": fields{"existing": fields{
		"kubeconfigSecretRef": secretRef("clusters", "south", "kubeconfig"),
	}}}}
	for name, c := range map[string]struct {
		reason string
		ref    fields
		want   []string
	}{
		"named":             {"The platform team creates the Secret.", secretRef("clusters", "south", "kubeconfig"), nil},
		"another namespace": {"A Secret of a tenant must not give access.", secretRef("tenant", "south", "kubeconfig"), []string{"ProviderConfig south reads key kubeconfig of Secret south in namespace tenant, which no WorkloadCluster names."}},
		"another key":       {"The key must exist.", secretRef("clusters", "south", "config"), []string{"ProviderConfig south reads key config of Secret south in namespace clusters, which no WorkloadCluster names."}},
	} {
		t.Run(name, func(t *testing.T) {
			access := object{group: "kubernetes.crossplane.io", kind: "ProviderConfig", name: "south", manifest: fields{
				"spec": fields{"credentials": fields{"source": "Secret", "secretRef": c.ref}},
			}}
			w := &inventory{inputs: []fields{cluster}, objects: []object{access}}
			w.checkProviderConfigs()
			if diff := cmp.Diff(c.want, w.findings); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
