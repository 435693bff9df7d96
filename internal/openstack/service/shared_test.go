package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestShared: in a Keystone that others use, too, nothing of a service has a name that is somebody else's, what looks for services looks in
// this control plane's region, and pods reach Keystone where it is.
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
			reason: "One that is elsewhere has none.", spec: "{identity: {sharedAs: cloud-0123, internalURL: 'https://identity.example.com/v3'}}",
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
			for line, there := range map[string]bool{
				"      username: \"" + tc.user + "\"\n": true, "      project_name: " + tc.project + "\n": true,
				"    region_name: \"here\"\n": tc.region != "", "region_name": tc.region != "",
			} {
				if strings.Contains(clouds, line) != there {
					t.Errorf("%s\n%q is there: %v, want %v, in\n%s", tc.reason, line, !there, there, clouds)
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
