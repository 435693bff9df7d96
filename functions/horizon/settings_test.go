package horizon

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

const base = `
openStackRelease: "2025.2"
region: here
cache: {servers: ["cache:11211"]}
endpoints: {public: "https://horizon.cloud.svc:8443", internal: "https://horizon.cloud.svc:8443"}
issuerRef: {name: internal-ca, kind: Issuer}
identity: {internalURL: "https://keystone.cloud.svc:5000/v3", publicURL: "https://id.org/v3", caSecretRef: {name: keystone-tls, key: ca.crt}}
`

// of is the model of a spec over the base.
func of(t testing.TB, spec string) (*model, error) {
	t.Helper()
	in := function.Input[horizonv1.Horizon]{}
	in.XR.Name, in.XR.Namespace = horizonv1.ServiceName, "cloud"
	for _, text := range []string{base, spec} {
		if err := yaml.Unmarshal([]byte(text), &in.XR.Spec); err != nil {
			t.Fatal(err)
		}
	}
	function.SetDefaults(&in.XR)
	return derive(in)
}

const exposedAt = `exposure: {type: GatewayAPI, hostname: cloud.org, gateway: {name: a, namespace: b}}`

// TestSettings verifies Django's settings for specs.
func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		// has and lacks are parts of the settings, without their line breaks and indents.
		has, lacks []string
	}{
		"Plain": {
			"There is no external access, and there are no volumes.", "{}",
			[]string{
				`ALLOWED_HOSTS = ["horizon.cloud.svc",]`, "SESSION_TIMEOUT = 3600 ", "SESSION_COOKIE_SECURE = True", `SESSION_COOKIE_NAME = "__Host-sessionid"`, "CSRF_COOKIE_SECURE = True", `DEFAULT_SERVICE_REGIONS = {"*": "here",}`,
				`CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache",}, "sessions": {`, `SESSION_CACHE_ALIAS = "sessions"`,
				`SECRET_KEY = open("/etc/horizon/secret-key/password", encoding="ascii").read()`,
				`OPENSTACK_SSL_CACERT = "/etc/horizon/identity-ca/ca.crt"`, `"create_volume": False`, "MULTIDOMAIN_SUPPORT = False",
			},
			[]string{"SECURE_PROXY_SSL_HEADER", "WEBSSO", "SITE_BRANDING", "HEAT", "orchestration", "DEFAULT_THEME", "API_RESULT_PAGE_SIZE"},
		},
		"Exposed": {
			"It accepts both host names.", exposedAt + "\nendpoints: {public: \"https://cloud.org\"}",
			[]string{`ALLOWED_HOSTS = ["horizon.cloud.svc", "cloud.org",]`},
			[]string{"SECURE_PROXY_SSL_HEADER"},
		},
		"PlainHTTP": {
			"Browsers do not send secure cookies with HTTP, and the Gateway sets the protocol.", exposedAt + "\nendpoints: {public: \"http://cloud.org\"}",
			[]string{
				`SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https",)`, "SESSION_COOKIE_SECURE = False", `SESSION_COOKIE_NAME = "sessionid"`, "CSRF_COOKIE_SECURE = False",
			}, nil,
		},
		"Volumes": {
			"Where there are some, Horizon's own defaults hold.", `services: [{type: volume, internalURL: "https://cinder:8776/v3"}]`,
			nil, []string{"LAUNCH_INSTANCE_DEFAULTS", "OPENSTACK_CINDER_FEATURES"},
		},
		"Defaults": {
			"Users begin with these choices.", `{defaultTheme: material, pageSize: 100, bootFromVolume: false, services: [{type: volume, internalURL: "https://cinder:8776/v3"}]}`,
			[]string{
				`DEFAULT_THEME = "material"`, "API_RESULT_PAGE_SIZE = 100 ", `"create_volume": False`, `"hide_create_volume": False`, `"disable_volume": False`,
			}, nil,
		},
		"NewVolumes": {
			"A server gets a volume.", `{bootFromVolume: true, services: [{type: volume, internalURL: "https://cinder:8776/v3"}]}`,
			[]string{`"create_volume": True`, `"disable_volume": False`}, nil,
		},
		"Backups": {
			"The panel of backups appears.", `services: [{type: volume, internalURL: "https://cinder:8776/v3", backups: true}]`,
			[]string{`OPENSTACK_CINDER_FEATURES = {"enable_backup": True,}`}, nil,
		},
		"Stacks": {
			"The plug-in's own rules hold, and trusts need no password.", `services: [{type: orchestration, internalURL: "https://h:8004"}]`,
			[]string{
				`OPENSTACK_HEAT_STACK = {"enable_user_pass": False,}`, `"orchestration": "../../heat_dashboard/conf/heat_policy.yaml"`,
				"HEAT_TEMPLATE_GENERATOR_API_TIMEOUT = 60 ", "HEAT_TEMPLATE_GENERATOR_API_PARALLEL = 2 ",
			}, nil,
		},
		"StackRules": {
			"The rules of the claim take the place of the plug-in's.", `services: [{type: orchestration, internalURL: "https://h:8004", policy: {"stacks:index": "@"}}]`,
			[]string{`"orchestration": "/etc/horizon/policy-orchestration.yaml"`}, []string{"heat_policy.yaml"},
		},
		"Rules": {
			"Policies that differ have a file; Horizon does not use a policy of Placement.",
			`services: [{type: compute, internalURL: "https://n:1", policy: {a: "@"}}, {type: placement, internalURL: "https://p:1", policy: {b: "@"}}]`,
			[]string{`"compute": "/etc/horizon/policy-compute.yaml"`, `"network": "neutron_policy.yaml"`}, []string{"placement"},
		},
		"Choices": {
			"A title, domains, and external logins.",
			"title: T\nmultiDomain: true\nsessionSeconds: 300\nwebsso: {choices: [{name: c, label: L, provider: p}]}",
			[]string{
				`SITE_BRANDING = "T"`, "MULTIDOMAIN_SUPPORT = True", "SESSION_TIMEOUT = 300 ", `WEBSSO_CHOICES = (("credentials", "Password",), ("c", "L",),)`,
				`WEBSSO_IDP_MAPPING = {"c": ("p", "openid",),}`, `WEBSSO_INITIAL_CHOICE = "credentials"`, `WEBSSO_KEYSTONE_URL = "https://id.org/v3"`,
				"WEBSSO_USE_HTTP_REFERER = False",
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := of(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("[ ", "[", "( ", "(", "{ ", "{", ", ]", ",]", ", )", ",)", ", }", ",}").
				Replace(strings.Join(strings.Fields(m.Files.Data[settingsFile]), " ") + " ")
			for _, part := range tc.has {
				if !strings.Contains(text, part) {
					t.Errorf("%s: there is no %s in\n%s", tc.reason, part, text)
				}
			}
			for _, part := range tc.lacks {
				if strings.Contains(text, part) {
					t.Errorf("%s: there is %s", tc.reason, part)
				}
			}
		})
	}
}

