//go:build openstack && linux

package ovn

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// copiesSecret has the account of the bucket.
const copiesSecret = "copies"

// testRestore checks that copies in a bucket have every row of their time, and that databases created from them have
// these rows, and agree. An existing database is never replaced, and none is created without a copy.
func testRestore(t *testing.T, n *ovnCluster) {
	store := harness.ObjectStore{Host: "copies.example.com", Bucket: "network-copies", Key: "copier", Secret: `"quoted" \and/more+`}
	if err := store.Start(t, n.cluster, n.operators.Public); err != nil {
		t.Fatal(err)
	}
	credentials := map[string][]byte{
		"access-key-id": []byte(store.Key), "secret-access-key": []byte(store.Secret), "ca.crt": n.operators.Public.Certificate,
	}
	if err := n.operators.SetSecret(context.Background(), n.namespace, copiesSecret, credentials); err != nil {
		t.Fatal(err)
	}
	at := func(prefix string) map[string]any {
		return map[string]any{
			"bucket": store.Bucket, "endpoint": store.Host, "prefix": prefix, "privateCA": true,
			"credentialsSecretRef": map[string]any{"name": copiesSecret},
		}
	}
	backedUp := ovnSpec(3)
	backedUp["backup"] = at("clouds/a")
	n.order(backedUp)
	nb, sb := n.northbound(), n.southbound()
	w := nb.write(t, "copied")
	w.after(20)
	w.end(3, 0)
	n.copyNow(t)
	// A Job whose first attempt copies only one database makes another copy of it, and the first copy stays.
	copied := map[string]bool{}
	for _, name := range store.Names(t) {
		copied[filepath.Dir(name)] = true
	}
	if diff := cmp.Diff(map[string]bool{"clouds/a/OVN_Northbound": true, "clouds/a/OVN_Southbound": true}, copied); diff != "" {
		t.Fatalf("the bucket has copies of (-want +got):\n%s", diff)
	}
	later := nb.write(t, "later")
	later.after(10)
	later.end(3, 0)
	first, _ := nb.members(3)
	_, leader := sb.members(3)
	datapaths, err := sb.names(leader, "Datapath_Binding", "external_ids")
	if err != nil {
		t.Fatal(err)
	}

	t.Run("Guarded", func(t *testing.T) {
		spec := maps.Clone(backedUp)
		spec["restoreFrom"] = at("clouds/a")
		n.order(spec)
		if id, _ := nb.members(3); id != first {
			t.Errorf("the cluster is %s, and was %s", id, first)
		}
		nb.has(t, 3, append(w.written, later.written...))
	})

	t.Run("Anew", func(t *testing.T) {
		other := newOVN(t, "elsewhere", 3) // names are the whole machine's
		if err := other.operators.SetSecret(context.Background(), other.namespace, copiesSecret, credentials); err != nil {
			t.Fatal(err)
		}
		nb, sb := other.northbound(), other.southbound()
		spec := ovnSpec(3)
		spec["restoreFrom"] = at("clouds/nowhere")
		other.orderUntil(spec, "that the first pod finds no copy", func() bool {
			text, _ := os.ReadFile(other.cluster.Log(other.namespace, nb.pod(0), "ovn"))
			return strings.Contains(string(text), "cannot restore the database, and creates none")
		})
		if files, _ := filepath.Glob(filepath.Join(nb.claim(nb.pod(0)), "*.db")); len(files) > 0 {
			t.Errorf("there is %v, of no copy", files)
		}
		spec["restoreFrom"] = at("clouds/a")
		other.order(spec)
		id, _ := nb.members(3)
		nb.has(t, 3, w.written)
		rows, err := nb.names(0, "Logical_Switch", "name")
		if err != nil || rows[later.written[0]] != 0 || id == first {
			t.Errorf("cluster %s, restored from %s, has rows from after the copy: %d rows (%v)", id, first, rows[later.written[0]], err)
		}
		_, leader := sb.members(3)
		restored, err := sb.names(leader, "Datapath_Binding", "external_ids")
		if err != nil || len(restored) == 0 || len(restored) > len(datapaths) {
			t.Errorf("%d datapaths are restored of %d (%v)", len(restored), len(datapaths), err)
		}
		third := nb.write(t, "again")
		third.after(10)
		third.end(3, 0)
	})
}

// has requires that each of the members has rows.
func (d ovsdb) has(t *testing.T, members int, names []string) {
	t.Helper()
	for i := range members {
		harness.WaitFor(t, d.cluster, fmt.Sprintf("%d rows at %s", len(names), d.pod(i)), func() bool {
			rows, err := d.names(i, "Logical_Switch", "name")
			for _, name := range names {
				if err != nil || rows[name] == 0 {
					return false
				}
			}
			return true
		})
	}
}

// orderUntil sets a spec that does not become ready, and waits for a condition.
func (n *ovnCluster) orderUntil(spec map[string]any, label string, holds func() bool) {
	n.t.Helper()
	n.set(spec)
	err := n.cluster.Wait(context.Background(), operators.Timeout, label, func(ctx context.Context) (bool, error) {
		if holds() {
			return true, nil
		}
		if err := n.pass(); err != nil {
			return false, err
		}
		return false, n.look(ctx)
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// copyNow runs the CronJob of copies once.
func (n *ovnCluster) copyNow(t *testing.T) {
	t.Helper()
	u, err := n.operators.Find("CronJob.batch", n.namespace, "ovn-snapshot")
	if err != nil {
		t.Fatal(err)
	}
	cron := &batchv1.CronJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cron); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: cron.Name + "-1", Namespace: cron.Namespace}, Spec: cron.Spec.JobTemplate.Spec,
	}
	if err := n.operators.RunJob(context.Background(), job); err != nil {
		t.Fatal(err)
	}
}
