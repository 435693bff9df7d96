//go:build openstack && linux

package nova

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNovaCells checks that a cell with a separate database and queue runs servers like the other one. While either is
// down, servers of the other cell are created, listed and deleted; the cell recovers without intervention.
func TestNovaCells(t *testing.T) {
	t.Parallel()
	const r, end = "2025.2", "-apart"
	claim := bytes.Replace(harness.Claim(t, "machines.yaml", r, end), []byte("- name: cell2\n"),
		[]byte("- {name: cell2, infrastructure: {mariadb: {}, rabbitmq: {}}}\n"), 1)
	n := startAs(t, claim, r, end, novav1.Consoles{Graphical: novav1.VNC}, "rabbitmq-cell-cell2")
	ctx, retained := context.Background(), map[string]string{}
	for _, h := range n.Hypervisors {
		id, err := n.CreateServer(ctx, h, "kept-"+h.cell)
		if err == nil {
			err = n.WaitForServer(ctx, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		retained[id] = "ACTIVE"
	}
	if diff := cmp.Diff(retained, n.statuses(t)); diff != "" {
		t.Fatalf("virtual machines of both cells (-want +got):\n%s", diff)
	}
	for _, server := range []string{"mariadb-cell-cell2", "rabbitmq-cell-cell2-server"} {
		t.Run(server, func(t *testing.T) { testCellWithout(t, n, server) })
	}
	if diff := cmp.Diff(retained, n.statuses(t)); diff != "" {
		t.Errorf("virtual machines at the end (-want +got):\n%s", diff)
	}
}

// testCellWithout stops a server of the second cell for a while.
func testCellWithout(t *testing.T, n Nova, server string) {
	ctx := context.Background()
	n.scale(t, server, 0)
	stopped := time.Now()
	for round := range 3 {
		began := time.Now()
		id, err := n.CreateServer(ctx, n.Hypervisors[0], fmt.Sprintf("meanwhile-%d", round))
		if err == nil {
			err = n.WaitForServer(ctx, id)
		}
		if err != nil {
			t.Errorf("%.0f s after %s went: %v", time.Since(stopped).Seconds(), server, err)
			continue
		}
		created, listed := time.Since(began), time.Now()
		if got := n.statuses(t); got[id] != "ACTIVE" {
			t.Errorf("a list without %s has %v, and not %s", server, got, id)
		}
		t.Logf("without %s: a virtual machine of the other cell after %.1f s, a list after %.1f s", server, created.Seconds(), time.Since(listed).Seconds())
		if err := n.DeleteServer(ctx, id); err != nil {
			t.Error(err)
		}
	}
	n.scale(t, server, 1)
	back := time.Now()
	// Requests that come too early fail; otherwise only time is needed.
	for {
		id, err := n.CreateServer(ctx, n.Hypervisors[1], "again")
		if err == nil {
			err = n.WaitForServer(ctx, id)
		}
		if id != "" {
			if err := n.DeleteServer(ctx, id); err != nil {
				t.Error(err)
			}
		}
		if err == nil {
			break
		}
		if stopwatch.Since(back) > serverTimeout {
			t.Fatalf("%.0f s after %s came back: %v", time.Since(back).Seconds(), server, err)
		}
		time.Sleep(time.Second)
	}
	t.Logf("%s was away for %.0f s; its cell runs virtual machines %.1f s after it came back", server, back.Sub(stopped).Seconds(), time.Since(back).Seconds())
}

// statuses returns the statuses of all servers, by ID.
func (n Nova) statuses(t *testing.T) map[string]string {
	t.Helper()
	page, err := servers.List(n.ServiceClient, nil).AllPages(context.Background())
	if err != nil {
		t.Error(err)
		return nil
	}
	all, err := servers.ExtractServers(page)
	if err != nil {
		t.Error(err)
	}
	out := map[string]string{}
	for _, s := range all {
		out[s.ID] = s.Status
	}
	return out
}

// scale sets the replicas of a StatefulSet, and waits for them.
func (n Nova) scale(t *testing.T, name string, replicas int32) {
	t.Helper()
	ctx, key := context.Background(), client.ObjectKey{Namespace: n.Cloud.Namespace, Name: name}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
	if err := n.Cloud.Cluster.Patch(ctx, key, set, func() { set.Spec.Replicas = &replicas }); err != nil {
		t.Fatal(err)
	}
	err := n.Cloud.Cluster.Wait(ctx, operators.Timeout, "the pods of "+name, func(ctx context.Context) (bool, error) {
		err := n.Cloud.Cluster.Client.Get(ctx, key, set)
		return set.Status.ObservedGeneration == set.Generation && set.Status.Replicas == replicas && set.Status.ReadyReplicas == replicas, err
	})
	if err != nil {
		t.Fatal(err)
	}
}
