package controlplane

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// apart returns a claim with a cell that has its own database and queue, with additional fields.
func ownServers(mariadb, rabbitmq string) string {
	return compute(", cells: [{name: near}, {name: far, infrastructure: {mariadb: {" + mariadb + "}, rabbitmq: {" + rabbitmq + "}}}]")
}

// TestCellServersInheritControlPlaneSettings checks that unset fields of a cell's own servers come from the control plane's own servers,
// including backups and issuers, and that other cells are unaffected.
func TestCellServersInheritControlPlaneSettings(t *testing.T) {
	const backup = `{infrastructure: {mariadb: {replicas: 5, nodeSelector: {disk: fast}, backup: {schedule: "0 1 * * *", retentionDays: 7,
		s3: {bucket: abc, endpoint: "s3:9000", prefix: cloud, credentialsSecretRef: {name: s3}}, stagingStorage: {storageSize: 1Gi}}},
		rabbitmq: {storageClass: slow}}, ` // a value that no other part of the spec uses
	n := novaOf(t, backup+ownServers("storageSize: 7Gi, memory: 4Gi", "replicas: 1, storageClass: quick")[1:], queued)
	if near := n.Cells[0]; near.Infrastructure != nil || near.Database != nil || near.Queue != nil {
		t.Errorf("the settings of the other cell are %+v", near)
	}
	far := n.Cells[1]
	if diff := cmp.Diff(&common.Database{
		MariaDBRef: common.LocalReference{Name: "mariadb-cell-far"}, Host: "mariadb-cell-far-primary." + instance + ".svc", Port: 3306,
		CASecretRef: n.Database.CASecretRef, Galera: true,
	}, far.Database); diff != "" {
		t.Errorf("database (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&common.Queue{
		Broker: common.Broker{RabbitMQRef: common.LocalReference{Name: "rabbitmq-cell-far"}}, Host: "rabbitmq-cell-far." + instance + ".svc", Port: 5671, CASecretRef: n.Queue.CASecretRef,
	}, far.Queue); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	db, queue := far.Infrastructure.Database, far.Infrastructure.Queue
	want := common.Members{
		Replicas: 5, StorageSize: "7Gi", Resources: claim.Resources("500m", "4Gi", "4Gi"),
		Placement: common.Placement{NodeSelector: map[string]common.LabelValue{"disk": "fast"}},
	}
	if diff := cmp.Diff(want, db.Members); diff != "" {
		t.Errorf("members of the database (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&common.DatabaseBackup{
		Schedule: "0 1 * * *", RetentionDays: 7, Bucket: "abc", Endpoint: "s3:9000", Prefix: "cloud/cells/far",
		CredentialsSecretRef: common.SecretReference{Name: "tenant-s3"}, StagingSize: "1Gi",
	}, db.Backup); diff != "" {
		t.Errorf("backup (-want +got):\n%s", diff)
	}
	want = common.Members{Replicas: 1, StorageSize: "10Gi", StorageClass: "quick", Resources: claim.Resources("500m", "2Gi", "2Gi")}
	if diff := cmp.Diff(want, queue.Members); diff != "" {
		t.Errorf("members of the queue (-want +got):\n%s", diff)
	}
	if queue.IssuerRef != (common.IssuerReference{Name: "queues", Kind: "ClusterIssuer"}) || queue.ClusterDomain != "cluster.local" {
		t.Errorf("the queue's certificate is of %v in %s", queue.IssuerRef, queue.ClusterDomain)
	}
	if diff := cmp.Diff([]common.NamespaceName{"mariadb-operator"}, far.Infrastructure.Neighbours.MariaDBOperator); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
}

