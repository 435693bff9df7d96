package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestShared checks that, in an external Keystone, all names of a service are unique, that services are looked up in the
// region of this control plane, and that pods have egress to it.
func TestShared(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec, user, project, region string
		flows                               []workload.Flow
	}{
		"Own": {
			reason: "A control plane's own Keystone has pods here.", spec: "{}", user: "placement", project: "service",
			flows: []workload.Flow{{Ports: []int32{3306, 11211, 11212, 5000}}},
		},
		"Shared": {
			reason: "An external one has none.", spec: "{identity: {sharedAs: cloud-0123, internalURL: 'https://identity.example.com/v3'}}",
			user: "placement-cloud-0123", project: "cloud-0123", region: "here",
			flows: []workload.Flow{{Ports: []int32{3306, 11211, 11212}}, {Anywhere: true, Ports: []int32{443}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			all := built(t, s)
			text := func(resource string, path ...string) string {
				out, _, _ := unstructured.NestedString(all[resource], path...)
				return out
			}
			names := map[string]string{}
			for _, resource := range []string{"user", "catalog-service"} {
				names[resource] = text(resource, "spec", "resource", "name")
			}
			names["credential"] = text("credential", "spec", "userName")
			if diff := cmp.Diff(map[string]string{"user": tc.user, "catalog-service": tc.user, "credential": tc.user}, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			clouds := text("clouds", "spec", "template", "clouds.yaml")
			for line, existing := range map[string]bool{
				"      username: \"" + tc.user + "\"\n": true, "      project_name: " + tc.project + "\n": true,
				"    region_name: \"here\"\n": tc.region != "", "region_name": tc.region != "",
			} {
				if strings.Contains(clouds, line) != existing {
					t.Errorf("%s\ncontains %q: %v, want %v, in\n%s", tc.reason, line, !existing, existing, clouds)
				}
			}
			if strings.Contains(s.Files.Data["placement.conf"], "region_name = here") != (tc.region != "") {
				t.Errorf("%s\n%s", tc.reason, s.Files.Data["placement.conf"])
			}
			flows, err := s.Outbound()
			if diff := cmp.Diff(tc.flows, flows); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestExternalDatabaseHasUniqueNames checks that, on an external server, databases and users have unique names, with which pods log in,
// while names of objects stay the same. Pods have egress to the server.
func TestExternalDatabaseHasUniqueNames(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec, sql, kind string
		flows                   []workload.Flow
	}{
		"Own": {
			reason: "A control plane's own server has pods here.", spec: "{}", sql: "placement",
			flows: []workload.Flow{{Ports: []int32{3306, 11211, 11212, 5000}}},
		},
		"Shared": {
			reason: "An external one has none.", spec: "{database: {sharedAs: os_0123, host: db.example.com, port: 3307}}",
			sql: "os_0123_placement", kind: "ExternalMariaDB",
			flows: []workload.Flow{{Ports: []int32{11211, 11212, 5000}}, {Anywhere: true, Ports: []int32{3307}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			all, got, want := built(t, s), map[string]string{}, map[string]string{}
			for resource, path := range map[string][]string{
				"database": {"spec", "name"}, "database-user": {"spec", "name"}, "database-grant": {"spec", "username"},
			} {
				got[resource], _, _ = unstructured.NestedString(all[resource], path...)
				got[resource+" kind"], _, _ = unstructured.NestedString(all[resource], "spec", "mariaDbRef", "kind")
				got[resource+" object"], _, _ = unstructured.NestedString(all[resource], "metadata", "name")
				want[resource], want[resource+" kind"], want[resource+" object"] = tc.sql, tc.kind, "placement"
			}
			got["granted"], _, _ = unstructured.NestedString(all["database-grant"], "spec", "database")
			got["told"], _, _ = unstructured.NestedString(all["database-secret"], "spec", "target", "template", "data", "username")
			want["granted"], want["told"] = tc.sql, tc.sql
			for _, e := range s.BarePod("image", nil).Containers[0].Env {
				if strings.HasSuffix(e.Name, "__CONNECTION") {
					login, _, _ := strings.Cut(strings.TrimPrefix(e.Value, "mysql+pymysql://"), ":")
					path, _, _ := strings.Cut(e.Value, "?")
					got["login"], got["uses"] = login, path[strings.LastIndex(path, "/")+1:]
				}
			}
			want["login"], want["uses"] = tc.sql, tc.sql
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			flows, err := s.Outbound()
			if diff := cmp.Diff(tc.flows, flows); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}
