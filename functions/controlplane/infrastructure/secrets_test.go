package infrastructure

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestPullSecretType checks the type of pull secrets, because the kubelet ignores other types.
func TestPullSecretType(t *testing.T) {
	m, err := derive(t, "{global: {images: {pullSecrets: [registry]}}}", bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := m.Pull[1]
	if set.Type != corev1.SecretTypeDockerConfigJson || !set.Keep || len(set.Requests) != 1 || !slices.Equal(set.Requests[0].Keys, []string{".dockerconfigjson"}) {
		t.Errorf("set %+v", set)
	}
	if diff := cmp.Diff(m.Meta("claim-pull-secrets").Labels, set.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
