//go:build openstack && linux

package nova

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestNovaUpgrade upgrades a Nova from one release to another, while clients create, list and delete servers in both
// cells. No request fails, schemas are migrated before their readers start, conductors before schedulers and schedulers
// before APIs, and hypervisors follow.
func TestNovaUpgrade(t *testing.T) {
	t.Parallel()
	for name, path := range map[string][]release.Release{
		// Over a release that is skipped.
		"SLURP": {"2025.1", "2026.1"},
		"Steps": {"2025.1", "2025.2", "2026.1", "2026.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := "-" + strings.ToLower(name)
			n := Start(t, path[0], end)
			for i, to := range path[1:] {
				n.upgrade(t, path[i], to, end)
			}
			CheckComputeServices(t, n)
			CheckServers(t, n)
		})
	}
}

// schemas of Nova, and of its cells.
var schemas = []string{"nova-api", "nova-cell0", "nova-cell1", "nova-cell2"}

// upgrade upgrades it to the next release under load, and then the hypervisors.
func (n Nova) upgrade(t *testing.T, from, to release.Release, end string) {
	t.Helper()
	load := serversUsed(t, n)
	load.More(t, 10)
	r, began := harness.WatchRollout(t, n.Cloud), time.Now()
	harness.Upgrade(t, n.Cloud, harness.Claim(t, "machines.yaml", to, end), to, "keystone", "placement", "glance")
	for _, s := range schemas {
		harness.CheckContracted(t, n.Cloud, s, to)
	}
	harness.CheckImages(t, n.Cloud, novav1.ServiceName, to)
	took := time.Since(began)
	load.More(t, 20)
	load.Stop(t)
	r.Stop()
	t.Logf("from %s to %s in %.0f s, meanwhile %s", from, to, took.Seconds(), load)
	r.CheckOrder(t, chains(t, from, to)...)
	n.checkComputeVersion(t, spoken[from])
	for _, h := range n.Hypervisors {
		n.replace(t, h, to)
		n.renewed(t, h, to)
	}
	load = serversUsed(t, n)
	if err := n.Cloud.Follow(); err != nil {
		t.Fatal(err)
	}
	load.More(t, 10)
	load.Stop(t)
	t.Logf("hypervisors are of %s, and the pods that were pinned have been replaced; meanwhile %s", to, load)
	n.checkComputeVersion(t, spoken[to])
	n.checkMigrated(t)
}

// spoken is the version of calls to hypervisors in each release.
var spoken = map[release.Release]string{"2025.1": "6.4", "2025.2": "6.4", "2026.1": "6.5", "2026.2": "6.5"}

// checkComputeVersion checks that every process that has selected a version of calls to hypervisors has selected this
// one. Conductors above the cells and APIs have.
func (n Nova) checkComputeVersion(t *testing.T, want string) {
	t.Helper()
	ctx, pods := context.Background(), &corev1.PodList{}
	if err := n.Cloud.Cluster.Client.List(ctx, pods, client.InNamespace(n.Cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": novav1.ServiceName,
	}); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, p := range pods.Items {
		component := p.Labels[harness.ComponentLabel]
		if p.DeletionTimestamp != nil || component != "conductor" && component != "api" {
			continue
		}
		text, err := os.ReadFile(n.Cloud.Cluster.Log(p.Namespace, p.Name, p.Spec.Containers[0].Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range selected.FindAllStringSubmatch(string(text), -1) {
			found[p.Labels["app.kubernetes.io/instance"]+" "+component] = true
			if m[1] != want {
				t.Errorf("%s uses RPC version %s with hypervisors, want %s", p.Name, m[1], want)
			}
		}
	}
	for _, who := range []string{"nova conductor", "nova api"} {
		if !found[who] {
			t.Errorf("no process of %s has selected an RPC version for hypervisors", who)
		}
	}
}

// selected matches the log line of a process that has selected one
// (nova.compute.rpcapi.ComputeAPI._determine_version_cap).
var selected = regexp.MustCompile(`Automatically selected compute RPC version ([0-9.]+) from`)

// chains returns the required order: above the cells no process is newer than any of the cells' databases and
// conductors.
func chains(t *testing.T, from, to release.Release) [][]harness.Stage {
	t.Helper()
	var tags [2]string
	for i, r := range []release.Release{from, to} {
		v, err := r.Version(novav1.ServiceName)
		if err != nil {
			t.Fatal(err)
		}
		tags[i] = v
	}
	pods := func(label string) harness.Stage { return harness.Stage{Label: label, From: tags[0], To: tags[1]} }
	schema := func(name string) harness.Stage {
		return harness.Stage{Label: harness.SchemaLabel(name), To: string(to)}
	}
	above := []harness.Stage{pods("nova conductor"), pods("nova scheduler"), pods("nova api")}
	var out [][]harness.Stage
	for _, cell := range []string{"nova-cell1", "nova-cell2"} {
		for _, first := range []string{"nova-api", "nova-cell0"} {
			out = append(out, slices.Concat([]harness.Stage{schema(first), schema(cell), pods(cell + " conductor")}, above))
		}
	}
	return out
}

// renewed waits until the companion reports the release of a hypervisor. It lists the hypervisors of a cell once an
// hour.
func (n Nova) renewed(t *testing.T, h Hypervisor, r release.Release) {
	t.Helper()
	const tries = 8
	for range tries {
		n.Cloud.Operators.Forward(61 * time.Minute)
		if n.waitForHypervisor(h, r, 30*time.Second) == nil {
			return
		}
	}
	n.mapped(t, h, r)
}

// checkMigrated checks that nothing remains to be done before the next upgrade: data have been migrated, and Nova's
// upgrade check has no findings.
func (n Nova) checkMigrated(t *testing.T) {
	t.Helper()
	for _, s := range schemas[1:] { // the API's has no such migrations
		n.manages(t, s, "nova-manage db online_data_migrations")
	}
	n.manages(t, schemas[0], "nova-status upgrade check; [ $? -le 1 ]")
}

// manages runs a command like the Jobs of a schema.
func (n Nova) manages(t *testing.T, schema, command string) {
	t.Helper()
	s := &openstackv1.DatabaseSync{}
	if err := n.Cloud.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: n.Cloud.Namespace, Name: schema}, s); err != nil {
		t.Fatal(err)
	}
	template := *s.Spec.Template.DeepCopy()
	template.Spec.Containers[0].Command = []string{"sh", "-c", command}
	if err := n.Cloud.Operators.RunJob(context.Background(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", schema, time.Now().UnixMilli()), Namespace: n.Cloud.Namespace},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: template},
	}); err != nil {
		t.Errorf("%s of %s: %v", command, schema, err)
	}
}
