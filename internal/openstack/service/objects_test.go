package service

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// example is a service with known options and images.
var example = Definition{
	App: "placement", Title: "Example", Outage: "nothing works", CatalogType: "kind", Description: "What it is", Port: 8778,
	Module: "example.wsgi:application", HealthPath: "/", Databases: []Database{{
		Group: "placement_database",
		Schema: Schema{
			Sync: []openstackv1.Step{Step("sync", "manage", "sync")}, Check: []openstackv1.Argument{"check"},
			Version: []openstackv1.Argument{"manage", "version"}, Empty: "None",
		},
	}},
}

const exampleSpec = `
openStackRelease: "2025.2"
region: here
database: {mariaDBRef: {name: mariadb}, host: mariadb.cloud.svc, port: 3306, caSecretRef: {name: mariadb-ca, key: db.crt}, galera: true}
cache: {servers: ["cache-0.cache:11211", "cache-1.cache:11212"]}
endpoints: {public: "https://example.com", internal: "https://one.cloud.svc:8778"}
issuerRef: {name: internal, kind: Issuer}
uwsgi: {threads: 1}
identity:
  credentialRotation: {intervalDays: 90, preRotationDays: 7, gracePeriodDays: 1}
  internalURL: https://identity.cloud.svc:5000/v3
  publicURL: https://identity.example.com/v3
  caSecretRef: {name: identity-tls, key: ca.crt}
  adminCloudRef: {secretName: admin-clouds, cloudName: admin}
  korcCloudRef: {secretName: korc-clouds, cloudName: korc}
`

// derived returns the service of a spec that is merged into the spec of the example.
func derived(t *testing.T, spec string) (*Service, error) {
	t.Helper()
	parts := struct {
		common.ServiceSpec `json:",inline"`
		common.Workload    `json:",inline"`
		UWSGI              common.UWSGI    `json:"uwsgi"`
		Identity           common.Identity `json:"identity"`
	}{}
	for _, text := range []string{exampleSpec, spec} {
		if err := yaml.Unmarshal([]byte(text), &parts); err != nil {
			t.Fatal(err)
		}
	}
	b, err := example.Derive(Input{Meta: metav1.ObjectMeta{Name: "one", Namespace: "cloud"}, Spec: Spec{
		ServiceSpec: &parts.ServiceSpec, Workload: &parts.Workload, UWSGI: &parts.UWSGI, Identity: &parts.Identity,
	}})
	if err != nil {
		return nil, err
	}
	s, err := b.With(Extension{})
	return &s, err
}

// exampleGraph has the components that the example requires.
var exampleGraph = Graph(compose.Graph[*Service]{
	CompanionAccess[*Service](),
	Credentials[*Service](),
	Certificate[*Service](),
	DatabaseAccount[*Service]("credentials"),
	User[*Service]("companion-access", "credentials"),
	Config[*Service]("companion-access", "credentials"),
	DatabaseSchema[*Service]("database", "config"),
	API[*Service]([]string{"schema", "certificate", "identity"}),
	Exposure[*Service]("certificate"),
	Catalog[*Service]("api"),
	Alerts[*Service](),
})

// built returns the objects of all components of a service, by resource name.
func built(t *testing.T, s *Service) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, c := range exampleGraph {
		if c.Enabled != nil && !c.Enabled(s) {
			continue
		}
		stages, err := c.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Concat(stages...) {
			data, err := json.Marshal(r.Object)
			if err != nil {
				t.Fatal(err)
			}
			tree := map[string]any{}
			if err := json.Unmarshal(data, &tree); err != nil {
				t.Fatal(err)
			}
			name := r.Name
			if r.Revisions != "" {
				name = r.Revisions
			}
			out[name] = tree
		}
	}
	return out
}

