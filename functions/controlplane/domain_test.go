package controlplane

import (
	"strings"
	"testing"
)

// TestServicesUseClusterDomainOfPlatform checks that services use the platform's cluster domain, and that Valkey, whose operator supports
// only the default domain, is rejected.
func TestServicesUseClusterDomainOfPlatform(t *testing.T) {
	other := queued[:len(queued)-1] + ", clusterDomain: kube.prod}"
	const want = "spec.infrastructure.valkey.enabled: valkey-operator supports only clusters whose DNS domain is cluster.local"
	if _, err := derive(input(t, virtual(""), other, nil)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	claim := "{infrastructure: {valkey: {enabled: false}}, " + virtual("")[1:]
	for platform, want := range map[string]string{other: "kube.prod", queued: ""} {
		m := derived(t, claim, platform)
		if got := m.ServiceBase(m.Services[0]).ClusterDomain; string(got) != want {
			t.Errorf("services get the cluster domain %q, want %q", got, want)
		}
	}
}
