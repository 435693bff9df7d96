package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// ordered returns the spec of the MariaDB that is composed for a claim, for an observed spec if it is not empty.
func ordered(t *testing.T, spec, platform, is string) map[string]any {
	t.Helper()
	observed := map[string]*structpb.Struct{}
	if is != "" {
		observed["database"] = structOf(t, fields(t, "{spec: "+is+"}"))
	}
	m, err := derive(input(t, spec, platform, observed))
	if err != nil {
		t.Fatal(err)
	}
	out, _ := at(object(t, composed(t, m, database)["database"]), "spec").(map[string]any)
	return out
}

// TestRetainsImmutableFields checks that immutable fields keep their observed values, regardless of the platform, and so do fields whose
// change would restart a cluster with members of different settings.
func TestRetainsImmutableFields(t *testing.T) {
	const (
		platform = "{domain: example.com, storageClass: fast, images: {pullSecrets: [registry]}, limits: [" + limittest.Everything + "]}"
		restore  = `{infrastructure: {mariadb: {restoreFrom: {s3: {bucket: new, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
		previous = "{replicas: 3, storage: {size: 20Gi"
	)
	cases := map[string]struct {
		reason, spec, observedReplicas string
		want                           map[string]any // by path; nil: unset
	}{
		"new": {"It gets the current settings of the platform.", "{}", "", map[string]any{
			"storage.storageClassName": "fast", "imagePullSecrets": []any{map[string]any{"name": "platform-pull-registry"}}, "tls.galeraSSTEnabled": true,
			"galera.replicaThreads": 2.0, "galera.providerOptions": map[string]any{"gcache.size": "204M"}, "startupProbe.failureThreshold": 21600.0,
		}},
		"other class": {"The storage class is immutable.", "{}", previous + ", storageClassName: slow}, imagePullSecrets: [{name: old}]}", map[string]any{
			"storage.storageClassName": "slow", "imagePullSecrets": []any{map[string]any{"name": "old"}},
		}},
		"no class":      {"The volumes use the cluster's default class.", "{}", previous + "}}", map[string]any{"storage.storageClassName": nil, "imagePullSecrets": nil}},
		"made in clear": {"Its members have to understand each other.", "{}", previous + "}}", map[string]any{"tls.galeraSSTEnabled": nil, "galera.providerOptions": nil, "startupProbe.failureThreshold": 300.0}},
		"encrypted":     {"The observed setting is kept.", "{}", previous + "}, tls: {galeraSSTEnabled: true}}", map[string]any{"tls.galeraSSTEnabled": true}},
		"smaller size":  {"Volumes cannot shrink.", "{}", "{replicas: 3, storage: {size: 100Gi}}", map[string]any{"storage.size": "100Gi"}},
		"larger size":   {"Volumes can grow.", "{size: medium}", previous + "}}", map[string]any{"storage.size": "100Gi"}},
		"restored": {"The operator reads restoreFrom once.", restore, previous + "}, bootstrapFrom: {s3: {bucket: old}}}", map[string]any{
			"bootstrapFrom": map[string]any{"s3": map[string]any{"bucket": "old"}},
		}},
		"restored later": {"An existing database is not bootstrapped again: its operator would report it as not ready.", restore, previous + "}}", map[string]any{"bootstrapFrom": nil}},
		"restored, done": {"The operator supports removing it.", "{}", previous + "}, bootstrapFrom: {s3: {bucket: old}}}", map[string]any{"bootstrapFrom": nil}},
		"shrunk": {"The operator cannot remove the primary: another member has to become primary first.", "{}",
			"{replicas: 5, storage: {size: 20Gi}, galera: {primary: {podIndex: 4}}}", map[string]any{"replicas": 5.0, "galera.primary.podIndex": 0.0}},
		"shrunk then": {"The operator supports it.", "{}", "{replicas: 5, storage: {size: 20Gi}, galera: {primary: {podIndex: 2}}}", map[string]any{"replicas": 3.0, "galera.primary": nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := ordered(t, tc.spec, platform, tc.observedReplicas)
			for path, want := range tc.want {
				if diff := cmp.Diff(want, find(spec, path)); diff != "" {
					t.Errorf("%s\n%s (-want +got):\n%s", tc.reason, path, diff)
				}
			}
		})
	}
}

// TestNewDatabasesHaveOneCollation checks that a new database gives all tables of a service one collation. An existing database without
// that setting keeps it unset, because new tables reference existing ones.
func TestNewDatabasesHaveOneCollation(t *testing.T) {
	const previous = "{replicas: 3, storage: {size: 20Gi}, myCnf: "
	for name, tc := range map[string]struct {
		observedReplicas string
		want             bool
	}{
		"new":                  {"", true},
		"made before":          {previous + `"[mariadb]\nskip-name-resolve\n"}`, false},
		"made with collations": {previous + `"[mariadb]\nloose-character-set-collations=utf8mb3=utf8mb3_general_ci\n"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := ordered(t, "{}", bare, tc.observedReplicas)["myCnf"].(string)
			if got := strings.Contains(config, "\nloose-character-set-collations=utf8mb3=utf8mb3_general_ci,utf8mb4=utf8mb4_general_ci\n"); got != tc.want {
				t.Errorf("collations are set: %t, want %t:\n%s", got, tc.want, config)
			}
			if !strings.Contains(config, "\nloose-innodb-snapshot-isolation=OFF\n") {
				t.Errorf("snapshot isolation is not off:\n%s", config)
			}
		})
	}
}

