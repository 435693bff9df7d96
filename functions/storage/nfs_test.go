package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRejectsInvalidNFSSettings verifies that servers which could never run are rejected.
func TestRejectsInvalidNFSSettings(t *testing.T) {
	const files = "filesystems: [{name: files}], "
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"Good":    {"A node for each, and one for the next.", with(files + "nfs: [{name: a}, {name: b}]"), "", ""},
		"Nothing": {"A file system is required.", with("nfs: [{name: a}]"), "spec.nfs[0]", "there is no file system"},
		"Nodes": {
			"Two would listen at one port.", with(files + "nfs: [{name: a, servers: 3}, {name: b}]"), "spec.nfs",
			"3 nodes for 4 of them are too few by 2",
		},
		"Replaced": {
			"The next version of one would wait for its node for ever, and Rook calls them ready meanwhile.",
			with(files + "nfs: [{name: a, servers: 2}, {name: b}]"), "spec.nfs", "3 nodes for 3 of them are too few by 1",
		},
		"Pods": {"Pods have addresses of their own.", with(files + "network: {host: false}, nfs: [{name: a, servers: 4}]"), "", ""},
		"Long": {
			"Kubernetes takes no such host name.", with(files + "nfs: [{name: " + strings.Repeat("a", 30) + "}]"), "spec.nfs[0].name",
			"characters of 63 at most",
		},
		"Pool": {"It is theirs.", with("pools: [{name: builtin-nfs}]"), "spec.pools[0].name", "as is one of servers of NFS"},
		"Somebody's": {
			"Its operator runs them.", "{" + externalCeph + ", nfs: [{name: a}]}", "spec.nfs[0]", "of an external Ceph cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, open)), tc.field, tc.message)
		})
	}
}

// TestServersInOtherCluster verifies that two servers share a node only if each has its own address.
func TestServersInOtherCluster(t *testing.T) {
	for host, want := range map[string]string{"true": "required", "false": "preferred"} {
		w := complete(t, with("network: {host: "+host+"}, filesystems: [{name: files}], nfs: [{name: a, servers: 2}]"))
		spec, _ := kind.Desired(t, w)["nfs-servers-a"]["spec"].(map[string]any)
		placement, _ := spec["server"].(map[string]any)["placement"].(map[string]any)
		antiAffinity, _ := placement["podAntiAffinity"].(map[string]any)
		if len(antiAffinity) != 1 || antiAffinity[want+"DuringSchedulingIgnoredDuringExecution"] == nil {
			t.Errorf("with the nodes' network %s, another node is not %s: %v", host, want, antiAffinity)
		}
	}
}

// TestNFS verifies the pool of exports, and that a stretched cluster has servers in both zones.
func TestNFS(t *testing.T) {
	w := complete(t, with("failureDomain: osd, replicationFactor: 2, filesystems: [{name: files}], nfs: [{name: a, servers: 2}]"))
	created := kind.Desired(t, w)
	want := map[string]any{
		"name": ".nfs", "application": "nfs", "failureDomain": "osd", "enableCrushUpdates": true, "replicated": map[string]any{"size": float64(2)},
	}
	if diff := cmp.Diff(want, created["nfs-pool"]["spec"]); diff != "" {
		t.Errorf("the pool (-want +got):\n%s", diff)
	}
	const instance = "tenant-a-storage-72da48a0ed7f612b5eac"
	requested := New().Run(w.Request()).Composite.Object.At("status", "nfs").List()
	if diff := cmp.Diff([]any{map[string]any{"name": "a", "servers": []any{
		"rook-ceph-nfs-a-a." + instance + ".svc", "rook-ceph-nfs-a-b." + instance + ".svc",
	}}}, requested); diff != "" {
		t.Errorf("published access (-want +got):\n%s", diff)
	}
}
