package tempest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

const base = `
openStackRelease: "2025.2"
region: here
identity: {internalURL: "https://keystone.cloud.svc:5000/v3", publicURL: "https://id.org/v3", caSecretRef: {name: keystone-tls, key: ca.crt}}
services: [{type: identity, internalURL: "https://k:5000/v3"}, {type: image, internalURL: "https://g:9292"}]
`

// of is the model of a spec over the base.
func of(t testing.TB, spec string) (*model, error) {
	t.Helper()
	in := function.Input[tempestv1.Tempest]{}
	in.XR.Name, in.XR.Namespace = tempestv1.ServiceName, "cloud"
	for _, text := range []string{base, spec} {
		if err := yaml.Unmarshal([]byte(text), &in.XR.Spec); err != nil {
			t.Fatal(err)
		}
	}
	function.SetDefaults(&in.XR)
	return derive(in)
}

// TestSelectsTestsOfSpec verifies the selection of tests. Go's regular expressions have no lookahead, so both conditions are matched
// separately.
func TestSelectsTestsOfSpec(t *testing.T) {
	const (
		smoke    = "tempest.api.identity.v3.test_users.UsersTest.test_create[id-1,smoke]"
		unmarked = "tempest.api.identity.v3.test_users.UsersTest.test_list[id-2]"
		image    = "tempest.api.image.v2.test_images.ImagesTest.test_create[id-3,smoke]"
		nova     = "tempest.api.compute.test_servers.ServersTest.test_create[id-4,smoke]"
		smokes   = "tempest.api.image.v2.test_images.ImagesTest.test_smokescreen[id-5]"
	)
	all := []string{smoke, unmarked, image, nova, smokes}
	for name, tc := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"Nothing":  {"Smoke tests of the cloud's services; the name of a test alone does not select it.", "{}", []string{smoke, image}},
		"Services": {"Tests of the listed services.", "tests: {services: [image]}", []string{image}},
		"Names":    {"All tests with matching names, regardless of attributes.", `tests: {includeRegex: "test_(list|smoke)"}`, []string{unmarked, smokes}},
		"Begin":    {"A name's own beginning is one.", `tests: {includeRegex: "^tempest.api.identity"}`, []string{smoke, unmarked}},
		"Either":   {"Each of several.", `tests: {services: [identity], includeRegex: "test_list|test_create"}`, []string{smoke, unmarked}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := of(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			s := settings{}
			if err := json.Unmarshal([]byte(m.files[settingsFile]), &s); err != nil {
				t.Fatal(err)
			}
			modules, named, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.Include, "^(?="), ")"), ")(?=")
			if !ok || strings.Contains(s.Include, " ") {
				t.Fatalf("%q are not two conditions", s.Include)
			}
			var got []string
			for _, test := range all {
				if regexp.MustCompile("^(?:"+modules+")").MatchString(test) && regexp.MustCompile("^"+named).MatchString(test) {
					got = append(got, test)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRejectsTestsOfMissingServices verifies that tests of missing services are rejected, and that an invalid address composes no policy.
func TestRejectsTestsOfMissingServices(t *testing.T) {
	for spec, field := range map[string]string{
		`tests: {services: [identity, compute]}`:                "spec.tests.services[1]",
		`services: [{type: identity, internalURL: "keystone"}]`: "spec.services[0].internalURL",
		`image: {tag: latest}`:                                  "spec.image",
		`openStackRelease: "2020.1"`:                            "spec.openStackRelease",
	} {
		if _, err := of(t, spec); !invalid.Is(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v, want one about %s", spec, err, field)
		}
	}
}

// TestPassed verifies that the condition repeats the report, and is unset without a report.
func TestPassed(t *testing.T) {
	m, err := of(t, "schedule: 5 4 * * *")
	if err != nil {
		t.Fatal(err)
	}
	if v := m.passed(); v.Ready || v.Reason != "NotRun" || !strings.Contains(v.Message, `"5 4 * * *"`) {
		t.Errorf("before the first run: %+v", v)
	}
}

// TestEgressHasOnlyPortsOfServices verifies that tests may connect only to the ports of the services, each listed once.
func TestEgressHasOnlyPortsOfServices(t *testing.T) {
	m, err := of(t, `services: [{type: identity, internalURL: "https://k:5000/v3"}, {type: image, internalURL: "https://g:5000"}]`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{5000}, m.flow.Ports); diff != "" || m.flow.Anywhere || len(m.flow.Pods) == 0 {
		t.Errorf("%+v", m.flow)
	}
}

// TestSubjects verifies that Tempest supports every service of the API, and that every testable service has tests.
func TestSubjects(t *testing.T) {
	for _, known := range slices.Sorted(maps.Keys(subjects)) {
		if s := subjects[known]; s.modules == "" && known != tempestv1.TypePlacement {
			t.Errorf("%s has no tests", known)
		}
	}
}

// TestOptions_Features verifies that tests of the cloud's features are not skipped, and that tests of missing features are.
func TestOptions_Features(t *testing.T) {
	const all = `services: [{type: identity, internalURL: "https://k:5000/v3"}, {type: image, internalURL: "https://g:9292"},
  {type: placement, internalURL: "https://p:8778"}, {type: compute, internalURL: "https://n:8774/v2.1"},
  {type: network, internalURL: "https://q:9696"}, {type: volume, internalURL: "https://c:8776/v3"},
  {type: key-manager, internalURL: "https://b:9311"}, {type: orchestration, internalURL: "https://h:8004/v1"}]`
	for name, tc := range map[string]struct {
		reason, spec string
		want         map[string]string
	}{
		"everything": {"Every feature of our services, in every version of their APIs.", all, map[string]string{
			"compute max_microversion": "latest", "volume max_microversion": "latest", "placement max_microversion": "latest",
			"key_manager max_microversion": "latest", "key_manager region": "here", "service_available heat": "true",
			"compute-feature-enabled resize": "true", "compute-feature-enabled attach_encrypted_volume": "true",
			"compute-feature-enabled volume_backed_live_migration": "true", "volume-feature-enabled extend_attached_volume": "true",
			"network-feature-enabled ipv6_subnet_attributes": "true", "image_signature_verification enforced": "false",
			"heat_plugin auth_url": "https://keystone.cloud.svc:5000/v3", "heat_plugin username": "tempest", "heat_plugin endpoint_type": "internal",
			"heat_plugin password": "", "enforce_scope keystone": "true", "enforce_scope nova": "true", "enforce_scope cinder": "true",
			"enforce_scope barbican": "true", "compute-feature-enabled hostname_fqdn_sanitization": "true",
			"volume-feature-enabled volume_revert": "true", "volume-feature-enabled extend_attached_encrypted_volume": "true",
			"compute-feature-enabled vnc_console": "false", "image image_caching_enabled": "false",
			"image-feature-enabled image_conversion": "false", "neutron_plugin_options max_mtu": "1500",
			"neutron_plugin_options provider_vlans": "[]",
		}},
		"ordered features": {"Features of the claim that no API reports.", all + `
features: {networkTypes: [geneve, vlan], vlanNetworks: [physnet1], mtu: 9000, vnc: true, imageCache: true, convertTo: raw}`, map[string]string{
			"compute-feature-enabled vnc_console": "true", "image image_caching_enabled": "true", "image-feature-enabled image_conversion": "true",
			"neutron_plugin_options available_type_drivers": "[geneve vlan]", "neutron_plugin_options provider_vlans": "[physnet1]",
			"neutron_plugin_options max_mtu": "9000",
		}},
		"servers without volumes": {"A cloud without Cinder and Barbican has no encrypted volume.", `services:
- {type: identity, internalURL: "https://k:5000/v3"}
- {type: compute, internalURL: "https://n:8774/v2.1"}`, map[string]string{
			"compute-feature-enabled resize": "true", "compute-feature-enabled attach_encrypted_volume": "false",
			"compute-feature-enabled volume_backed_live_migration": "false", "volume-feature-enabled extend_attached_volume": "",
			"volume-feature-enabled volume_revert": "", "image image_caching_enabled": "", "neutron_plugin_options max_mtu": "",
			"service_available heat": "false", "heat_plugin auth_url": "", "key_manager region": "", "volume max_microversion": "",
			"enforce_scope keystone": "true", "enforce_scope cinder": "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := of(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			options := m.options()
			for key := range tc.want {
				group, option, _ := strings.Cut(key, " ")
				if v, ok := options[group][option]; ok {
					got[key] = fmt.Sprint(v)
				} else {
					got[key] = ""
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPasswords verifies that the tests of Heat, which have separate options, use the same password, if there is a Heat.
func TestPasswords(t *testing.T) {
	for spec, want := range map[string][]string{
		"{}": {"OS_AUTH__ADMIN_PASSWORD"},
		`services: [{type: identity, internalURL: "https://k:5000/v3"}, {type: orchestration, internalURL: "https://h:8004/v1"}]`: {
			"OS_AUTH__ADMIN_PASSWORD", "OS_HEAT_PLUGIN__PASSWORD", "OS_HEAT_PLUGIN__ADMIN_PASSWORD",
		},
	} {
		m, err := of(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range m.passwords() {
			got = append(got, e.Name)
			if ref := e.ValueFrom.SecretKeyRef; ref.Name != "tempest-user" || ref.Key != "password" {
				t.Errorf("%s is read from %s, key %s", e.Name, ref.Name, ref.Key)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestPod_Authority verifies that clients which ignore tempest.conf also verify services with the authority of Keystone's reference.
func TestPod_Authority(t *testing.T) {
	m, err := of(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, e := range m.pod().Containers[0].Env {
		if e.Name == "SSL_CERT_FILE" {
			got = e.Value
		}
	}
	if want := m.options()["identity"]["ca_certificates_file"]; got != want {
		t.Errorf("SSL_CERT_FILE is %q, want the file of tempest.conf, %q", got, want)
	}
}