// find returns the value at a dotted path, nil if it does not exist.
func find(v map[string]any, path string) any { return at(v, strings.Split(path, ".")...) }

// TestRejectsSmallerDatabaseVolumes checks that an explicit smaller size is rejected and not ignored.
func TestRejectsSmallerDatabaseVolumes(t *testing.T) {
	_, err := derive(input(t, "{infrastructure: {mariadb: {storageSize: 10Gi}}}", bare, map[string]*structpb.Struct{
		"database": structOf(t, fields(t, "{spec: {replicas: 3, storage: {size: 20Gi}}}")),
	}))
	requireFieldError(t, "Volumes cannot shrink.", err, "spec.infrastructure.mariadb.storageSize", "set it to 20Gi to keep the volumes")
}

// TestRetainsEquivalentDatabaseHost checks that pods are not replaced for a shorter host name of the same database.
func TestRetainsEquivalentDatabaseHost(t *testing.T) {
	host := func(has string) string {
		m, err := derive(input(t, "{}", bare, map[string]*structpb.Struct{"keystone": structOf(t, fields(t, "{spec: {database: {host: "+has+"}}}"))}))
		if err != nil {
			t.Fatal(err)
		}
		return m.DatabaseSpec().Host
	}
	short := "mariadb-primary." + instance + ".svc"
	for has, want := range map[string]string{short + ".cluster.local": short + ".cluster.local", short: short, "maxscale." + instance + ".svc.cluster.local": short} {
		if got := host(has); got != want {
			t.Errorf("%s becomes %s, want %s", has, got, want)
		}
	}
}

// TestDatabaseSettingsFollowSize checks that buffer pool and connections follow the claim.
func TestDatabaseSettingsFollowSize(t *testing.T) {
	for spec, want := range map[string][]string{
		"{size: development}": {"max_connections=1024", "innodb_buffer_pool_size=256M"},
		"{}":                  {"max_connections=2048", "innodb_buffer_pool_size=1G"},
		"{size: medium}":      {"max_connections=4096", "innodb_buffer_pool_size=5G"},
		"{size: large}":       {"max_connections=10000", "innodb_buffer_pool_size=22G"},
		"{size: medium, infrastructure: {mariadb: {resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}}}}":       {"max_connections=4096", "innodb_buffer_pool_size=1G"},
		"{infrastructure: {mariadb: {resources: {limits: {memory: 64Gi}}}}}":                                             {"max_connections=2048", "innodb_buffer_pool_size=45696M"},
		"{infrastructure: {mariadb: {resources: {requests: {cpu: 1}}}}}":                                                 {"max_connections=2048", "innodb_buffer_pool_size=1G"},
		"{services: {keystone: {replicas: 9, uwsgi: {processes: 32, threads: 16}, resources: {limits: {memory: 4Gi}}}}}": {"max_connections=8192", "innodb_buffer_pool_size=1G"},
	} {
		config, _ := ordered(t, spec, bare, "")["myCnf"].(string)
		for _, line := range want {
			if !strings.Contains(config, line+"\n") {
				t.Errorf("%s: no line %s in\n%s", spec, line, config)
			}
		}
	}
}

const backedUp = `backup: {schedule: "5 4 * * *", retentionDays: 2, s3: {bucket: new, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}`

