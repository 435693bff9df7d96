package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestNFSRefused: servers that would never run.
func TestNFSRefused(t *testing.T) {
	const files = "filesystems: [{name: files}], "
	for name, tc := range map[string]struct{ reason, spec, field, words string }{
		"Good":    {"A node for each.", with(files + "nfs: [{name: a, servers: 2}, {name: b}]"), "", ""},
		"Nothing": {"There is nothing to serve.", with("nfs: [{name: a}]"), "spec.nfs[0]", "there is no file system"},
		"Nodes": {
			"Two would listen at one port.", with(files + "nfs: [{name: a, servers: 3}, {name: b}]"), "spec.nfs", "there are 3 nodes for 4 of them",
		},
		"Pods": {
			"Nor may they share a node without its network.", with(files + "network: {host: false}, nfs: [{name: a, servers: 4}]"), "spec.nfs",
			"there are 3 nodes for 4 of them",
		},
		"Long": {
			"Kubernetes takes no such host name.", with(files + "nfs: [{name: " + strings.Repeat("a", 30) + "}]"), "spec.nfs[0].name",
			"characters of 63 at most",
		},
		"Pool": {"It is theirs.", with("pools: [{name: builtin-nfs}]"), "spec.pools[0].name", "as is one of servers of NFS"},
		"Somebody's": {
			"They are theirs to run.", "{" + somebody + ", nfs: [{name: a}]}", "spec.nfs[0]", "whoever runs that Ceph cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tc.reason, world(tc.spec, open).Run(func(simulate.Step) {}), tc.field, tc.words)
		})
	}
}

// TestNFS: the pool that says what is exported is kept as the claim says, and two sites have servers in both.
func TestNFS(t *testing.T) {
	w := complete(t, with("failureDomain: osd, replicationFactor: 2, filesystems: [{name: files}], nfs: [{name: a, servers: 2}]"))
	made := kind.Desired(t, w)
	want := map[string]any{
		"name": ".nfs", "application": "nfs", "failureDomain": "osd", "enableCrushUpdates": true, "replicated": map[string]any{"size": float64(2)},
	}
	if diff := cmp.Diff(want, made["nfs-pool"]["spec"]); diff != "" {
		t.Errorf("the pool (-want +got):\n%s", diff)
	}
	const instance = "tenant-a-storage-72da48a0ed7f612b5eac"
	said := New().Run(w.Request()).Composite.Object.At("status", "nfs").List()
	if diff := cmp.Diff([]any{map[string]any{"name": "a", "servers": []any{
		"rook-ceph-nfs-a-a." + instance + ".svc", "rook-ceph-nfs-a-b." + instance + ".svc",
	}}}, said); diff != "" {
		t.Errorf("what clients are told (-want +got):\n%s", diff)
	}
}
