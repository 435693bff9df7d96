package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestNFSValidation: servers that would never run.
func TestNFSValidation(t *testing.T) {
	const files = "filesystems: [{name: files}], "
	for name, tc := range map[string]struct{ reason, spec, field, words string }{
		"Good":    {"A node for each, and one for the next.", with(files + "nfs: [{name: a}, {name: b}]"), "", ""},
		"Nothing": {"There is nothing to serve.", with("nfs: [{name: a}]"), "spec.nfs[0]", "there is no file system"},
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
			"They are theirs to run.", "{" + externalCeph + ", nfs: [{name: a}]}", "spec.nfs[0]", "whoever runs that Ceph cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tc.reason, world(tc.spec, open).Run(func(simulate.Step) {}), tc.field, tc.words)
		})
	}
}

// TestServersInOtherCluster: two servers share a node only where each has an address of its own.
func TestServersInOtherCluster(t *testing.T) {
	for host, want := range map[string]string{"true": "required", "false": "preferred"} {
		w := complete(t, with("network: {host: "+host+"}, filesystems: [{name: files}], nfs: [{name: a, servers: 2}]"))
		spec, _ := kind.Desired(t, w)["nfs-servers-a"]["spec"].(map[string]any)
		placement, _ := spec["server"].(map[string]any)["placement"].(map[string]any)
		apart, _ := placement["podAntiAffinity"].(map[string]any)
		if len(apart) != 1 || apart[want+"DuringSchedulingIgnoredDuringExecution"] == nil {
			t.Errorf("with the nodes' network %s, another node is not %s: %v", host, want, apart)
		}
	}
}

// TestNFS: the pool that says what is exported is kept as the claim says, and two sites have servers in both.
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
		t.Errorf("what clients are told (-want +got):\n%s", diff)
	}
}