// TestStackPanels verifies that panels of Heat's plug-in are enabled only with a Heat, with Heat's default policy.
func TestStackPanels(t *testing.T) {
	for spec, want := range map[string]bool{
		`services: [{type: compute, internalURL: "https://nova:1"}]`: false, `services: [{type: orchestration, internalURL: "https://heat:1"}]`: true,
	} {
		m, err := of(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			`openstack_dashboard.local.enabled.__path__.append(folder + "/enabled")`,
			`DEFAULT_POLICY_FILES["orchestration"] = folder + "/conf/default_policies/heat.yaml"`,
		} {
			if got := strings.Contains(m.Files.Data[packageFile], line); got != want {
				t.Errorf("%s: %s exists: %t, want %t", spec, line, got, want)
			}
		}
	}
}

// TestFirstPage verifies that the first page of users lists servers if the cloud has Nova.
func TestFirstPage(t *testing.T) {
	for spec, want := range map[string]bool{"{}": true, `services: [{type: compute, internalURL: "https://nova:1"}]`: false} {
		m, err := of(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(m.Files.Data[packageFile], `HORIZON_CONFIG["user_home"] = "/identity/"`); got != want {
			t.Errorf("%s: got %t, want %t", spec, got, want)
		}
	}
}

// TestSetsHelpURLAndPasswordAutocomplete tests that the link to help and the storing of passwords are set where Horizon reads them.
func TestSetsHelpURLAndPasswordAutocomplete(t *testing.T) {
	m, err := of(t, "{helpURL: 'https://help.org/a', passwordAutocomplete: true}")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`HORIZON_CONFIG["help_url"] = "https://help.org/a"`, `HORIZON_CONFIG["password_autocomplete"] = "on"`} {
		if !strings.Contains(m.Files.Data[packageFile], "\n"+line+"\n") {
			t.Errorf("there is no %s in\n%s", line, m.Files.Data[packageFile])
		}
	}
	if m, err = of(t, "{}"); err != nil || strings.Contains(m.Files.Data[packageFile], "help_url") ||
		strings.Contains(m.Files.Data[packageFile], "password_autocomplete") {
		t.Errorf("without a choice: %v\n%s", err, m.Files.Data[packageFile])
	}
}

