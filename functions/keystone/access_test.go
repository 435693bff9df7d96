package keystone

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestCatalogAccess verifies that K-ORC uses an application credential, which is rotated as configured.
func TestCatalogAccess(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   map[string]any
		want   map[string]any
	}{
		"Absent": {
			reason: "Every 90 days.",
			want:   map[string]any{"intervalDays": 90.0, "preRotationDays": 7.0, "gracePeriodDays": 1.0},
		},
		"All": {
			reason: "Zero is a number of days, too.",
			spec:   map[string]any{"intervalDays": 30.0, "preRotationDays": 0.0, "gracePeriodDays": 0.0, "suspend": true},
			want:   map[string]any{"intervalDays": 30.0, "preRotationDays": 0.0, "gracePeriodDays": 0.0, "suspend": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := desired(t, ready(t, xr(t, "small", set(tc.spec, "korcCredential"), set("root", "bootstrap", "adminUser"))))
			want := map[string]any{
				"target": "ApplicationCredential", "userName": "root", "secretName": "keystone-korc",
				"cloudCredentialsRef": map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"},
				"consumers":           []any{map[string]any{"kind": "SecretAggregate", "name": "keystone-korc-clouds"}},
			}
			maps.Copy(want, tc.want)
			if diff := cmp.Diff(want, all["korc-credential"]["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			// The consumer is the SecretAggregate that takes the Secret in.
			aggregate := all["korc-clouds"]
			if at(aggregate, "metadata", "name") != "keystone-korc-clouds" {
				t.Errorf("the consumer is %v", at(aggregate, "metadata", "name"))
			}
			for i, key := range []string{"application_credential_id", "application_credential_secret"} {
				ref := map[string]any{"name": "keystone-korc", "key": key}
				if diff := cmp.Diff(ref, at(aggregate, "spec", "sources", i, "secretKeyRef")); diff != "" {
					t.Errorf("source %d (-want +got):\n%s", i, diff)
				}
			}
			if text, _ := at(aggregate, "spec", "template", "clouds.yaml").(string); strings.Contains(text, "password") {
				t.Errorf("K-ORC gets the password: %s", text)
			}
		})
	}
}

// TestCatalogAccessOrder verifies that credentials are created after Keystone serves requests. The copy waits for its source.
func TestCatalogAccessOrder(t *testing.T) {
	w, stage, calls := &simulate.Cluster{XR: xr(t, "small"), Kinds: map[string]function.Runner{kind: New()}}, map[string]int{}, 0
	if err := w.Run(func(s simulate.Step) {
		calls++
		for _, name := range s.New {
			stage[name] = calls
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][2]string{{"deployment", "korc-credential"}, {"clouds", "korc-credential"}, {"clouds", "korc-clouds"}} {
		if stage[order[0]] == 0 || stage[order[0]] >= stage[order[1]] {
			t.Errorf("%s appears in call %d, %s in call %d", order[0], stage[order[0]], order[1], stage[order[1]])
		}
	}
}

// TestSecretAggregateReadsPasswords verifies that a deleted Secret of a password, which is not created again, is reported by the
// SecretAggregate that reads it.
func TestSecretAggregateReadsPasswords(t *testing.T) {
	sources, _ := at(desired(t, ready(t, xr(t, "small")))["clouds"], "spec", "sources").([]any)
	got := map[any]bool{}
	for _, s := range sources {
		got[at(s, "secretKeyRef", "name")] = true
	}
	for _, name := range []string{"keystone-admin", "keystone-database"} {
		if !got[name] {
			t.Errorf("no SecretAggregate reads Secret %s", name)
		}
	}
}

// TestCloudsYAMLSelectsInternalEndpoints verifies that each clouds.yaml selects the internal endpoints. K-ORC reads endpoint_type only;
// without it, it fails silently if it cannot reach the public endpoints.
func TestCloudsYAMLSelectsInternalEndpoints(t *testing.T) {
	all := desired(t, ready(t, xr(t, "small")))
	text, _ := at(all["korc-clouds"], "spec", "template", "clouds.yaml").(string)
	for _, want := range []string{"\n    interface: internal\n", "\n    endpoint_type: internal\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("K-ORC's clouds.yaml lacks %q:\n%s", want, text)
		}
	}
}
