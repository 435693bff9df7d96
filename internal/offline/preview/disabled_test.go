package preview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

func TestDisabled(t *testing.T) {
	const controlPlane = "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nspec: "
	is := func(path string) string {
		return path + " has settings and is not enabled; set " + path + ".enabled to true, or to false to keep the settings for later"
	}
	for name, tc := range map[string]struct {
		reason, claim string
		want          []string
	}{
		"Service":    {"A service is off by default.", controlPlane + "{services: {nova: {replicas: 3}}}", []string{is("spec.services.nova")}},
		"Several":    {"All are named.", controlPlane + "{services: {heat: {replicas: 1}, cinder: {replicas: 1}}}", []string{is("spec.services.cinder"), is("spec.services.heat")}},
		"Monitoring": {"Its default is the platform's value.", controlPlane + "{global: {monitoring: {labels: {a: b}}}}", nil},
		"Dashboard":  {"It has no other field.", "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: StorageCluster\nspec: {dashboard: {}}", nil},
		"Lifecycle": {
			"Pools have such components, too.", "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: HypervisorCluster\nspec: {lifecycle: {credentialsSecretRef: {name: x}}}",
			[]string{is("spec.lifecycle")},
		},
		"Namespaced": {
			"The namespaced form has the same fields.", "apiVersion: m.crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nspec: {tempest: {tests: {}}}",
			[]string{is("spec.tempest")},
		},
		"Enabled":  {"It has what the tenant expects.", controlPlane + "{services: {nova: {enabled: true, replicas: 3}}}", nil},
		"Later":    {"It is disabled on purpose.", controlPlane + "{services: {nova: {enabled: false, replicas: 3}}}", nil},
		"Empty":    {"An empty section has no settings.", controlPlane + "{services: {nova: {}}}", nil},
		"ByOther":  {"The proxy is on if its replicas are set.", controlPlane + "{infrastructure: {mariadb: {maxscale: {replicas: 2}}}}", nil},
		"Default":  {"The queue is on by default.", controlPlane + "{infrastructure: {rabbitmq: {replicas: 3}}}", nil},
		"Keystone": {"Keystone cannot be disabled.", controlPlane + "{services: {keystone: {replicas: 3}}}", nil},
		"Text":     {"The preview rejects it.", controlPlane + "{services: {nova: on}}", nil},
		"Unknown":  {"The preview rejects it.", "kind: Cloud\nspec: {nova: {replicas: 1}}", nil},
		"NoYAML":   {"The preview rejects it.", "{", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, preview.Disabled([]byte(tc.claim))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