// TestChangedBackupIsAnotherObject checks that a changed schedule or bucket creates another object, which replaces the old one in the same
// reconciliation. An existing object with the database's name keeps it until then.
func TestChangedBackupIsAnotherObject(t *testing.T) {
	name := func(spec string, observed map[string]*structpb.Struct) (resource, object string) {
		m, err := derive(input(t, "{infrastructure: {mariadb: {"+spec+"}}}", bare, observed))
		if err != nil {
			t.Fatal(err)
		}
		stages, err := m.ComposeBackup()
		if err != nil {
			t.Fatal(err)
		}
		o, err := toMap(stages[0][0].Object)
		if err != nil {
			t.Fatal(err)
		}
		object, _ = at(o, "metadata", "name").(string)
		return stages[0][0].Name, object
	}
	is := func(bucket string) map[string]*structpb.Struct {
		return map[string]*structpb.Struct{"database-backup": structOf(t, fields(t, `{spec: {schedule: {cron: "5 4 * * *", immediate: true}, timeout: 1h, storage: {s3: {
			bucket: `+bucket+`, endpoint: "s3:443", region: "", prefix: "", tls: {enabled: true}, accessKeyIdSecretKeyRef: {name: tenant-s3, key: access-key-id},
			secretAccessKeySecretKeyRef: {name: tenant-s3, key: secret-access-key}}}}}`))}
	}
	resource, object := name(backedUp, nil)
	if suffix, ok := strings.CutPrefix(object, "mariadb-"); !ok || resource != "database-backup-"+suffix {
		t.Errorf("a new one is %s, composed as %s", object, resource)
	}
	if r, o := name(backedUp, is("new")); r != "database-backup" || o != "mariadb" {
		t.Errorf("an existing one becomes %s, composed as %s", o, r)
	}
	if r, o := name(backedUp, is("old")); r != resource || o != object {
		t.Errorf("another one is %s, composed as %s", o, r)
	}
	observedState := map[string]string{object: ""}
	for _, other := range []string{
		strings.Replace(backedUp, "5 4", "6 4", 1), strings.Replace(backedUp, "bucket: new", "bucket: old", 1), strings.Replace(backedUp, "s3:443", "s3:444", 1),
		strings.Replace(backedUp, "name: s3", "name: s4", 1), strings.Replace(backedUp, "s3: {", "s3: {prefix: a, ", 1), strings.Replace(backedUp, "s3: {", "s3: {region: a, ", 1),
		strings.Replace(backedUp, "s3: {", "s3: {privateCA: true, ", 1), strings.Replace(backedUp, "s3: {", "stagingStorage: {storageSize: 10Gi}, s3: {", 1),
	} {
		_, o := name(other, nil)
		if before, ok := observedState[o]; ok {
			t.Errorf("%s and %q have the same name", other, before)
		}
		observedState[o] = other
	}
	for _, same := range []string{
		strings.Replace(backedUp, "retentionDays: 2", "retentionDays: 9", 1), strings.Replace(backedUp, "backup:", "storageSize: 1Ti, tolerations: [{operator: Exists}], backup:", 1),
	} {
		if _, o := name(same, nil); o != object {
			t.Errorf("%s is another object", same)
		}
	}
}

// TestBackupFailureDoesNotBlock checks that a failed backup is reported on the claim, and that Keystone does not wait for it.
func TestBackupFailureDoesNotBlock(t *testing.T) {
	w := readyCluster(t, "{infrastructure: {mariadb: {"+backedUp+"}}}", bare)
	name := backupOf(t, desired(t, w))
	failed := w.Observed[name].Map()
	failed["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True", "reason": "JobFailed", "message": "Failed"}}}
	w.Observed[name] = encoded.Of(structOf(t, failed))
	rsp, plan, err := w.Kinds[kind].Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	part, _ := plan.ComponentStatus("database-backup")
	if _, message := part.Waiting(); !strings.Contains(message, "the last backup failed") || !strings.Contains(message, "delete the Job") {
		t.Errorf("the message of the component is %q", message)
	}
	if keystone, _ := plan.ComponentStatus("keystone"); !keystone.IsReady() || len(keystone.Needs) > 0 || rsp.Composite.Ready {
		t.Errorf("Keystone waits for %v; the control plane is ready: %t", keystone.Needs, rsp.Composite.Ready)
	}
}

// TestDatabaseMonitoringFollowsSettings checks that alerts follow the monitoring setting, and that monitors with labels are composed if the
// platform sets labels.
func TestDatabaseMonitoringFollowsSettings(t *testing.T) {
	alerts := func(spec string) (names, resources []string) {
		all := desired(t, readyCluster(t, spec, bare))
		for name, o := range all {
			if !strings.HasPrefix(name, "database-") {
				continue
			}
			m := inner(o)
			switch m["kind"] {
			case "PrometheusRule":
				for _, g := range at(m, "spec", "groups").([]any) {
					for _, r := range at(g, "rules").([]any) {
						names = append(names, at(r, "alert").(string))
					}
				}
			case "ServiceMonitor":
				resources = append(resources, name)
				if at(m, "metadata", "labels", "team") != "a" {
					t.Errorf("%s has labels %v", name, at(m, "metadata", "labels"))
				}
			}
		}
		return names, resources
	}
	if names, monitors := alerts("{}"); names != nil || monitors != nil {
		t.Errorf("without monitoring: %v, %v", names, monitors)
	}
	_, monitors := alerts("{global: {monitoring: {enabled: true}}}")
	if monitors != nil {
		t.Errorf("the operator's own is found: %v", monitors)
	}
	names, monitors := alerts("{size: medium, infrastructure: {mariadb: {" + backedUp + "}}, global: {monitoring: {enabled: true, labels: {team: a}}}}")
	for _, want := range []string{
		"DatabaseDown", "DatabaseDegraded", "DatabaseVolumeFilling", "DatabaseVolumeFull", "DatabaseConnectionsExhausting",
		"DatabaseMetricsMissing", "DatabaseGaleraClusterDegraded", "DatabaseProxyDown", "DatabaseBackupFailed", "DatabaseBackupOld", "DatabaseBackupMissing",
	} {
		if !strings.Contains(strings.Join(names, " ")+" ", want+" ") {
			t.Errorf("no alert %s among %v", want, names)
		}
	}
	if len(monitors) != 2 {
		t.Errorf("monitors %v", monitors)
	}
}