// TestHeaders verifies that responses with HTTPS set HSTS for one year, and others do not.
func TestHeaders(t *testing.T) {
	for public, want := range map[string]bool{"https://cloud.org": true, "http://cloud.org": false} {
		m, err := of(t, exposedAt+"\nendpoints: {public: \""+public+"\"}")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(m.Files.Data["uwsgi.ini"], "\nadd-header = Strict-Transport-Security: max-age=31536000\n"); got != want {
			t.Errorf("%s: got %t, want %t", public, got, want)
		}
	}
}

// TestPodsReachOnlyConfiguredServices verifies that pods may connect to their services only.
func TestPodsReachOnlyConfiguredServices(t *testing.T) {
	for services, want := range map[string][]workload.Flow{
		`services: [{type: identity, internalURL: "https://k:5000/v3"}, {type: image, internalURL: "https://g:9292"}]`: {{Ports: []int32{9292}}},
		`services: [{type: identity, internalURL: "https://k:5000/v3"}]`:                                               nil,
	} {
		m, err := of(t, services)
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.extension()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, x.Network.APIEgress); diff != "" {
			t.Errorf("%s (-want +got):\n%s", services, diff)
		}
	}
	_, err := of(t, `services: [{type: image, internalURL: "image"}]`)
	if !invalid.Is(err) || !strings.Contains(err.Error(), "spec.services[0].internalURL") {
		t.Errorf("got %v, want one about the address", err)
	}
}

// TestRule_RejectsControlCharacters verifies that the error for a rule which cannot be written to a file names its field.
func TestRule_RejectsControlCharacters(t *testing.T) {
	_, err := of(t, `services: [{type: identity, internalURL: "https://k:5000/v3", policy: {"identity:get_user": "role:\x7f"}}]`)
	if !invalid.Is(err) || !strings.Contains(err.Error(), "spec.services[0].policy") {
		t.Errorf("got %v, want one about the rule", err)
	}
}

// TestAssetsContainerMountsNoKey verifies that the container which builds the assets reads the settings and writes the assets, and mounts
// neither the certificate's key nor a writable page.
func TestAssetsContainerMountsNoKey(t *testing.T) {
	m, err := of(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	p := m.APIPod()
	if len(p.InitContainers) != 1 {
		t.Fatalf("there are %d", len(p.InitContainers))
	}
	for _, mount := range p.InitContainers[0].VolumeMounts {
		if mount.ReadOnly == (mount.Name == assetsVolumeName) || mount.Name == "tls" {
			t.Errorf("%s is mounted, only to be read: %t", mount.Name, mount.ReadOnly)
		}
	}
	for _, mount := range p.Containers[0].VolumeMounts {
		if !mount.ReadOnly {
			t.Errorf("%s can be written while it serves", mount.Name)
		}
	}
}

// FuzzTexts verifies that a title and a choice cannot add or change other settings; each setting starts on its own line.
func FuzzTexts(f *testing.F) {
	f.Add("Cloud", "Company account")
	f.Add("\"\nimport os\n", "')\nDEBUG = True\n#")
	begins := regexp.MustCompile(`^([A-Z][A-Z0-9_]* = |[\])}]$|$)`)
	names := func(text string) []string {
		var out []string
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, " ") {
				continue
			}
			if !begins.MatchString(line) {
				f.Fatalf("%q begins nothing", line)
			}
			name, _, _ := strings.Cut(line, " ")
			out = append(out, name)
		}
		return out
	}
	f.Fuzz(func(t *testing.T, title, label string) {
		m, err := of(t, "title: x\nwebsso: {choices: [{name: c, label: l, provider: p}]}")
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.settings().Render()
		if err != nil {
			t.Fatal(err)
		}
		m.spec.Title, m.spec.WebSSO.Choices[0].Label = title, label
		got, err := m.settings().Render()
		if err != nil || title == "" {
			return // No text, or none that a schema accepts.
		}
		if a, b := names(want), names(got); !slices.Equal(a, b) {
			t.Errorf("settings (-want +got):\n%s", cmp.Diff(a, b))
		}
	})
}
