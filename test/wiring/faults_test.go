package wiring_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

type fields = map[string]any

// example returns the objects composed for an example of a control plane.
func example(t *testing.T, name string) wiring.Cloud {
	t.Helper()
	return exampleAt(t, "controlplane/"+name)
}

// composed contains the clouds of exampleAt by path: many tests break the same examples.
var composed = map[string]wiring.Cloud{}

func exampleAt(t *testing.T, path string) wiring.Cloud {
	t.Helper()
	if c, ok := composed[path]; ok {
		return copied(t, c)
	}
	claim, err := examples.Files.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := preview.Run(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	var c wiring.Cloud
	for _, doc := range [][]byte{claim, examples.Platform} {
		m := fields{}
		if err := yaml.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}
		c.Given = append(c.Given, m)
	}
	for _, o := range r.Objects {
		c.Objects = append(c.Objects, wiring.Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
	}
	composed[path] = copied(t, c)
	return c
}

// copied returns a copy of a cloud that can be changed independently.
func copied(t *testing.T, c wiring.Cloud) wiring.Cloud {
	t.Helper()
	out := wiring.Cloud{HasTLS: c.HasTLS}
	for _, m := range c.Given {
		out.Given = append(out.Given, copiedFields(t, m))
	}
	for _, o := range c.Objects {
		out.Objects = append(out.Objects, wiring.Object{Stage: o.Stage, Manifest: copiedFields(t, o.Manifest)})
	}
	return out
}

func copiedFields(t *testing.T, m fields) fields {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := fields{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// inner returns an object without its wrapper.
func inner(m fields) fields {
	if m["kind"] == "Object" {
		return m["spec"].(fields)["forProvider"].(fields)["manifest"].(fields)
	}
	return m
}

// A breaking changes a cloud.
type breaking func(t *testing.T, c *wiring.Cloud)

// in returns the object of a kind whose name has a prefix, "" for any composed kind.
func in(t *testing.T, c *wiring.Cloud, kind, name string) *wiring.Object {
	t.Helper()
	for i, o := range c.Objects {
		m := inner(o.Manifest)
		if m["kind"] == kind && strings.HasPrefix(m["metadata"].(fields)["name"].(string), name) && (kind != "Service" || m["apiVersion"] == "v1") {
			return &c.Objects[i]
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// replace substitutes a text everywhere in an object.
func replace(kind, name, from, to string) breaking {
	return func(t *testing.T, c *wiring.Cloud) {
		o := in(t, c, kind, name)
		data, err := json.Marshal(o.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), from) {
			t.Fatalf("%s %s has no %s", kind, name, from)
		}
		o.Manifest = fields{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), from, to)), &o.Manifest); err != nil {
			t.Fatal(err)
		}
	}
}

// without removes the value at a path; numbers are indices of lists.
func without(kind, name string, path ...any) breaking { return with(kind, name, nil, path...) }

// with sets the value at a path.
func with(kind, name string, value any, path ...any) breaking {
	return func(t *testing.T, c *wiring.Cloud) {
		var at any = inner(in(t, c, kind, name).Manifest)
		for i, step := range path {
			last := i == len(path)-1
			switch step := step.(type) {
			case string:
				m := at.(fields)
				if last && value == nil {
					if m[step] == nil {
						t.Fatalf("%s %s has nothing at %v", kind, name, path)
					}
					delete(m, step)
				} else if last {
					m[step] = value
				}
				at = m[step]
			case int:
				at = at.([]any)[step]
			}
		}
	}
}

// deleted removes an object.
func deleted(kind, name string) breaking {
	return func(t *testing.T, c *wiring.Cloud) {
		o := in(t, c, kind, name)
		c.Objects = slices.DeleteFunc(c.Objects, func(other wiring.Object) bool { return &other.Manifest == &o.Manifest || same(other, *o) })
	}
}

func same(a, b wiring.Object) bool {
	x, y := inner(a.Manifest), inner(b.Manifest)
	return x["kind"] == y["kind"] && x["apiVersion"] == y["apiVersion"] && x["metadata"].(fields)["name"] == y["metadata"].(fields)["name"]
}

var (
	podSpec   = []any{"spec", "template", "spec"}
	container = append(slices.Clone(podSpec), "containers", 0)
)

func below(path []any, more ...any) []any { return append(slices.Clone(path), more...) }

// sampled returns the names of a third of the faults in make test, and of all in make test-long: judging a cloud takes
// a tenth of a CPU-second.
func sampled[T any](faults map[string]T) []string {
	return effort.Sample(slices.Sorted(maps.Keys(faults)), 3)
}

// TestEachFaultIsReported checks that an example has no findings, and that each fault results in the finding that describes it.
func TestEachFaultIsReported(t *testing.T) {
	full := example(t, "full.yaml")
	if found := wiring.Check(full); len(found) > 0 {
		t.Fatalf("an example has findings: %q", found)
	}
	faults := map[string]struct {
		reason string
		breaks breaking
		want   string
	}{
		"SecretKeyNobodyMakes": {
			"Its pods would never start.", replace("Deployment", "keystone", `"key":"client-secret"`, `"key":"secret"`),
			"Secret keystone-federation-client has no key secret",
		},
		"HalfABackup": {
			"The restored Secret is no login.", replace("PushSecret", "keystone-database", `"secretKey":"password"`, `"secretKey":"username"`),
			"Secret keystone-database is pushed to a store without its key password",
		},
		"SecretNobodyMakes": {
			"The generator and its Secret are gone.", deleted("ExternalSecret", "keystone-federation"),
			"Deployment keystone reads key password of Secret keystone-federation as OIDC_CRYPTO_PASSPHRASE: no object creates Secret keystone-federation",
		},
		"UserNameForPassword": {
			"The wrong key of the right Secret.", replace("Job", "keystone-bootstrap", `"key":"password","name":"keystone-admin"`, `"key":"username","name":"keystone-admin"`),
			"reads key username of Secret keystone-admin as OS_BOOTSTRAP_PASSWORD, which is a password: it is a text that is no secret",
		},
		"PasswordOfSomebodyElse": {
			"The right key of the wrong Secret.", replace("Job", "keystone-bootstrap", `"key":"password","name":"keystone-admin"`, `"key":"password","name":"keystone-database"`),
			"reads key password of Secret keystone-database as OS_BOOTSTRAP_PASSWORD of admin: it belongs to keystone",
		},
		"PasswordOfNoDatabaseUser": {
			"The database knows another one.", replace("Deployment", "keystone", `"key":"password","name":"keystone-database"`, `"key":"password","name":"keystone-admin"`),
			"logs in to the database as keystone with key password of Secret keystone-admin, which no User has",
		},
		"QueueAccountOfJob": {
			"Only Nova's tools read the account.", replace("CronJob", "nova-archive", "/etc/nova/nova.conf", "/etc/nova/other.conf"),
			"has an account on the queue, to which it does not connect",
		},
		"GrantOfAnotherDatabase": {
			"It may log in, and use nothing.", with("Grant", "keystone", "nova", "spec", "database"),
			"uses database keystone as keystone, for which there is no Database or no Grant",
		},
		"CertificateForAuthority": {
			"A server's certificate is no CA certificate.", replace("SecretAggregate", "keystone-clouds", `"key":"ca.crt"`, `"key":"tls.crt"`),
			"reads key tls.crt of Secret keystone-tls as ca, which is the certificate of an authority: it is a certificate",
		},
		"KeyForCertificate": {
			"The two files are exchanged.", replace("ConfigMap", "keystone-config", "SSLCertificateFile /etc/keystone/tls/tls.crt", "SSLCertificateFile /etc/keystone/tls/tls.key"),
			"reads /etc/keystone/tls/tls.key as SSLCertificateFile, which is a certificate: it is a private key",
		},
		"FileNotMounted": {
			"The configuration names a file that is nowhere.", replace("ConfigMap", "keystone-config", "policy_file = /etc/keystone/policy.yaml", "policy_file = /etc/keystone/policy.json"),
			"container keystone is configured to read /etc/keystone/policy.json, which is not mounted",
		},
		"KeysOfTheBucketExchanged": {
			"The store would refuse them.", replace("PhysicalBackup", "mariadb", `"key":"access-key-id"`, `"key":"secret-access-key"`),
			"as accessKeyIdSecretKeyRef, which is the ID of an access key: it is a secret access key",
		},
		"ServiceToNoPort": {
			"Its port has another name in the pods.", with("Service", "keystone", "http", "spec", "ports", 0, "targetPort"),
			"Service keystone leads port 5000 to port http of Deployment keystone, which has none",
		},
		"ServiceToNobody": {
			"Its selector does not match the pods.", with("Service", "companion", "companions", "spec", "selector", "app.kubernetes.io/component"),
			"Service companion leads to 0 kinds of pods",
		},
		"ServiceToJobs": {
			"It selects the pods of Jobs, too.", without("Service", "keystone", "spec", "selector", "app.kubernetes.io/component"),
			"Service keystone leads to the pods of Job keystone-bootstrap",
		},
		"AddressOfNoService": {
			"A name is misspelt.", replace("ConfigMap", "keystone-config", "-0.memcached-keystone.", "-0.memcache."),
			"there is no Service memcache",
		},
		"AddressOfNoPod": {
			"There are three.", replace("ConfigMap", "keystone-config", "-2.memcached-keystone.", "-3.memcached-keystone."),
			"Service memcached-keystone has no pod named memcached-keystone-3",
		},
		"AddressOfNoPort": {
			"The database listens at another port.", replace("Deployment", "keystone", "svc:3306/", "svc:3307/"),
			"Service maxscale has no port 3307",
		},
		"AddressOutsideNobodyNamed": {
			"It would leave the cluster.", replace("ConfigMap", "keystone-config", "https://keycloak.example.com", "https://keycloak.example.org"),
			"leads to keycloak.example.org:443, which is neither a Service here nor named by the claim or the platform",
		},
		"NameNotInCertificate": {
			"No client would trust it.", replace("Certificate", "keystone-tls", "keystone.tenant-a-production-dbd4d4ccb406adfdad45.svc\"", "keystone.example.svc\""),
			"a name that is not in the certificate of Deployment keystone",
		},
		"PlainLogin": {
			"The password would travel in the open.", replace("SecretAggregate", "keystone-clouds", "auth_url: https://", "auth_url: http://"),
			"SecretAggregate keystone-clouds uses http for keystone.tenant-a-production-dbd4d4ccb406adfdad45.svc:5000, which requires TLS",
		},
		"MonitorOfNothing": {
			"It scrapes a port that no Service has.", with("ServiceMonitor", "rabbitmq", "prometheus", "spec", "endpoints", 0, "port"),
			`ServiceMonitor rabbitmq scrapes port "prometheus", which no selected Service has`,
		},
		"RouteNotTLS": {
			"A gateway would use http.", deleted("BackendTLSPolicy", "keystone"), "which requires TLS, and no BackendTLSPolicy enables it",
		},
		"FlowNotLetIn": {
			"The server does not take its proxy's connections.", without("NetworkPolicy", "maxscale", "spec", "ingress"),
			"No policy of MaxScale maxscale lets through Deployment keystone to port 3306 of MaxScale maxscale",
		},
		"FlowNotLetOut": {
			"A port is missing.", with("NetworkPolicy", "keystone", 3307, "spec", "egress", 1, "ports", 0, "port"),
			"No policy of Deployment keystone lets through Deployment keystone to port 3306 of MaxScale maxscale",
		},
		"JobsNotLetOut": {
			"A component of Jobs is missing: the companion's Jobs for keys would wait forever.",
			with("NetworkPolicy", "service-jobs", []any{"bootstrap", "schema", "trust-flush"}, "spec", "podSelector", "matchExpressions", 0, "values"),
			"No policy of KeyRepository keystone-credential-keys's migration lets through",
		},
		"SuperfluousFlow": {
			"The companion has no business with the database.", with("NetworkPolicy", "companion", 3306, "spec", "egress", 2, "ports", 0, "port"),
			"Policies let through Deployment companion to port 3306 of MaxScale maxscale, which nothing needs",
		},
		"SuperfluousFromOutside": {
			"Another namespace's pods.", with("NetworkPolicy", "mariadb", "kube-system", "spec", "ingress", 5, "from", 0, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"),
			`lets namespace "kube-system" to port 3306 of MariaDB mariadb, which nothing in it needs`,
		},
		"SuperfluousToOutside": {
			"SSH.", with("NetworkPolicy", "keystone", 22, "spec", "egress", 2, "ports", 0, "port"),
			"lets Deployment keystone out to port 22 of everything, which nothing needs",
		},
		"DenialTooEarly": {
			"Pods would be cut off until their policies come.", func(t *testing.T, c *wiring.Cloud) { in(t, c, "NetworkPolicy", "memcached").Stage = 1000 },
			"NetworkPolicy default-deny comes before NetworkPolicy memcached",
		},
		"NoDenial": {"Every flow would be allowed.", deleted("NetworkPolicy", "default-deny"), "deny all other traffic, want one"},
		"TLSOff": {
			"Connections to the database are plain.", with("MariaDB", "mariadb", false, "spec", "tls", "enabled"), "MariaDB mariadb has TLS switched off in spec.tls",
		},
		"TLSNotRequired": {"Connections may be without TLS.", with("MariaDB", "mariadb", false, "spec", "tls", "required"), "does not request connections with TLS only"},
		"MembersWithoutName": {
			"Replicas of streams connect to it.", with("Certificate", "rabbitmq-members-tls", "another", "spec", "dnsNames", 0),
			"Certificate rabbitmq-members-tls is for members of RabbitmqCluster rabbitmq, and does not have the name rabbitmq-server-0",
		},
		"MembersWithoutTLS": {
			"Its certificate is unused.", without("RabbitmqCluster", "rabbitmq", "spec", "rabbitmq", "envConfig"),
			`RabbitmqCluster rabbitmq has TLS between members (false), and the Secret "rabbitmq-members-tls" for it`,
		},
		"QueueWithoutTLS": {"It also listens without TLS.", without("RabbitmqCluster", "rabbitmq", "spec", "tls", "disableNonTLSListeners"), "RabbitmqCluster rabbitmq does not request connections with TLS only"},
		"CertificateOfNobody": {
			"Its issuer does not exist.", with("Certificate", "keystone-tls", "ca", "spec", "issuerRef", "name"), "Certificate keystone-tls is to be issued by Issuer ca, which does not exist",
		},
		"NoLivenessProbe": {"It would hang for ever.", without("Deployment", "companion", below(container, "livenessProbe")...), "container companion has no liveness probe"},
		"NoReadinessProbe": {
			"It would get requests at once.", without("StatefulSet", "memcached", below(container, "readinessProbe")...), "container memcached has ports and no readiness probe",
		},
		"ProbeOfNoPort": {
			"It would never be ready.", with("Deployment", "keystone", 5001, below(container, "livenessProbe", "httpGet", "port")...),
			"container keystone has a probe at a port that no container of its pod has",
		},
		"ProbeWithoutTLS": {
			"It would never be ready.", without("Deployment", "keystone", below(container, "startupProbe", "httpGet", "scheme")...), "has a probe without TLS at a port with TLS",
		},
		"NoDrain": {"Requests would be lost.", without("Deployment", "keystone", below(container, "lifecycle")...), "container keystone stops before it is out of the Services"},
		"NoGrace": {
			"Requests would be cut off.", without("Deployment", "keystone", below(podSpec, "terminationGracePeriodSeconds")...), "Deployment keystone is killed before its requests are finished",
		},
		"NoResourcesOfTheSecond": {
			"The first has some.", without("Deployment", "keystone", below(podSpec, "containers", 1, "resources")...), "container federation-proxy has no limit of memory",
		},
		"NoSpread": {"All on one node.", without("Deployment", "keystone", below(podSpec, "topologySpreadConstraints")...), "Deployment keystone is not spread over nodes and zones"},
		"NoBudget": {"A drained node takes all of them.", deleted("PodDisruptionBudget", "keystone"), "Deployment keystone has 3 pods and 0 disruption budgets"},
		"BlockingBudget": {
			"No node can be drained.", with("PodDisruptionBudget", "keystone", 0, "spec", "maxUnavailable"), "PodDisruptionBudget keystone does not let exactly one pod of Deployment keystone go at a time",
		},
		"QueueWithoutBudget": {"Its operator makes none.", deleted("PodDisruptionBudget", "rabbitmq"), "RabbitmqCluster rabbitmq has 3 pods and no disruption budget"},
		"Root":               {"It may be root.", without("Deployment", "keystone", below(podSpec, "securityContext", "runAsNonRoot")...), "container keystone may run as root"},
		"MetricNobodyExports": {
			"The alert would never fire.", replace("PrometheusRule", "keystone", "kube_deployment_status_replicas_available", "kube_deployment_available"),
			"PrometheusRule keystone queries kube_deployment_available, which no known exporter exports",
		},
		"DashboardOfNothing": {
			"An empty panel.", replace("ConfigMap", "companion-dashboard", "companion_key_repository_keys", "companion_keys"), "queries companion_keys, which no known exporter exports",
		},
		"AlertOfAllNamespaces": {
			"The series include pods of other tenants.", replace("PrometheusRule", "keystone", `namespace=\"tenant-a-production-dbd4d4ccb406adfdad45\",deployment`, `deployment`), "queries series that may be of other namespaces",
		},
		"SecretFileNotRead": {
			"An attacker in the container would have keys that its program does not need.", replace("Deployment", "keystone", `"uwsgi"`, `"keystone-manage"`),
			"mounts /etc/keystone/fernet-keys (keys of a repository), and nothing states that",
		},
		"KindNobodyKnows": {
			"Its operator may make anything.", func(_ *testing.T, c *wiring.Cloud) {
				c.Objects = append(c.Objects, wiring.Object{Manifest: fields{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": fields{"name": "a"}}})
			}, "the table of operators has no entry for it",
		},
	}
	for _, name := range sampled(faults) {
		tc := faults[name]
		t.Run(name, func(t *testing.T) {
			c := copied(t, full)
			tc.breaks(t, &c)
			found := wiring.Check(c)
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("%s Found %d mistakes, want %q:\n%s", tc.reason, len(found), tc.want, strings.Join(found, "\n"))
			}
		})
	}
}

// TestTrustInCacheIsReported checks that a program that trusts the content of a cache is reported.
func TestTrustInCacheIsReported(t *testing.T) {
	cloud := example(t, "services.yaml")
	if findings := wiring.Check(cloud); len(findings) > 0 {
		t.Fatalf("an example has findings: %q", findings)
	}
	for name, tc := range map[string]struct {
		reason string
		change breaking
		want   string
	}{
		"client of another cache": {
			"Only Keystone may use its cache.", with("NetworkPolicy", "memcached-keystone", []any{"keystone", "placement"},
				"spec", "ingress", 0, "from", 0, "podSelector", "matchExpressions", 0, "values"),
			"Policies let through Deployment placement to port 11211 of StatefulSet memcached-keystone, which nothing needs",
		},
		"tokens without a strategy": {
			"A writer of the cache would issue tokens.", replace("ConfigMap", "placement-config", "memcache_security_strategy = ENCRYPT\\n", ""),
			"Deployment placement: container placement caches tokens that any writer can forge",
		},
		"tokens without a key": {
			"Requests would fail.",
			replace("Deployment", "placement", "OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY", "OS_KEYSTONE_AUTHTOKEN__OTHER_KEY"),
			"Deployment placement: container placement validates tokens without OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY of a Secret",
		},
		"released client": {
			"A writer of the cache would run code in Keystone.", replace("Deployment", "keystone", "PYTHONPATH", "OTHERPATH"),
			"Deployment keystone: container keystone loads pickles of other writers: it needs memcache.py in PYTHONPATH",
		},
		"client of a daemon": {
			"Daemons cache computed data.", replace("StatefulSet", "nova-scheduler", "PYTHONPATH", "OTHERPATH"),
			"StatefulSet nova-scheduler: container nova loads pickles of other writers",
		},
		"client without a password": {
			"The client would not start.", replace("Deployment", "placement", "CACHE_PASSWORD", "PASSWORD"),
			"Deployment placement: container placement loads pickles of other writers",
		},
		"sessions": {
			"A writer of the cache would run code in Horizon.",
			replace("ConfigMap", "horizon-config", "sealedsessions.Cache", "django.core.cache.backends.memcached.PyMemcacheCache"),
			"Deployment horizon: container horizon loads pickles of other writers by /etc/horizon/local_settings.py",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := copied(t, cloud)
			tc.change(t, &c)
			findings := wiring.Check(c)
			if !slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("%s Got %d mistakes, want %q:\n%s", tc.reason, len(findings), tc.want, strings.Join(findings, "\n"))
			}
		})
	}
}

// TestServiceNotYetEnabled checks that the objects of a future service are judged without any code for it.
func TestServiceNotYetEnabled(t *testing.T) {
	c := copied(t, example(t, "full.yaml"))
	for _, kind := range []string{"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"} {
		data, err := json.Marshal(in(t, &c, kind, "keystone").Manifest)
		if err != nil {
			t.Fatal(err)
		}
		m := fields{}
		renamed := strings.NewReplacer(`"app.kubernetes.io/instance":"keystone"`, `"app.kubernetes.io/instance":"glance"`,
			`"app.kubernetes.io/name":"keystone"`, `"app.kubernetes.io/name":"glance"`).Replace(string(data))
		if err := json.Unmarshal([]byte(renamed), &m); err != nil {
			t.Fatal(err)
		}
		m["metadata"].(fields)["name"] = "glance"
		if kind == "NetworkPolicy" {
			delete(m["spec"].(fields), "ingress")
		}
		c.Objects = append(c.Objects, wiring.Object{Manifest: m})
	}
	with("NetworkPolicy", "memcached-keystone", []any{"keystone", "glance"},
		"spec", "ingress", 0, "from", 0, "podSelector", "matchExpressions", 0, "values")(t, &c)
	if found := wiring.Check(c); len(found) > 0 {
		t.Fatalf("a good one is not: %q", found)
	}
	for name, tc := range map[string]struct {
		breaks breaking
		want   string
	}{
		"Probe":  {without("Deployment", "glance", below(container, "livenessProbe")...), "Deployment glance: container keystone has no liveness probe"},
		"Secret": {replace("Deployment", "glance", `"name":"keystone-database"`, `"name":"glance-database"`), "no object creates Secret glance-database"},
		"Port":   {with("Service", "glance", "http", "spec", "ports", 0, "targetPort"), "Service glance leads port 5000 to port http of Deployment glance"},
		"Flow":   {without("NetworkPolicy", "glance", "spec", "egress"), "No policy of Deployment glance lets through Deployment glance to port 3306"},
		"Budget": {deleted("PodDisruptionBudget", "glance"), "Deployment glance has 3 pods and 0 disruption budgets"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := copied(t, c)
			tc.breaks(t, &broken)
			if found := wiring.Check(broken); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}

// TestIngress checks that the certificate of an Ingress must be for its host.
func TestIngress(t *testing.T) {
	const host = "identity.production.tenant-a.example.com"
	for name, want := range map[string]bool{host: false, "*.production.tenant-a.example.com": false, "keystone.tenant-a.svc": true} {
		t.Run(name, func(t *testing.T) {
			c := copied(t, example(t, "full.yaml"))
			namespace := in(t, &c, "Service", "keystone").Manifest["metadata"].(fields)["namespace"]
			meta := fields{"name": "public", "namespace": namespace}
			c.Objects = append(c.Objects, wiring.Object{Manifest: fields{
				"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": meta,
				"spec": fields{"secretName": "public", "dnsNames": []any{name}, "issuerRef": fields{"name": "letsencrypt"}, "usages": []any{"server auth"}},
			}}, wiring.Object{Manifest: fields{
				"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta,
				"spec": fields{
					"rules": []any{fields{"host": host, "http": fields{"paths": []any{fields{"backend": fields{"service": fields{"name": "keystone", "port": fields{"number": 5000.0}}}}}}}},
					"tls":   []any{fields{"hosts": []any{host}, "secretName": "public"}},
				},
			}})
			found := wiring.Check(c)
			if got := slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, "whose certificate is not for that name") }); got != want {
				t.Errorf("found: %t, want %t: %q", got, want, found)
			}
		})
	}
}
