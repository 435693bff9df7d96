package service

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestSchemaReleases checks that the effective release is supported by the schemas of all databases.
func TestSchemaReleases(t *testing.T) {
	type schema struct{ installed, previous string }
	for name, tc := range map[string]struct {
		reason        string
		desired       release.Release
		first, second schema
		effective     release.Release
		fallback      string
		wantErr       bool
	}{
		"New":          {"There is no schema yet.", "2026.1", schema{}, schema{}, "2026.1", "", false},
		"Half":         {"One of them is not expanded yet.", "2026.1", schema{"2026.1", "2025.2"}, schema{"2025.2", ""}, "2025.2", "2025.2", false},
		"Both":         {"Both are.", "2026.1", schema{"2026.1", "2025.2"}, schema{"2026.1", "2025.2"}, "2026.1", "2025.2", false},
		"NoWayBack":    {"One serves the earlier release no more.", "2026.1", schema{"2026.1", "2025.2"}, schema{"2026.1", ""}, "2026.1", "", false},
		"GivenUp":      {"The one that is not expanded has nothing to do.", "2025.2", schema{"2026.1", "2025.2"}, schema{"2025.2", ""}, "2025.2", "2025.2", false},
		"TooFar":       {"One of them cannot go there.", "2026.2", schema{"2026.1", ""}, schema{"2025.2", ""}, "", "", true},
		"AnotherThere": {"A new database does not block the others.", "2025.2", schema{"2025.2", ""}, schema{}, "2025.2", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]encoded.Struct{}
			for resource, is := range map[string]schema{"schema": tc.first, "schema-second": tc.second} {
				if is == (schema{}) {
					continue
				}
				o, err := encode.Struct(map[string]any{
					"apiVersion": "openstack.c5c3.io/v1alpha1", "kind": "DatabaseSync", "metadata": map[string]any{"name": resource},
					"status": map[string]any{"installedRelease": is.installed, "previousRelease": is.previous},
				})
				if err != nil {
					t.Fatal(err)
				}
				objects[resource] = o
			}
			observed, err := observe.New(objects)
			if err != nil {
				t.Fatal(err)
			}
			s := Base{Definition: &Definition{Databases: []Database{{Name: "first"}, {Name: "second"}}}, TargetRelease: tc.desired}
			if err := s.schemaReleases(observed); (err != nil) != tc.wantErr {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if !tc.wantErr && (s.Effective != tc.effective || s.Fallback != tc.fallback) {
				t.Errorf("%s: %s with a way back to %q, want %s and %q", tc.reason, s.Effective, s.Fallback, tc.effective, tc.fallback)
			}
		})
	}
}
