package keystone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestReleaseChangesAfterSchemaUpgrade verifies that the running release differs from the desired one until the schema is upgraded.
func TestReleaseChangesAfterSchemaUpgrade(t *testing.T) {
	type want struct{ Target, Effective, Image, SchemaImage, Proxy, Version, Err string }
	const repository, proxy = "ghcr.io/c5c3/keystone:", "ghcr.io/c5c3/keystone-federation-proxy"
	oldVersion, version, nextVersion := versionOf(t, "2025.1"), versionOf(t, "2025.2"), versionOf(t, "2026.1")
	old, current, next := repository+oldVersion, repository+version, repository+nextVersion
	cases := map[string]struct {
		reason             string
		release, installed string
		previous, running  string
		change             func(map[string]any)
		want               want
	}{
		"new": {
			reason: "Nothing is installed: the desired release is the first.", release: "2025.2",
			want: want{Target: "2025.2", Effective: "2025.2", Image: current, SchemaImage: current, Version: version},
		},
		"same": {
			reason: "The desired release is installed.", release: "2025.2", installed: "2025.2", running: current,
			want: want{Target: "2025.2", Effective: "2025.2", Image: current, SchemaImage: current, Version: version},
		},
		"upgrade": {
			reason: "Pods keep their image until the schema serves the new release, whose Jobs run its image.", release: "2025.2", installed: "2025.1",
			running: old,
			want:    want{Target: "2025.2", Effective: "2025.1", Image: old, SchemaImage: current, Version: oldVersion},
		},
		"upgrade of a patched image": {
			reason:  "Pods keep the very image that runs, not the one that the table names for the old release.",
			release: "2025.2", installed: "2025.1", running: "registry.example.com/keystone:27.0.0-p3",
			want: want{Target: "2025.2", Effective: "2025.1", Image: "registry.example.com/keystone:27.0.0-p3", SchemaImage: current, Version: "27.0.0-p3"},
		},
		"upgrade with an image": {
			reason:  "An image that the spec names may be of the new release: it waits too.",
			release: "2025.2", installed: "2025.1", running: old, change: set(map[string]any{"tag": "28.1.0-p1"}, "image"),
			want: want{Target: "2025.2", Effective: "2025.1", Image: old, SchemaImage: "ghcr.io/c5c3/keystone:28.1.0-p1", Version: oldVersion},
		},
		"upgrade without pods": {
			reason: "There are no pods whose image could be kept.", release: "2025.2", installed: "2025.1",
			want: want{Target: "2025.2", Effective: "2025.1", Image: old, SchemaImage: current, Version: oldVersion},
		},
		"SLURP": {
			reason: "From one SLURP release to the next.", release: "2026.1", installed: "2025.1", running: old,
			want: want{Target: "2026.1", Effective: "2025.1", Image: old, SchemaImage: next, Version: oldVersion},
		},
		"skipped": {
			reason: "Over a release from one that is not SLURP.", release: "2026.2", installed: "2025.2",
			want: want{Err: "spec.openStackRelease"},
		},
		"back": {
			reason: "There is no way back.", release: "2025.1", installed: "2025.2",
			want: want{Err: "spec.openStackRelease"},
		},
		"aborted": {
			reason:  "The schema serves the release before as well; pods change when the DatabaseSync has agreed.",
			release: "2025.1", installed: "2025.2", previous: "2025.1", running: current,
			want: want{Target: "2025.1", Effective: "2025.2", Image: current, SchemaImage: old, Version: version},
		},
		"unknown": {
			reason: "A release that we do not have.", release: "2023.1",
			want: want{Err: "spec.openStackRelease"},
		},
		"digest": {
			reason: "A digest is a version too.", release: "2025.2",
			change: set(map[string]any{"repository": "registry:5000/a/keystone", "digest": "sha256:" + digest}, "image"),
			want: want{
				Target: "2025.2", Effective: "2025.2", Version: digest,
				Image: "registry:5000/a/keystone@sha256:" + digest, SchemaImage: "registry:5000/a/keystone@sha256:" + digest,
			},
		},
		"mirror": {
			reason: "All images come from the mirror.", release: "2025.2", change: set("registry:5000/mirror", "images", "registry"),
			want: want{
				Target: "2025.2", Effective: "2025.2", Image: "registry:5000/mirror/c5c3/keystone:" + version,
				SchemaImage: "registry:5000/mirror/c5c3/keystone:" + version, Version: version,
			},
		},
		"bad image": {
			reason: "An API server rejects it.", release: "2025.2", change: set("Not an image", "image", "repository"),
			want: want{Err: "spec.image"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.change == nil {
				tc.change = func(map[string]any) {}
			}
			observed := map[string]*structpb.Struct{}
			if tc.installed != "" {
				observed["schema"] = structOf(t, map[string]any{"status": map[string]any{
					"installedRelease": tc.installed, "previousRelease": tc.previous,
				}})
			}
			if tc.running != "" {
				containers := []any{map[string]any{"name": "federation-proxy", "image": "proxy"}, map[string]any{"name": "keystone", "image": tc.running}}
				observed["deployment"] = structOf(t, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
			}
			m, err := derive(input(t, xr(t, "small", set(tc.release, "openStackRelease"), tc.change), observed))
			if err != nil {
				requireFieldError(t, tc.reason, err, tc.want.Err)
				return
			}
			got := want{
				Target: string(m.TargetRelease), Effective: string(m.Effective), Image: m.Image, SchemaImage: m.SchemaImage,
				Proxy: m.proxyImage, Version: m.Version(),
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if m := derived(t, xr(t, "federation")); !strings.HasPrefix(m.proxyImage, proxy+":") {
		t.Errorf("the proxy's image is %q", m.proxyImage)
	}
}

func versionOf(t *testing.T, r release.Release) string {
	t.Helper()
	v, err := r.Version("keystone")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const digest = "0123456789012345678901234567890123456789012345678901234567890123"

// requireFieldError fails unless the error is a tenant's, about a field.
func requireFieldError(t *testing.T, reason string, err error, field string) {
	t.Helper()
	if field == "" || !invalid.Is(err) || !strings.HasPrefix(err.Error(), field+": ") {
		t.Errorf("%s\nerror %v, want one about %q", reason, err, field)
	}
}

// TestErrorsNameInvalidField verifies that errors name the field, with and without admission.
func TestErrorsNameInvalidField(t *testing.T) {
	for name, tc := range map[string]struct {
		file   string
		change func(map[string]any)
		field  string
	}{
		"option": {"small", set("x", "config", "token", "cache_time"), "spec.config.token.cache_time: "},
		"secret": {"small", set("x", "config", "database", "connection"), "spec.config.database.connection: "},
		"rule":   {"small", set("@", "policy", "identity:no_such_rule"), "spec.policy"},
		"ldap option": {"directories", func(m map[string]any) {
			set("x", "options", "no_such")(at(m, "identityBackends", 1, "ldap").(map[string]any))
		}, "spec.identityBackends[1].ldap.options.no_such: "},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, xr(t, tc.file, tc.change), nil))
			if err == nil {
				_, err = graph.Compute(m, input(t, xr(t, tc.file), nil).Observed, readiness.Rules, compose.Item.Reference)
			}
			if err == nil || !invalid.Is(err) {
				t.Fatalf("error %v", err)
			}
			if got := err.Error(); !strings.Contains(got, tc.field) {
				t.Errorf("error %q, want one about %q", got, tc.field)
			}
		})
	}
}
