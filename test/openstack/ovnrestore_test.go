//go:build openstack && linux

package openstack

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

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// copiesSecret has the account of the bucket.
const copiesSecret = "copies"

// testRestore: copies in a bucket have every row of their moment, and databases that are created of them have these, and agree. What is
// there is never replaced, and nothing is created where there is no copy.
func testRestore(t *testing.T, n *ovnCluster) {
	store := objectStore{host: "copies.example.com", bucket: "network-copies", key: "copier", secret: `"quoted" \and/more+`}
	if err := store.start(t, n.cluster, n.operators.Public); err != nil {
		t.Fatal(err)
	}
	credentials := map[string][]byte{
		"access-key-id": []byte(store.key), "secret-access-key": []byte(store.secret), "ca.crt": n.operators.Public.Certificate,
	}
	if err := n.operators.SetSecret(context.Background(), n.namespace, copiesSecret, credentials); err != nil {
		t.Fatal(err)
	}
	at := func(prefix string) map[string]any {
		return map[string]any{
			"bucket": store.bucket, "endpoint": store.host, "prefix": prefix, "privateCA": true,
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
	// A Job whose first attempt copies one database alone makes another one, and what was copied stays.
	copied := map[string]bool{}
	for _, name := range store.names(t) {
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
		other.begin(spec, "that the first pod finds no copy", func() bool {
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
		there, err := nb.names(0, "Logical_Switch", "name")
		if err != nil || there[later.written[0]] != 0 || id == first {
			t.Errorf("cluster %s, which is restored of %s, has what came after the copy: %d rows (%v)", id, first, there[later.written[0]], err)
		}
		_, leader := sb.members(3)
		restored, err := sb.names(leader, "Datapath_Binding", "external_ids")
		if err != nil || len(restored) == 0 || len(restored) > len(datapaths) {
			t.Errorf("%d datapaths are restored of %d (%v)", len(restored), len(datapaths), err)
		}
		again := nb.write(t, "again")
		again.after(10)
		again.end(3, 0)
	})
}

// has requires of each of so many members that it has rows.
func (d ovsdb) has(t *testing.T, members int, names []string) {
	t.Helper()
	for i := range members {
		waitFor(t, d.cluster, fmt.Sprintf("%d rows at %s", len(names), d.pod(i)), func() bool {
			there, err := d.names(i, "Logical_Switch", "name")
			for _, name := range names {
				if err != nil || there[name] == 0 {
					return false
				}
			}
			return true
		})
	}
}

// begin orders what is not to become ready, until something else holds.
func (n *ovnCluster) begin(spec map[string]any, what string, holds func() bool) {
	n.t.Helper()
	n.set(spec)
	err := n.cluster.Wait(context.Background(), operators.Timeout, what, func(ctx context.Context) (bool, error) {
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