// TestOnlyAdministrativeServicesHaveAdminRole checks that only a service that needs it has the role admin.
func TestOnlyAdministrativeServicesHaveAdminRole(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		admin  bool
		want   []string
	}{
		"service":       {"It only validates tokens.", false, []string{"service"}},
		"administrator": {"It calls APIs for administrators.", true, []string{"service", "admin"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, "{}")
			if err != nil {
				t.Fatal(err)
			}
			d := *s.Definition
			d.NeedsAdmin = tc.admin
			s.Definition = &d
			objects := built(t, s)
			var assigned []string
			for _, role := range []string{"service", "admin"} {
				if got, _, _ := unstructured.NestedString(objects["role-"+role], "spec", "resource", "roleRef"); got != "" {
					assigned = append(assigned, got)
				}
			}
			granted, _, _ := unstructured.NestedStringSlice(objects["credential"], "spec", "roles")
			if diff := cmp.Diff([][]string{tc.want, tc.want}, [][]string{assigned, granted}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObjectsMatchExpectedSpecs compares complete objects of other controllers.
func TestObjectsMatchExpectedSpecs(t *testing.T) {
	s, err := derived(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	objects := built(t, s)
	for resource, tc := range map[string]struct{ reason, want string }{
		"user": {
			"K-ORC makes the user by the generated password.", `
cloudCredentialsRef: {secretName: korc-clouds, cloudName: korc}
managedOptions: {onDelete: delete}
managementPolicy: managed
resource: {name: placement, domainRef: default, passwordRef: one-user, description: Service Example}`,
		},
		"clouds": {
			"The companion logs in as the user, and detects the loss of the database's password.", `
targetSecretName: one-clouds
sources:
- {name: password, secretKeyRef: {name: one-user, key: password}}
- {name: ca, secretKeyRef: {name: identity-tls, key: ca.crt}}
- {name: database, secretKeyRef: {name: one-database, key: password}}
template:
  cacert: "{{ .ca }}"
  clouds.yaml: |
    clouds:
      placement:
        auth_type: password
        auth:
          auth_url: https://identity.cloud.svc:5000/v3
          username: "placement"
          password: {{ .password | quote }}
          project_name: service
          user_domain_name: Default
          project_domain_name: Default
        identity_api_version: 3
        interface: internal
`,
		},
		"role-service": {
			"It goes with the user.", `
cloudCredentialsRef: {secretName: admin-clouds, cloudName: admin}
exemptUser: true
managedOptions: {onDelete: detach}
resource: {roleRef: service, userRef: one, projectRef: service}`,
		},
		"credential": {
			"It has the role of a service, and its pods follow it.", `
target: ApplicationCredential
userName: placement
cloudCredentialsRef: {secretName: one-clouds, cloudName: placement}
secretName: one-credential
intervalDays: 90
preRotationDays: 7
gracePeriodDays: 1
consumers: [{kind: Deployment, name: one}]
roles: [service]`,
		},
		"catalog-service": {
			"It goes with its object.", `
cloudCredentialsRef: {secretName: korc-clouds, cloudName: korc}
managedOptions: {onDelete: delete}
managementPolicy: managed
resource: {name: placement, type: kind, description: What it is}`,
		},
		"endpoint-public": {
			"Users come from outside.", `
cloudCredentialsRef: {secretName: korc-clouds, cloudName: korc}
managedOptions: {onDelete: delete}
managementPolicy: managed
resource: {interface: public, serviceRef: one, url: "https://example.com"}`,
		},
		"endpoint-internal": {
			"Services stay inside.", `
cloudCredentialsRef: {secretName: korc-clouds, cloudName: korc}
managedOptions: {onDelete: delete}
managementPolicy: managed
resource: {interface: internal, serviceRef: one, url: "https://one.cloud.svc:8778"}`,
		},
		"region-public": {
			"K-ORC does not support regions.", `
cloudCredentialsRef: {secretName: admin-clouds, cloudName: admin}
endpointRef: one-public
region: here`,
		},
		"region-internal": {
			"The same.", `
cloudCredentialsRef: {secretName: admin-clouds, cloudName: admin}
endpointRef: one-internal
region: here`,
		},
		"server-certificate": {
			"By every name that a client may use inside.", `
dnsNames: [one.cloud.svc, one.cloud.svc.cluster.local, one.cloud, one]
issuerRef: {group: cert-manager.io, kind: Issuer, name: internal}
privateKey: {algorithm: ECDSA, rotationPolicy: Always, size: 256}
secretName: one-tls
usages: [digital signature, server auth, client auth]`,
		},
	} {
		t.Run(resource, func(t *testing.T) {
			var want any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, objects[resource]["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOptions compares all common options.
func TestOptions(t *testing.T) {
	const want = `[DEFAULT]
use_stderr = true

[keystone_authtoken]
auth_type = v3applicationcredential
auth_url = https://identity.cloud.svc:5000/v3
cafile = /etc/placement/identity-ca/ca.crt
interface = internal
memcache_security_strategy = ENCRYPT
memcached_servers = cache-0.cache:11211,cache-1.cache:11212
service_token_roles = service
service_token_roles_required = true
service_type = kind
www_authenticate_uri = https://identity.example.com/v3

[oslo_concurrency]
lock_path = /tmp

[oslo_middleware]
enable_proxy_headers_parsing = true

[oslo_policy]
policy_file = /etc/placement/policy.yaml

[placement_database]
connection_recycle_time = 600
max_retries = -1
mysql_wsrep_sync_wait = 1
retry_interval = 1
`
	s, err := derived(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := built(t, s)["config"]["data"].(map[string]any)
	if diff := cmp.Diff(want, data["placement.conf"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cache := oslo.Options{
		"enabled": true, "backend": "oslo_cache.memcache_pool", "memcache_servers": []string{"cache-0.cache:11211", "cache-1.cache:11212"},
	}
	if diff := cmp.Diff(cache, s.CacheOptions()); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
}

// TestComplete checks that the number of processes follows the memory, and that a number of the spec is kept.
func TestComplete(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         int32
	}{
		"nothing": {"Without an amount of memory, there are two.", "{}", 2},
		"memory":  {"Each process gets 256 MiB.", "{resources: {requests: {memory: 1Gi}}}", 4},
		"all":     {"The number of the spec.", "{resources: {requests: {memory: 1Gi}}, uwsgi: {processes: 3}}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Spec.UWSGI.Processes; got != tc.want {
				t.Errorf("%s %d processes, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOutbound checks that the egress contains each port of the spec once, and that an error contains the field of a URL
// without a port.
func TestOutbound(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         []int32
		field        string
	}{
		"all":         {"Each once.", `{cache: {servers: ["a:11211", "b:11211", "c:11212"]}}`, []int32{3306, 11211, 11212, 5000}, ""},
		"cache":       {"The second of two.", `{cache: {servers: ["a:11211", b]}}`, nil, "spec.cache.servers[1]: "},
		"an identity": {"It has no port by default.", `{identity: {internalURL: "other://a"}}`, nil, "spec.identity.internalURL: "},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			flows, err := s.Outbound()
			if tc.field != "" {
				if !invalid.Is(err) || !strings.HasPrefix(err.Error(), tc.field) {
					t.Errorf("%s: %v, want an error about %s", tc.reason, err, tc.field)
				}
				return
			}
			if err != nil || len(flows) != 1 || !slices.Equal(flows[0].Ports, tc.want) {
				t.Errorf("%s: %v, %v; want %v", tc.reason, flows, err, tc.want)
			}
		})
	}
}

// TestPodsMayReachExternalQueue checks the egress to an external queue, and to a queue among the pods of the control plane; on
// an external queue, virtual hosts have unique names.
func TestPodsMayReachExternalQueue(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		queue  common.Queue
		flows  []workload.Flow
		vhost  string
	}{
		"own": {"It has pods here.", common.Queue{Port: 5671}, []workload.Flow{{Ports: []int32{3306, 5671, 11211, 11212, 5000}}}, "placement"},
		"elsewhere": {
			"It has none.", common.Queue{Port: 443, SharedAs: "cloud-0123"},
			[]workload.Flow{{Ports: []int32{3306, 11211, 11212, 5000}}, {Anywhere: true, Ports: []int32{443}}}, "placement-cloud-0123",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := derived(t, "{}")
			if err != nil {
				t.Fatal(err)
			}
			definition := *s.Definition
			definition.Queue = true
			s.Definition, s.Spec.Queue = &definition, &tc.queue
			flows, err := s.Outbound()
			if diff := cmp.Diff(tc.flows, flows); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
			if env := s.queueEnv(); !strings.Contains(env[2].Value, "/"+tc.vhost+"?") {
				t.Errorf("%s It uses %s", tc.reason, env[2].Value)
			}
		})
	}
}

// TestQueueByName checks that clients of an external queue verify the host name of its certificate if oslo.messaging
// supports the option.
func TestQueueByName(t *testing.T) {
	const group, option = "oslo_messaging_rabbit", "ssl_enforce_hostname_verification"
	own, external := &common.Queue{}, &common.Queue{SharedAs: "cloud-0123"}
	for name, tc := range map[string]struct {
		reason  string
		queue   *common.Queue
		release release.Release
		want    any
	}{
		"elsewhere": {"Others have certificates of its authority.", external, "2025.1", true},
		"own":       {"They are all ours.", own, "2025.1", nil},
		"none":      {"It has no queue.", nil, "2025.1", nil},
		"never":     {"It has no such option.", external, "2025.2", nil},
		"always":    {"It always verifies, and the option is deprecated.", external, "2026.2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, app := range []string{"barbican", "cinder", "heat", "neutron", "nova"} {
				got := QueueOptions(tc.queue, app, tc.release)
				if got[group][option] != tc.want || got[group]["rabbit_quorum_queue"] != true {
					t.Errorf("%s %s has options %v", tc.reason, app, got)
				}
			}
		})
	}
	s, err := derived(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	definition := *s.Definition
	definition.Queue, definition.App = true, "nova"
	s.Definition, s.Effective, s.Spec.Queue = &definition, "2025.1", external
	if got := s.options()[group][option]; got != true {
		t.Errorf("the service has options %v", got)
	}
}

// TestOnce checks that a Job gets another name if its spec changes, and only then.
func TestOnce(t *testing.T) {
	s, err := derived(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	once := func(command string) compose.Resource {
		stages, err := Once("setup", s.Workload.With("one-setup", "setup"), s.BarePod("image", []string{command}), 3)
		if err != nil || len(stages) != 1 || len(stages[0]) != 1 {
			t.Fatalf("%v, %v", stages, err)
		}
		return stages[0][0]
	}
	first, same, other := once("a"), once("a"), once("b")
	job, _ := first.Object.(*batchv1.Job)
	if first.Name != same.Name || first.Name == other.Name || first.Revisions != "setup" || other.Revisions != "setup" {
		t.Errorf("%s, %s and %s, of %s and %s", first.Name, same.Name, other.Name, first.Revisions, other.Revisions)
	}
	if job.Name != "one-"+first.Name || !strings.HasPrefix(first.Name, "setup-") || *job.Spec.BackoffLimit != 3 {
		t.Errorf("%s is called %s, and is tried %d times more", first.Name, job.Name, *job.Spec.BackoffLimit)
	}
}

// TestClientHasNoDatabaseOrUser checks that a service that is only a client has neither a database nor a user, reads only its own files,
// and trusts Keystone's CA.
func TestClientHasNoDatabaseOrUser(t *testing.T) {
	d := Definition{
		App: "placement", Title: "Example", Port: 8778, Module: "example.wsgi:application", HealthPath: "/up", RequiresHostHeader: true, WithoutOsloConfig: true,
	}
	parts := struct {
		common.ServiceBase `json:",inline"`
		Identity           common.KeystoneReference `json:"identity"`
	}{}
	if err := yaml.Unmarshal([]byte(exampleSpec), &parts); err != nil {
		t.Fatal(err)
	}
	b, err := d.Derive(Input{Meta: metav1.ObjectMeta{Name: "one", Namespace: "cloud"}, Spec: Spec{
		ServiceSpec: &common.ServiceSpec{ServiceBase: parts.ServiceBase}, Workload: &common.Workload{}, UWSGI: &common.UWSGI{},
		Identity: &common.Identity{KeystoneReference: parts.Identity},
	}})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := b.With(Extension{
		Config: Configuration{Files: []ExtraFile{{Name: "settings", Text: "a = 1\n"}}},
		Access: Access{Accounts: []Account{{Resource: "key", Secret: "one-key", User: "key"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &rendered
	if s.Effective != s.TargetRelease || s.TargetRelease == "" {
		t.Errorf("it waits: %q runs, and %q is wanted", s.Effective, s.TargetRelease)
	}
	if diff := cmp.Diff([]string{workload.HealthFile, "settings", UWSGIFile}, slices.Sorted(maps.Keys(s.Files.Data))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	credentials, err := buildCredentials(s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range credentials[0] {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"key-generator", "key-secret"}, names); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	out, err := s.Outbound()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]workload.Flow{{Ports: []int32{11211, 11212, 5000}}}, out); diff != "" {
		t.Errorf("where it goes (-want +got):\n%s", diff)
	}
	c := s.APIPod().Containers[0]
	if len(c.Env) != 0 {
		t.Errorf("it has the variables %v", c.Env)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	want := map[string]string{
		"/etc/placement/uwsgi.ini": "config", "/etc/placement/settings": "config", "/etc/placement/identity-ca": "identity-ca",
		"/etc/placement/tls": "tls", "/etc/placement/health.py": "config",
	}
	if diff := cmp.Diff(want, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	host := []corev1.HTTPHeader{{Name: "Host", Value: "one.cloud.svc"}}
	if diff := cmp.Diff(host, c.StartupProbe.HTTPGet.HTTPHeaders); diff != "" {
		t.Errorf("host of the probe (-want +got):\n%s", diff)
	}
	for name, p := range map[string]*corev1.Probe{"readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if p.HTTPGet == nil || p.HTTPGet.Port.String() != workload.HealthPortName || p.HTTPGet.Scheme != corev1.URISchemeHTTP {
			t.Errorf("the %s probe needs a slot of a request: %v", name, p.ProbeHandler)
		}
	}
}

// TestTimeouts checks that limits follow the tenant's options, and are never lower than the longest legal request.
func TestTimeouts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec     string
		harakiri, during time.Duration
	}{
		"default": {"No option is set.", "{}", 90 * time.Second, 2 * time.Minute},
		"stored":  {"The default of earlier versions, which objects have kept.", "{uwsgi: {harakiriSeconds: 60}}", 90 * time.Second, 2 * time.Minute},
		"longer":  {"The spec sets it.", "{uwsgi: {harakiriSeconds: 600}}", 10 * time.Minute, 10*time.Minute + 30*time.Second},
	} {
		s, err := derived(t, tc.spec)
		if err != nil {
			t.Fatal(err)
		}
		if s.Server.Harakiri != tc.harakiri || s.ProxyTimeout() != tc.during {
			t.Errorf("%s: %s harakiri %s, proxies %s; want %s, %s", name, tc.reason, s.Server.Harakiri, s.ProxyTimeout(), tc.harakiri, tc.during)
		}
		health := workload.HealthEndpoint{
			Address: ":1717", File: "/etc/placement/health.py", Hung: tc.during + 30*time.Second, Absent: time.Minute,
		}
		if diff := cmp.Diff(health, s.Server.Health); diff != "" {
			t.Errorf("%s: %s health endpoint (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestJobResourcesDefaultToAPI tests that Jobs have the resources of the API, unless the service sets others.
func TestJobResourcesDefaultToAPI(t *testing.T) {
	s, err := derived(t, `{resources: {limits: {memory: 3Gi}}}`)
	if err != nil {
		t.Fatal(err)
	}
	own := workload.Resources("50m", "128Mi", "256Mi")
	other, err := s.With(Extension{Jobs: Jobs{Resources: own}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		s    *Service
		want *common.Resources
	}{
		"API": {s, s.Workload.Resources}, "own": {&other, own},
	} {
		for _, w := range []workload.Workload{tc.s.JobWorkload(), tc.s.CheckWorkload()} {
			if w.Resources != tc.want {
				t.Errorf("%s: a Job of %s has the resources %v, want %v", name, w.Component, w.Resources, tc.want)
			}
		}
	}
}

// TestWith tests that options of the tenant that are not valid in the release that runs are an error, and that files are
// rendered for that release and for the release of the upgrade.
func TestWith(t *testing.T) {
	s, err := derived(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	if s.SchemaFiles.Name != s.Files.Name {
		t.Errorf("without an upgrade, the files are %s and %s", s.Files.Name, s.SchemaFiles.Name)
	}
	upgraded := *s.Base
	upgraded.Effective = "2025.1"
	x := Extension{Config: Configuration{Options: oslo.Config{"DEFAULT": {"debug": true}}}}
	both, err := upgraded.With(x)
	if err != nil {
		t.Fatal(err)
	}
	for release, text := range map[string]string{"2025.1": both.Files.Data["placement.conf"], "2025.2": both.SchemaFiles.Data["placement.conf"]} {
		if !strings.Contains(text, "debug = true") {
			t.Errorf("the options of the service are missing in %s:\n%s", release, text)
		}
	}
	unknown := *s.Spec.ServiceSpec
	unknown.Config = common.Config{"DEFAULT": {"no_such_option": {Raw: []byte("1")}}}
	upgraded.Spec.ServiceSpec = &unknown
	if _, err := upgraded.With(x); !invalid.Is(err) {
		t.Errorf("got %v, want an error about the option", err)
	}
}
