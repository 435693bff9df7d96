package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

func TestAddressesFollowExposure(t *testing.T) {
	const (
		internal = "https://keystone." + instance + ".svc:5000/v3"
		gateway  = "{type: GatewayAPI, gateway: {name: public, namespace: gateways}}"
		paths    = "{type: GatewayAPI, routing: Paths, gateway: {name: public, namespace: gateways}}"
	)
	type want struct{ Public, Hostname, Path string }
	cases := map[string]struct {
		reason, spec, platform string
		want                   want
	}{
		"not exposed": {
			reason: "Without an exposure there is only the internal address.", spec: "{}", platform: bare, want: want{Public: internal},
		},
		"switched off": {
			reason: "The claim overrides the platform.", spec: "{global: {exposure: {type: None}}}",
			platform: "{domain: example.com, exposure: " + gateway + "}", want: want{Public: internal},
		},
		"hostnames": {
			reason: "The domain consists of claim, namespace and the platform's domain.", spec: "{}",
			platform: "{domain: example.com, exposure: " + gateway + "}",
			want:     want{Public: "https://keystone.cloud.tenant-a.example.com/v3", Hostname: "keystone.cloud.tenant-a.example.com"},
		},
		"domain": {
			reason: "The claim sets its own domain.", spec: "{global: {domain: a.example.org, exposure: " + gateway + "}}", platform: bare,
			want: want{Public: "https://keystone.a.example.org/v3", Hostname: "keystone.a.example.org"},
		},
		"hostname": {
			reason: "The claim sets the host name.", spec: "{services: {keystone: {hostname: login.example.org}}, global: {exposure: " + gateway + "}}", platform: bare,
			want: want{Public: "https://login.example.org/v3", Hostname: "login.example.org"},
		},
		"paths": {
			reason: "All services share the domain.", spec: "{global: {domain: a.example.org, exposure: " + paths + "}}", platform: bare,
			want: want{Public: "https://a.example.org/identity/v3", Hostname: "a.example.org", Path: "/identity"},
		},
		"paths at a host": {
			reason:   "A host name of the claim is used with paths, too.",
			spec:     "{services: {keystone: {hostname: login.example.org}}, global: {exposure: " + paths + "}}",
			platform: bare, want: want{Public: "https://login.example.org/identity/v3", Hostname: "login.example.org", Path: "/identity"},
		},
		"without TLS": {
			reason: "Only public addresses are served without TLS.", spec: "{global: {domain: a.org, tls: {enabled: false}, exposure: {type: Ingress, ingressController: other}}}", platform: bare,
			want: want{Public: "http://keystone.a.org/v3", Hostname: "keystone.a.org"},
		},
		"platform without TLS": {
			reason:   "It applies to a claim without the setting.",
			spec:     "{global: {domain: a.org, exposure: {type: Ingress, ingressController: other}}}",
			platform: "{domain: example.com, tls: {enabled: false}, limits: [" + limittest.Everything + "]}",
			want:     want{Public: "http://keystone.a.org/v3", Hostname: "keystone.a.org"},
		},
		"TLS over platform": {
			reason: "The claim overrides the platform.", spec: "{global: {domain: a.org, tls: {enabled: true}, exposure: {type: Ingress, ingressController: other}}}",
			platform: "{domain: example.com, tls: {enabled: false}, limits: [" + limittest.Everything + "]}",
			want:     want{Public: "https://keystone.a.org/v3", Hostname: "keystone.a.org"},
		},
		"limit's domain": {
			reason: "The endpoint is in the limit's first domain.", spec: "{}",
			platform: "{domain: example.com, exposure: " + gateway + ", limits: [{name: a, namespaces: [tenant-a], domains: [trial.example.org, example.net]}]}",
			want:     want{Public: "https://keystone.cloud.tenant-a.trial.example.org/v3", Hostname: "keystone.cloud.tenant-a.trial.example.org"},
		},
		"limit's domain of namespace": {
			reason: "The domain of a limit may contain the namespace.", spec: "{}",
			platform: "{domain: example.com, exposure: " + gateway + ", limits: [{name: a, namespaces: [tenant-a], domains: ['{namespace}.example.org']}]}",
			want:     want{Public: "https://keystone.cloud.tenant-a.example.org/v3", Hostname: "keystone.cloud.tenant-a.example.org"},
		},
		"two limits": {
			reason: "The first domain that both limits allow is used.", spec: "{}",
			platform: "{domain: example.com, exposure: " + gateway + `, limits: [
				{name: a, namespaces: [tenant-a], domains: [example.org, b.example.net]}, {name: b, namespaces: ["*"], domains: [example.net]}]}`,
			want: want{Public: "https://keystone.cloud.tenant-a.b.example.net/v3", Hostname: "keystone.cloud.tenant-a.b.example.net"},
		},
		"any domain": {
			reason: "If all domains are allowed, the platform's is used.", spec: "{}",
			platform: "{domain: example.com, exposure: " + gateway + ", limits: [" + limittest.Everything + "]}",
			want:     want{Public: "https://keystone.cloud.tenant-a.example.com/v3", Hostname: "keystone.cloud.tenant-a.example.com"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := derived(t, tc.spec, tc.platform)
			got := want{Public: m.Identity.Endpoints.Public}
			if e := m.Identity.Exposure; e != nil {
				got.Hostname, got.Path = string(e.Hostname), e.Path
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if m.Identity.Endpoints.Internal != internal {
				t.Errorf("%s\ninternal address %s, want %s", tc.reason, m.Identity.Endpoints.Internal, internal)
			}
		})
	}
}

func TestDatabaseHostAndMembersFollowSpec(t *testing.T) {
	type want struct {
		Host    string
		Members int32
		Proxies int32
	}
	cases := map[string]struct {
		reason, spec string
		want         want
	}{
		"development":   {"A single server.", "{size: development}", want{"mariadb", 1, 0}},
		"small":         {"The operator's Service of the primary.", "{}", want{"mariadb-primary", 3, 0}},
		"medium":        {"The proxy routes writes to the primary.", "{size: medium}", want{"maxscale", 3, 2}},
		"large":         {"The proxy routes writes to the primary.", "{size: large}", want{"maxscale", 3, 3}},
		"one of medium": {"A single server needs no proxy.", "{size: medium, infrastructure: {mariadb: {replicas: 1}}}", want{"mariadb", 1, 0}},
		"enabled":       {"The claim can enable it.", "{size: development, infrastructure: {mariadb: {maxScale: {enabled: true}}}}", want{"maxscale", 1, 1}},
		"number of one": {"A number enables it, too.", "{infrastructure: {mariadb: {maxScale: {replicas: 3}}}}", want{"maxscale", 3, 3}},
		"number, off":   {"The claim disables it.", "{infrastructure: {mariadb: {maxScale: {enabled: false, replicas: 3}}}}", want{"mariadb-primary", 3, 0}},
		"number":        {"The claim sets the number.", "{size: large, infrastructure: {mariadb: {replicas: 5, maxScale: {replicas: 4}}}}", want{"maxscale", 5, 4}},
		"disabled":      {"The claim disables it.", "{size: large, infrastructure: {mariadb: {maxScale: {enabled: false}}}}", want{"mariadb-primary", 3, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := derived(t, tc.spec, bare)
			tc.want.Host += "." + instance + ".svc"
			if diff := cmp.Diff(tc.want, want{m.DatabaseSpec().Host, m.DatabaseReplicas(), m.MaxScaleReplicas()}); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// podSecurityOf returns the standard that the composed namespace enforces.
func podSecurityOf(t *testing.T, m *model) any {
	t.Helper()
	return at(object(t, composed(t, m, namespace)["namespace"]), "metadata", "labels", "pod-security.kubernetes.io/enforce")
}

// TestPodSecurityLevelAdmitsAllPods checks that namespaces enforce a standard that all of their pods were admitted with.
func TestPodSecurityLevelAdmitsAllPods(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"one":    {"All pods are admitted.", "{size: development, infrastructure: {valkey: {enabled: false}}}", "restricted"},
		"Galera": {"The init container of members is rejected.", "{size: medium, infrastructure: {valkey: {enabled: false}}}", "baseline"},
		"two":    {"Two members are a cluster.", "{size: development, infrastructure: {valkey: {enabled: false}, mariadb: {replicas: 2}}}", "baseline"},
		"MaxScale": {
			"MaxScale is rejected.", "{size: development, infrastructure: {valkey: {enabled: false}, mariadb: {maxScale: {enabled: true}}}}", "baseline",
		},
		"NFS": {
			"The node mounts the shares of volumes.",
			`{size: development, infrastructure: {valkey: {enabled: false}}, services: {cinder: {enabled: true, backends: [{name: a, nfs: {shares: ["a:/b"]}}]},
				glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Gi}}]}}}`, "baseline",
		},
		"Valkey": {"Its pods were not tested.", "{size: development}", "baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := podSecurityOf(t, derived(t, tc.spec, queued)); got != tc.want {
				t.Errorf("%s\ngot %s", tc.reason, got)
			}
		})
	}
}

// TestExistingDatabaseRetainsRootPassword checks that a password is never generated for a database that has one.
func TestExistingDatabaseRetainsRootPassword(t *testing.T) {
	const (
		restored = `{infrastructure: {mariadb: {restoreFrom: {s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
		provided = `{infrastructure: {mariadb: {restoreFrom: {rootPasswordSecretRef: {name: old-root, key: password},
			s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
	)
	type rootPassword struct{ generator, secret bool }
	empty := structOf(t, map[string]any{})
	for name, tc := range map[string]struct {
		reason, spec string
		observed     map[string]*structpb.Struct
		want         rootPassword
	}{
		"New":      {"A new database gets a generated password.", "{}", nil, rootPassword{true, true}},
		"Restored": {"It is the password of the backup, from the tenant's Secret.", provided, nil, rootPassword{secret: true}},
		"RestoredByHand": {
			"An administrator created the Secret of the database before claims had the field.", restored,
			map[string]*structpb.Struct{"database": empty}, rootPassword{},
		},
		"Edited": {
			"restoreFrom was added later: the database was lost, and its Secrets exist.", restored,
			map[string]*structpb.Struct{"database-root-secret": empty, "database": empty}, rootPassword{true, true},
		},
		"EditedAtOnce": {
			"restoreFrom was added before a password was generated: existing objects are kept, and no other is created.", provided,
			map[string]*structpb.Struct{"database-root-generator": empty}, rootPassword{true, true},
		},
		"Done": {
			"restoreFrom was removed, and the database has the provided password.", "{}", map[string]*structpb.Struct{"database": empty}, rootPassword{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, bare, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			all := composed(t, m, database)
			_, generator := all["database-root-generator"]
			_, secret := all["database-root-secret"]
			if got := (rootPassword{generator, secret}); got != tc.want {
				t.Errorf("%s\ngot %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestNumbersOverrideSize checks that the numbers of the claim override the numbers of its size.
func TestNumbersOverrideSize(t *testing.T) {
	m := derived(t, "{size: large, infrastructure: {mariadb: {replicas: 1}, memcached: {replicas: 7}}, services: {keystone: {replicas: 9}}}", bare)
	if got := m.DatabaseReplicas(); got != 1 {
		t.Errorf("%d members of the database", got)
	}
	if got := len(m.CacheServers(m.SharedCache())); got != 7 {
		t.Errorf("%d members of the cache", got)
	}
	if got := xrOf[*keystonev1.Keystone](t, m, services.IdentityService).Spec.Replicas; got == nil || *got != 9 {
		t.Errorf("%v pods of Keystone", got)
	}
}

func TestRejectsInvalidClaims(t *testing.T) {
	const platform = `{domain: example.com, clusters: [
		{name: mine, providerConfig: mine, allowedNamespaces: ["tenant-*"]}, {name: theirs, providerConfig: theirs, allowedNamespaces: [tenant-b, "*-tenant-a"]}],
		exposure: {type: GatewayAPI, gateway: {namespace: a, name: b}},
		limits: [{name: trial, namespaces: ["tenant-?x", tenant-b], sizes: [development]},
		{name: house, namespaces: ["*"], releases: ["2025.1", "2025.2"], registries: [ghcr.io/c5c3], domains: [example.com, example.org]}]}`
	keystoneRuns := func(release string) map[string]*structpb.Struct {
		return map[string]*structpb.Struct{"keystone": structOf(t, fields(t, "{status: {release: '"+release+"'}}"))}
	}
	databaseHas := func(members string) map[string]*structpb.Struct {
		return map[string]*structpb.Struct{"database": structOf(t, fields(t, "{spec: {replicas: "+members+"}}"))}
	}
	cases := map[string]struct {
		reason, spec   string
		observed       map[string]*structpb.Struct
		field, message string
	}{
		"fine":               {reason: "The claim is valid.", spec: "{size: large}"},
		"cluster":            {reason: "The cluster is available to the namespace.", spec: "{cluster: {ref: {name: mine}}}"},
		"another's cluster":  {reason: "The cluster is not available to the namespace.", spec: "{cluster: {ref: {name: theirs}}}", field: "spec.cluster.ref.name", message: `cluster "theirs" is not available`},
		"no cluster":         {reason: "The cluster does not exist; the error is the same.", spec: "{cluster: {ref: {name: none}}}", field: "spec.cluster.ref.name", message: `cluster "none" is not available`},
		"size":               {reason: "An API server rejects it, too.", spec: "{size: huge}", field: "spec.size", message: "development, large, medium, small"},
		"release":            {reason: "An API server rejects it, too.", spec: "{openStackRelease: '2020.1'}", field: "spec.openStackRelease", message: "2025.1"},
		"release of limit":   {reason: "The limit does not allow the release.", spec: "{openStackRelease: '2026.1'}", field: "spec.openStackRelease", message: `limit "house" allows 2025.1, 2025.2`},
		"registry":           {reason: "The limit does not allow the registry.", spec: "{global: {images: {registry: docker.io}}}", field: "spec.global.images.registry", message: "ghcr.io/c5c3"},
		"registry's brother": {reason: "A prefix ends at a slash.", spec: "{global: {images: {registry: ghcr.io/c5c3x}}}", field: "spec.global.images.registry", message: "ghcr.io/c5c3"},
		"registry's child":   {reason: "The registry is below the allowed one.", spec: "{global: {images: {registry: ghcr.io/c5c3/mirror}}}"},
		"cache's image":      {reason: "Limits apply to every image.", spec: "{infrastructure: {memcached: {image: {repository: docker.io/a/b}}}}", field: "spec.infrastructure.memcached.image.repository"},
		"proxy's image": {
			reason: "Limits apply to every image.",
			spec:   "{services: {keystone: {federation: {proxyImage: {repository: docker.io/a/b}}}}}", field: "spec.services.keystone.federation.proxyImage.repository",
		},
		"domain":           {reason: "The domain is not below an allowed one.", spec: "{global: {domain: example.net}}", field: "spec.global.domain", message: "example.com, example.org"},
		"domain's brother": {reason: "A domain starts after a dot.", spec: "{global: {domain: myexample.com}}", field: "spec.global.domain"},
		"domain's child":   {reason: "Host names may be below an allowed domain, or equal to it.", spec: "{global: {domain: a.example.org}, services: {keystone: {hostname: example.com}}}"},
		"hostname":         {reason: "Limits apply to host names, too.", spec: "{services: {keystone: {hostname: login.example.net}}}", field: "spec.services.keystone.hostname"},
		"schedule":         {reason: "There is no 13th month.", spec: "{services: {keystone: {fernet: {rotationSchedule: '0 0 1 13 *'}}}}", field: "spec.services.keystone.fernet.rotationSchedule", message: "13"},
		"option":           {reason: "The claim reports the error before Keystone is composed.", spec: "{services: {keystone: {config: {token: {cache_time: x}}}}}", field: "spec.services.keystone.config.token.cache_time"},
		"ldap option": {
			reason: "The same for a directory.",
			spec:   "{services: {keystone: {identityBackends: [{domain: a, ldap: {options: {x: y}}}]}}}", field: "spec.services.keystone.identityBackends[0].ldap.options.x",
		},
		"upgrade":   {reason: "The next release.", spec: "{openStackRelease: '2025.2'}", observed: keystoneRuns("2025.1")},
		"downgrade": {reason: "Downgrades are not supported.", spec: "{openStackRelease: '2025.1'}", observed: keystoneRuns("2025.2"), field: "spec.openStackRelease", message: "2025.2"},
		"aborted": {reason: "The schema still supports the previous release.", spec: "{openStackRelease: '2025.1'}", observed: map[string]*structpb.Struct{
			"keystone": structOf(t, fields(t, "{status: {release: '2025.2', previousRelease: '2025.1'}}")),
		}},
		"cluster of a server": {
			reason: "The operator adds no volumes.", spec: "{infrastructure: {mariadb: {replicas: 3}}}", observed: databaseHas("1"),
			field: "spec.infrastructure.mariadb.replicas", message: "cluster of 3",
		},
		"larger size": {
			reason: "The same with the number of the size.", spec: "{size: small}", observed: databaseHas("1"),
			field: "spec.infrastructure.mariadb.replicas", message: "set it to 1 to keep",
		},
		"larger size, kept": {reason: "The claim keeps the server.", spec: "{size: small, infrastructure: {mariadb: {replicas: 1}}}", observed: databaseHas("1")},
		"server of a cluster": {
			reason: "It is untested whether data is kept.", spec: "{infrastructure: {mariadb: {replicas: 1}}}", observed: databaseHas("3"),
			field: "spec.infrastructure.mariadb.replicas", message: "set it to 3 to keep",
		},
		"smaller cluster": {reason: "A cluster can be scaled down.", spec: "{infrastructure: {mariadb: {replicas: 3}}}", observed: databaseHas("5")},
		"larger cluster":  {reason: "A cluster can be scaled up.", spec: "{infrastructure: {mariadb: {replicas: 5}}}", observed: databaseHas("3")},
		"no release":      {reason: "Keystone does not report a release yet.", spec: "{openStackRelease: '2025.1'}", observed: keystoneRuns("")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, platform, tc.observed))
			switch {
			case tc.field != "":
				requireFieldError(t, tc.reason, err, tc.field, tc.message)
			case err != nil || m == nil:
				t.Errorf("%s\nerror %v", tc.reason, err)
			}
		})
	}
}

// TestComposesNoObjectsWithoutPlatformConfig checks that nothing is composed without the PlatformConfig, because the cloud would be
// different. It is not an error of the tenant.
func TestComposesNoObjectsWithoutPlatformConfig(t *testing.T) {
	in := input(t, "{}", bare, nil)
	in.Required = map[string][]*structpb.Struct{"platform": {}}
	if _, err := derive(in); err == nil || invalid.Is(err) {
		t.Errorf("error %v", err)
	}
}

// TestClaimOverridesPlatform checks that the claim's settings override the platform's.
func TestClaimOverridesPlatform(t *testing.T) {
	const platform = `{domain: example.com, monitoring: {enabled: true}, secretStore: {name: theirs}, images: {registry: theirs.example.com, pullSecrets: [theirs]},
		limits: [` + limittest.Everything + `]}`
	type want struct {
		Monitoring bool
		Store      string
		Registry   string
		Pull       []common.ObjectName
	}
	for name, tc := range map[string]struct {
		spec string
		want want
	}{
		"nothing":  {"{}", want{true, "theirs", "theirs.example.com", []common.ObjectName{"platform-pull-theirs"}}},
		"all":      {"{global: {monitoring: {enabled: false}, secretStore: {name: ours}, images: {registry: ours.example.com, pullSecrets: [a, b]}}}", want{false, "ours", "ours.example.com", []common.ObjectName{"claim-pull-a", "claim-pull-b"}}},
		"registry": {"{global: {images: {registry: ours.example.com}}}", want{true, "theirs", "ours.example.com", []common.ObjectName{"platform-pull-theirs"}}},
		"secrets":  {"{global: {images: {pullSecrets: []}}}", want{true, "theirs", "theirs.example.com", []common.ObjectName{"platform-pull-theirs"}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := derived(t, tc.spec, platform)
			got := want{m.Monitoring.Enabled, string(m.SecretStore.Name), m.Images.Registry, m.Images.PullSecrets}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInstanceWithoutClaimUsesOwnName checks that a composite resource without a claim uses its own name.
func TestInstanceWithoutClaimUsesOwnName(t *testing.T) {
	if got := derived(t, "{}", bare).Instance; got != instance {
		t.Errorf("instance %s, want %s", got, instance)
	}
	in := input(t, "{}", bare, nil)
	in.Claim = function.Claim{}
	m, err := derive(in)
	if err != nil || m.Ref.Name != "cloud-x7d2f" || m.Instance == instance {
		t.Errorf("instance %s of %v (%v)", m.Instance, m.Ref, err)
	}
	if m.Domain != "cloud-x7d2f.example.com" {
		t.Errorf("domain %s", m.Domain)
	}
}