// TestCellServersCost checks that the servers and their volumes are included in the costs, and that they lower the Pod Security Standard of
// the namespace if necessary.
func TestCellServersCost(t *testing.T) {
	parts := map[string]cost.Item{}
	for _, p := range derived(t, ownServers("replicas: 3, storageSize: 7Gi", "memory: 9Gi"), queued).parts() {
		parts[p.Field] = p
	}
	db, queue := parts["spec.services.nova.cells[1].infrastructure.mariadb"], parts["spec.services.nova.cells[1].infrastructure.rabbitmq"]
	if db.Replicas != 3 || db.Storage != "7Gi" || queue.Replicas != 3 || queue.Resources.Limits.Memory.String() != "9Gi" || queue.Storage != "10Gi" {
		t.Errorf("the database is %+v, the queue %+v", db, queue)
	}
	const staged = "{infrastructure: {mariadb: {backup: {s3: {bucket: abc, endpoint: s3, credentialsSecretRef: {name: s3}}, stagingStorage: {storageSize: 300Gi}}}}, "
	for _, p := range derived(t, staged+ownServers("", "")[1:], queued).parts() {
		if p.Field == "spec.infrastructure.mariadb.backup.stagingStorage" && p.Times != 2 {
			t.Errorf("there are %d volumes on which copies of two databases are put together", p.Times)
		}
	}
	const few = "{domain: example.com, queueIssuer: queues, limits: [{name: few, namespaces: ['*'], s3Endpoints: ['*'], maxima: {storage: 550Gi}}]}"
	_, err := derive(input(t, staged+ownServers("", "")[1:], few, nil))
	requireFieldError(t, "staging", err, "spec.infrastructure.mariadb.backup.stagingStorage.storageSize", "with 2 × 300Gi here")
	const alone = "{size: development, infrastructure: {valkey: {enabled: false}}, "
	for mariadb, want := range map[string]string{"": "restricted", "replicas: 3": "baseline"} {
		if got := podSecurityOf(t, derived(t, alone+ownServers(mariadb, "")[1:], queued)); got != want {
			t.Errorf("{%s}: pods are held to %s, want %s", mariadb, got, want)
		}
	}
	shared, own := derived(t, compute(", cells: [{name: near}, {name: far}]"), queued), derived(t, ownServers("", ""), queued)
	if a, b := connectionsOf(shared.Services[2]), connectionsOf(own.Services[2]); b >= a {
		t.Errorf("with its own database a cell opens %d connections to the shared one, without %d", b, a)
	}
}

// TestCellServersNames checks that names of a cell's servers never collide with names of the control plane's own servers, and that names
// that operators derive from the longest one are valid as labels and hosts.
func TestCellServersNames(t *testing.T) {
	used := map[string]bool{}
	for server, suffixes := range map[string][]string{
		// api/v1alpha1/mariadb_keys.go of mariadb-operator 25.10.4; -root, -exporter and -backups are composed by this project.
		"mariadb": {
			"", "-primary", "-secondary", "-internal", "-metrics", "-metrics-config", "-config", "-config-default", "-config-tls", "-ca", "-ca-bundle",
			"-client-cert", "-server-cert", "-agent-auth", "-root", "-exporter", "-backups", "-connection", "-restore", "-password",
		},
		// internal/resource of the cluster operator; -tls is composed by this project.
		"rabbitmq": {"", "-nodes", "-server", "-default-user", "-erlang-cookie", "-plugins-conf", "-server-conf", "-peer-discovery", "-tls"},
	} {
		for _, s := range suffixes {
			used[server+s] = true
		}
	}
	long := strings.Repeat("a", 20)
	cells := []string{long}
	for name := range used {
		_, last, _ := strings.Cut(name, "-")
		cells = append(cells, last, strings.ReplaceAll(last, "-", ""))
	}
	for _, cell := range cells {
		if db, queue := "mariadb-cell-"+cell, "rabbitmq-cell-"+cell; used[db] || used[queue] {
			t.Errorf("a cell %q has the servers %s and %s", cell, db, queue)
		}
	}
	for name, suffixes := range map[string][]string{
		// A revision of a StatefulSet, and a Job of a backup whose name ends with a hash, are label values.
		"mariadb-cell-" + long:  {"-0123456789", "-01234567-20260102030405", "-metrics-config", "-0-pb-init"},
		"rabbitmq-cell-" + long: {"-server-0123456789", "-erlang-cookie", "-peer-discovery"},
	} {
		for _, s := range suffixes {
			if n := len(name + s); n > validation.LabelValueMaxLength {
				t.Errorf("%s has %d characters", name+s, n)
			}
		}
	}
}

