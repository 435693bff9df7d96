package mariadb

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

var server = Server{
	Meta: object.Meta{Name: "mariadb", Namespace: "cloud"}, Replicas: 3, RootSecret: "mariadb-root", StorageSize: "10Gi",
	Issuer: "internal-ca", BufferPool: "1G", Connections: 2048,
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func TestServer(t *testing.T) {
	with := func(f func(*Server)) Server {
		s := server
		f(&s)
		return s
	}
	bucket := Bucket{Name: "old", Endpoint: "s3:443", Secret: "s3", PrivateCA: true}
	for name, tc := range map[string]struct {
		reason string
		server Server
		want   map[string]any // by path, nil: not there
	}{
		"Galera": {
			"Several members are a Galera cluster.", server,
			map[string]any{"replicas": int64(3), "galera.enabled": true, "maxScaleRef": nil, "bootstrapFrom": nil, "storage.storageClassName": nil},
		},
		"recovery": {
			"The operator restarts the member that it found to be the most advanced, and does not think again.", server,
			map[string]any{"galera.recovery.enabled": true, "galera.recovery.clusterBootstrapTimeout": "720h0m0s"},
		},
		"one": {
			"One server alone is no cluster.", with(func(s *Server) { s.Replicas = 1 }),
			map[string]any{"replicas": int64(1), "galera": nil, "affinity": nil, "topologySpreadConstraints": nil},
		},
		"TLS": {
			"TLS is required, with certificates of the internal authority.", server,
			map[string]any{"tls.required": true, "tls.serverCertIssuerRef.name": "internal-ca", "tls.clientCertIssuerRef.kind": "Issuer"},
		},
		"password": {
			"The operator generates no password.", server,
			map[string]any{"rootPasswordSecretKeyRef.generate": false, "rootPasswordSecretKeyRef.name": "mariadb-root"},
		},
		"proxy": {
			"The operator is configured with the proxy that selects the primary.", with(func(s *Server) { s.MaxScale = "maxscale" }),
			map[string]any{"maxScaleRef.name": "maxscale", "maxScaleRef.namespace": "cloud"},
		},
		"restore": {
			"A new server starts from the backup.", with(func(s *Server) { s.Bootstrap = Bootstrap(bucket, "2026-05-01T03:00:00Z") }),
			map[string]any{
				"bootstrapFrom.s3.bucket": "old", "bootstrapFrom.targetRecoveryTime": "2026-05-01T03:00:00Z", "bootstrapFrom.backupContentType": "Physical",
				"bootstrapFrom.s3.tls.caSecretKeyRef.name": "s3", "bootstrapFrom.s3.region": nil, "bootstrapFrom.s3.prefix": nil,
			},
		},
		"class": {
			"A class that is named is taken.", with(func(s *Server) { s.StorageClass = "fast" }), map[string]any{"storage.storageClassName": "fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := tc.server.Object().Object["spec"]
			for path, want := range tc.want {
				if got := at(spec, strings.Split(path, ".")...); got != want {
					t.Errorf("%s\n%s is %v, want %v", tc.reason, path, got, want)
				}
			}
		})
	}
	for _, line := range []string{
		"[mariadb]\n", "max_connections=2048\n", "innodb_buffer_pool_size=1G\n", "character-set-server=utf8\n",
		"loose-innodb-snapshot-isolation=OFF\n", "loose-character-set-collations=utf8mb3=utf8mb3_general_ci,",
	} {
		if config, _ := at(server.Object().Object, "spec", "myCnf").(string); !strings.Contains(config, line) {
			t.Errorf("%q is not in the configuration:\n%s", line, config)
		}
	}
	earlier := with(func(s *Server) { s.DefaultCollations = true })
	if config, _ := at(earlier.Object().Object, "spec", "myCnf").(string); HasCollations(config) || !strings.Contains(config, "isolation=OFF\n") {
		t.Errorf("a server with MariaDB's collations has the configuration\n%s", config)
	}
}

// TestAccount tests that the account belongs to one service, is never dropped, and has no connection limit.
func TestAccount(t *testing.T) {
	a := Account{Meta: object.Meta{Name: "keystone", Namespace: "cloud"}, Server: "mariadb", Secret: "keystone-database"}
	for _, o := range []map[string]any{a.Database().Object, a.User().Object, a.Grant().Object} {
		if at(o, "spec", "cleanupPolicy") != "Skip" || at(o, "spec", "mariaDbRef", "name") != "mariadb" {
			t.Errorf("%v %v", o["kind"], o["spec"])
		}
	}
	if user := a.User().Object; at(user, "spec", "maxUserConnections") != int64(0) || at(user, "spec", "require", "ssl") != true {
		t.Errorf("user %v", user["spec"])
	}
	want := object.Map{
		"privileges": object.List{"ALL PRIVILEGES"}, "database": "keystone", "table": "*", "username": "keystone", "host": "%",
		"mariaDbRef": object.Map{"name": "mariadb"}, "cleanupPolicy": "Skip",
	}
	if diff := cmp.Diff(want, a.Grant().Object["spec"]); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
}

// TestSQLNamesCanDifferFromObjects tests that SQL names of databases and users can differ from the names of objects.
func TestSQLNamesCanDifferFromObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		account Account
		want    []string // the objects' name, the database's, the user's
	}{
		"one":       {"By default, all names are equal.", Account{Meta: object.Meta{Name: "glance"}}, []string{"glance", "glance", "glance"}},
		"database":  {"A Kubernetes name has no underscore.", Account{Meta: object.Meta{Name: "nova-api"}, Schema: "nova_api", Login: "nova"}, []string{"nova-api", "nova_api", "nova"}},
		"another's": {"A user with rights on another's database.", Account{Meta: object.Meta{Name: "nova-cell1"}, Login: "nova"}, []string{"nova-cell1", "nova-cell1", "nova"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := tc.account
			database, user, grant := a.Database().Object, a.User().Object, a.Grant().Object
			got := map[string]any{
				"Database": at(database, "spec", "name"), "User": at(user, "spec", "name"),
				"Grant's database": at(grant, "spec", "database"), "Grant's user": at(grant, "spec", "username"),
			}
			want := map[string]any{"Database": tc.want[1], "User": tc.want[2], "Grant's database": tc.want[1], "Grant's user": tc.want[2]}
			for kind, o := range map[string]object.Map{"Database": database, "User": user, "Grant": grant} {
				got[kind+" object"], want[kind+" object"] = at(o, "metadata", "name"), tc.want[0]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestURL tests that the URL is valid after Kubernetes has replaced the variable, and contains the password.
func TestURL(t *testing.T) {
	text := URL("keystone", "DATABASE_PASSWORD", "mariadb.cloud.svc.cluster.local", 3306, "keystone", "/etc/keystone/database-ca/ca.crt")
	u, err := url.Parse(strings.Replace(text, "$(DATABASE_PASSWORD)", "s3cr3t", 1))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	got := []string{u.Scheme, u.User.Username(), password, u.Host, u.Path, u.Query().Get("ssl_ca"), u.Query().Get("charset")}
	want := []string{"mysql+pymysql", "keystone", "s3cr3t", "mariadb.cloud.svc.cluster.local:3306", "/keystone", "/etc/keystone/database-ca/ca.crt", "utf8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

// TestBackup tests retention, source member, placement and that retries take longer than an outage of an object store.
func TestBackup(t *testing.T) {
	backup := Backup{
		Meta: server.Meta, Server: "mariadb", Cron: "0 1 * * *", Days: 30, Timeout: 2 * time.Hour,
		Bucket:      Bucket{Name: "b", Endpoint: "s3:443", Region: "eu", Prefix: "a/b", Secret: "s3"},
		Tolerations: []common.Toleration{{Key: "database", Operator: "Exists"}},
	}
	want := object.Map{
		"mariaDbRef": object.Map{"name": "mariadb"}, "schedule": object.Map{"cron": "0 1 * * *", "immediate": true},
		"maxRetention": "720h", "target": "PreferReplica", "compression": "gzip", "timeout": "2h0m0s", "backoffLimit": int64(20), "restartPolicy": "Never",
		"podSecurityContext": pod(999), "securityContext": container(),
		"tolerations": object.List{object.Map{"key": "database", "operator": "Exists"}},
		"storage": object.Map{"s3": object.Map{
			"bucket": "b", "endpoint": "s3:443", "region": "eu", "prefix": "a/b", "tls": object.Map{"enabled": true},
			"accessKeyIdSecretKeyRef":     object.Map{"name": "s3", "key": "access-key-id"},
			"secretAccessKeySecretKeyRef": object.Map{"name": "s3", "key": "secret-access-key"},
		}},
	}
	if diff := cmp.Diff(want, backup.Object().Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	backup.StagingSize, backup.StagingClass, backup.Restarts = "50Gi", "fast", true
	staging := object.Map{"persistentVolumeClaim": object.Map{
		"accessModes": object.List{"ReadWriteOnce"}, "storageClassName": "fast", "resources": object.Map{"requests": object.Map{"storage": "50Gi"}},
	}}
	if diff := cmp.Diff(any(staging), at(backup.Object().Object, "spec", "stagingStorage")); diff != "" {
		t.Errorf("staging (-want +got):\n%s", diff)
	}
	if policy := at(backup.Object().Object, "spec", "restartPolicy"); policy != nil {
		t.Errorf("restart policy %v, which the operator does not let change", policy)
	}
}

// TestBucketKeys tests that BucketKeys returns exactly the keys that objects read from the Secret.
func TestBucketKeys(t *testing.T) {
	for _, private := range []bool{false, true} {
		var read []string
		bucket := Bucket{Name: "b", Endpoint: "s3:443", Secret: "s3", PrivateCA: private}.s3()
		for _, path := range [][]string{{"accessKeyIdSecretKeyRef"}, {"secretAccessKeySecretKeyRef"}, {"tls", "caSecretKeyRef"}} {
			if key, ok := at(bucket, append(path, "key")...).(string); ok {
				read = append(read, key)
			}
		}
		if diff := cmp.Diff(read, BucketKeys(private)); diff != "" || len(read) < 2 {
			t.Errorf("with a private authority: %v (-read +needed):\n%s", private, diff)
		}
	}
}

// TestWatched tests the label of watched Secrets (https://github.com/mariadb-operator/mariadb-operator, metadata of Secrets).
func TestWatched(t *testing.T) {
	if diff := cmp.Diff(object.Map{"k8s.mariadb.com/watch": "true"}, Watched()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPodsAreRestricted tests that all configurable security contexts of the operator are set.
func TestPodsAreRestricted(t *testing.T) {
	one, metered := server, server
	one.Replicas, metered.Exporter.Enabled = 1, true
	meta := object.Meta{Name: "x", Namespace: "cloud"}
	for name, tc := range map[string]struct {
		object map[string]any
		path   string
		user   int64
	}{
		"one":               {one.Object().Object, "spec", 999},
		"Galera":            {server.Object().Object, "spec", 999},
		"exporter":          {metered.Object().Object, "spec.metrics.exporter", 65534},
		"backup":            {Backup{Meta: meta}.Object().Object, "spec", 999},
		"exporter of proxy": {Proxy{Meta: meta, Exporter: Exporter{Enabled: true}}.Object().Object, "spec.metrics.exporter", 65534},
	} {
		t.Run(name, func(t *testing.T) {
			spec := at(tc.object, strings.Split(tc.path, ".")...)
			if at(spec, "podSecurityContext", "runAsUser") != tc.user || at(spec, "podSecurityContext", "runAsNonRoot") != true ||
				at(spec, "podSecurityContext", "seccompProfile", "type") != "RuntimeDefault" {
				t.Errorf("pod: %v", at(spec, "podSecurityContext"))
			}
			if diff := cmp.Diff(any(container()), at(spec, "securityContext")); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(any(container()), at(server.Object().Object, "spec", "galera", "agent", "securityContext")); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	if at(server.Object().Object, "spec", "metrics", "exporter") != nil {
		t.Error("an exporter that is not wanted")
	}
}

// TestProxyListensAtIPv6 tests that the operator reaches the REST API of a proxy whose pod has an IPv6 address only.
func TestProxyListensAtIPv6(t *testing.T) {
	for family, want := range map[common.IPFamily]any{"": nil, common.IPv6: "::"} {
		if got := at(Proxy{IPFamily: family}.Object().Object, "spec", "config", "params", "admin_host"); got != want {
			t.Errorf("with the family %q, admin_host is %v, want %v", family, got, want)
		}
	}
}

// TestMaxScale tests that all connections go to the primary, with a certificate of the same authority as the members', and that proxies
// are spread over nodes that their placement selects.
func TestMaxScale(t *testing.T) {
	placement := common.Placement{NodeSelector: map[string]common.LabelValue{"disk": "fast"}, Tolerations: []common.Toleration{{Operator: "Exists"}}}
	proxy := Proxy{
		Meta: object.Meta{Name: "maxscale", Namespace: "cloud"}, Server: "mariadb", Replicas: 2, Port: 3306, Issuer: "internal-ca",
		Exporter: Exporter{Enabled: true, Image: "exporter", Placement: placement}, PullSecrets: []common.ObjectName{"pull"}, Image: "maxscale",
		Placement: placement,
	}
	spec := proxy.Object().Object["spec"].(map[string]any)
	services := spec["services"].([]any)
	if len(services) != 1 || at(services[0], "router") != "readconnroute" || at(services[0], "params", "router_options") != "master" ||
		at(services[0], "listener", "port") != int64(3306) || at(services[0], "listener", "name") != "primary-listener" {
		t.Errorf("services %v", services)
	}
	issuer := object.Map{"name": "internal-ca", "kind": "Issuer"}
	want := object.Map{
		"replicas": int64(2), "mariaDbRef": object.Map{"name": "mariadb"}, "image": "maxscale", "imagePullSecrets": object.List{object.Map{"name": "pull"}},
		"tls":          object.Map{"enabled": true, "listenerCertIssuerRef": issuer, "adminCertIssuerRef": issuer},
		"nodeSelector": object.Map{"disk": "fast"}, "tolerations": object.List{object.Map{"operator": "Exists"}},
		"podDisruptionBudget":       object.Map{"maxUnavailable": int64(1)},
		"topologySpreadConstraints": spreadOverNodes("maxscale", "maxscale"),
		"metrics": object.Map{"enabled": true, "exporter": restrict(object.Map{
			"image": "exporter", "nodeSelector": object.Map{"disk": "fast"}, "tolerations": object.List{object.Map{"operator": "Exists"}},
		}, exporterUser)},
	}
	delete(spec, "services")
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTransfer tests that members of a new cluster encrypt state transfers, keep a larger write cache, and have a startup timeout for a
// large database. A cluster that was created without these settings keeps the defaults.
func TestTransfer(t *testing.T) {
	with := server
	with.Transfer = &Transfer{Cache: "1G", Threads: 4}
	one, two := with, with
	one.Replicas, two.Replicas = 1, 2
	for name, tc := range map[string]struct {
		server Server
		want   []any
	}{
		"new": {with, []any{true, int64(4), "1G", int64(21600)}},
		"two": {two, []any{true, int64(4), "1G", int64(21600)}},
		"old": {server, []any{nil, nil, nil, int64(300)}},
		"one": {one, []any{nil, nil, nil, int64(300)}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := tc.server.Object().Object["spec"]
			got := []any{
				at(spec, "tls", "galeraSSTEnabled"), at(spec, "galera", "replicaThreads"), at(spec, "galera", "providerOptions", "gcache.size"),
				at(spec, "startupProbe", "failureThreshold"),
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpread tests that members are spread over the available nodes, in place of the operator's rule, which requires a node for each.
func TestSpread(t *testing.T) {
	spec, _ := server.Object().Object["spec"].(map[string]any)
	members := map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": "mariadb"}}
	want := map[string]any{
		"affinity": map[string]any{"antiAffinityEnabled": true, "podAntiAffinity": map[string]any{
			"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
				"weight": int64(100), "podAffinityTerm": map[string]any{"labelSelector": members, "topologyKey": "topology.kubernetes.io/zone"},
			}},
		}},
		"topologySpreadConstraints": []any{map[string]any{
			"maxSkew": int64(1), "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": members,
		}},
	}
	got := map[string]any{"affinity": spec["affinity"], "topologySpreadConstraints": spec["topologySpreadConstraints"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