// TestCellServersImmutable checks that immutable fields are rejected if the claim changes them, and keep their values otherwise.
func TestCellServersImmutable(t *testing.T) {
	spec := novaOf(t, ownServers("storageSize: 30Gi, storageClass: fast", "replicas: 3, storageSize: 30Gi, storageClass: fast"), queued)
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	observedState := observedAs(t, novav1.ServiceName, string(data))
	m, err := derive(input(t, ownServers("", ""), queued, observedState))
	if err != nil {
		t.Fatal(err)
	}
	own := xrOf[*novav1.Nova](t, m, novav1.ServiceName).Spec.Cells[1].Infrastructure
	for name, got := range map[string]common.Members{"database": own.Database.Members, "queue": own.Queue.Members} {
		if got.Replicas != 3 || got.StorageSize != "30Gi" || got.StorageClass != "fast" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	const at = "spec.services.nova.cells[1].infrastructure."
	for name, tc := range map[string]struct{ spec, field, message string }{
		"one alone":         {ownServers("replicas: 1", ""), at + "mariadb.replicas", "add another cell"},
		"smaller database":  {ownServers("storageSize: 20Gi", ""), at + "mariadb.storageSize", "cannot be reduced"},
		"database's class":  {ownServers("storageClass: slow", ""), at + "mariadb.storageClass", "class fast"},
		"fewer of a queue":  {ownServers("", "replicas: 1"), at + "rabbitmq.replicas", "cannot be scaled down"},
		"smaller queue":     {ownServers("", "storageSize: 20Gi"), at + "rabbitmq.storageSize", "cannot be reduced"},
		"queue's class":     {ownServers("", "storageClass: slow"), at + "rabbitmq.storageClass", "class fast"},
		"database given up": {compute(", cells: [{name: near}, {name: far, infrastructure: {rabbitmq: {}}}]"), at + "mariadb", "add another cell"},
		"both given up":     {compute(", cells: [{name: near}, {name: far}]"), at + "mariadb", "add another cell"},
		"cell given up":     {compute(", cells: [{name: near}]"), "spec.services.nova.cells", "cell far exists"},
		"cell renamed":      {strings.Replace(ownServers("", ""), "far", "further", 1), "spec.services.nova.cells", "cell far exists"},
		"queue given up":    {compute(", cells: [{name: near}, {name: far, infrastructure: {mariadb: {}}}]"), at + "rabbitmq", "add another cell"},
		"own database added": {
			compute(", cells: [{name: near, infrastructure: {mariadb: {}}}, {name: far, infrastructure: {mariadb: {}, rabbitmq: {}}}]"),
			"spec.services.nova.cells[0].infrastructure.mariadb", "add another cell",
		},
	} {
		_, err := derive(input(t, tc.spec, queued, observedState))
		requireFieldError(t, name, err, tc.field, tc.message)
	}
}

// TestCellServersRemoved checks that nothing was composed for a rejected claim, so that the change can be reverted.
func TestCellServersRemoved(t *testing.T) {
	const few = "{domain: example.com, queueIssuer: queues, limits: [{name: few, namespaces: ['*'], maxima: {memory: 40Gi}}]}"
	before := compute(", cells: [{name: near}]")
	spec, err := json.Marshal(novaOf(t, before, few))
	if err != nil {
		t.Fatal(err)
	}
	observedState := observedAs(t, novav1.ServiceName, string(spec))
	_, err = derive(input(t, ownServers("memory: 100Gi", ""), few, observedState))
	requireFieldError(t, "a cell that costs too much", err, "spec.services.nova.cells[1].infrastructure.mariadb.memory", "of memory in all")
	for name, spec := range map[string]string{
		"the cell": before, "its servers": compute(", cells: [{name: near}, {name: far}]"),
		"its database": compute(", cells: [{name: near}, {name: far, infrastructure: {rabbitmq: {}}}]"),
		"its name":     strings.Replace(ownServers("", ""), "far", "further", 1),
	} {
		if _, err := derive(input(t, spec, few, observedState)); err != nil {
			t.Errorf("%s cannot be taken back: %v", name, err)
		}
	}
}
