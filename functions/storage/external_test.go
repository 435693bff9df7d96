package storage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

const (
	somebodys = `fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["10.0.0.1:6789"], publicCIDRs: [10.0.0.0/24]`
	glances   = `clients: [{service: glance, user: images, secretRef: {name: ceph}}]`
)

// external returns the claim for an external Ceph cluster.
func external(more, fields string) string {
	return "{external: {" + somebodys + ", " + more + "}, " + fields + "}"
}

// TestExternalKeystoneValidation verifies that settings which would change an external Ceph cluster are rejected.
func TestExternalKeystoneValidation(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"Fine":    {"Its pool is used.", external(glances, "pools: [{name: images}]"), "", ""},
		"Default": {"Pools that no user is for are nobody's.", external(glances, "deletionPolicy: Retain"), "", ""},
		"Quota": {
			"A quota cannot be set.", external(glances, "pools: [{name: images, quota: {maxSize: 1Ti}}]"), "spec.pools[0]",
			"the operator of that Ceph cluster configures this",
		},
		"Copies": {
			"Redundancy cannot be set.", external(glances, "pools: [{name: images, replicated: {size: 2}}]"), "spec.pools[0]", "the operator of that",
		},
		"Consumers": {
			"Pools are not made.",
			external(glances, "pools: [{name: images}], consumers: [{name: a, controlPlaneRef: {namespace: tenant-a, name: c}}]"),
			"spec.consumers", "the operator of that",
		},
		"NoPool": {
			"The user is for nothing.", external(glances, "pools: [{name: volumes}]"), "spec.external.clients[0]",
			"no pool has a purpose used by glance",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, open))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestRejectsStorageNetworksOutsideLimits verifies that a control plane may connect only to networks that a limit allows in the namespace.
func TestRejectsStorageNetworksOutsideLimits(t *testing.T) {
	const some = `{domain: example.com, limits: [{name: some, namespaces: ["tenant-*"], storageNetworks: [10.0.0.0/8]}]}`
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"Own": {"A network of storage.", external(glances, "pools: [{name: images}]"), "", ""},
		"Others": {
			"The monitor is outside of the network.", strings.Replace(external(glances, "pools: [{name: images}]"), "10.0.0.0/24", "192.0.2.0/24", 1),
			"spec.external.publicCIDRs", "is not in the storageNetworks",
		},
		"Anywhere": {
			"It is everywhere.", strings.Replace(external(glances, "pools: [{name: images}]"), ", publicCIDRs: [10.0.0.0/24]", "", 1),
			"spec.external.publicCIDRs", `"any network" is not in`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, some)), tc.field, tc.message)
		})
	}
}

// TestExternalAccess verifies that access is published to control planes only after the user has opened the pool.
func TestExternalAccess(t *testing.T) {
	spec := external(glances, "pools: [{name: images}, {name: volumes}]")
	w := complete(t, spec)
	want := map[string]any{
		"fsid": "5b1a1b1e-0000-4000-8000-000000000001", "monitors": []any{"10.0.0.1:6789"}, "networks": []any{"10.0.0.0/24"},
		"consumers": []any{map[string]any{
			"name":  "shared",
			"pools": []any{map[string]any{"name": "images", "pool": "images", "purpose": "images"}},
			"clients": []any{map[string]any{
				"service": "glance", "user": "images", "secretName": "tenant-ceph",
				"secretUUID": uuid("tenant-a-storage-72da48a0ed7f612b5eac", "images"),
			}},
		}},
	}
	if diff := cmp.Diff(want, accessOf(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w = newCluster(spec, open)
	w.Reports = func(kind, _ string) map[string]any {
		if kind == "Deployment" {
			return map[string]any{"replicas": 1.0, "availableReplicas": 0.0, "readyReplicas": 0.0, "unavailableReplicas": 1.0, "conditions": []any{}}
		}
		return nil
	}
	for range 9 {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	want["consumers"] = []any{map[string]any{"name": "shared"}}
	if diff := cmp.Diff(want, accessOf(w)); diff != "" {
		t.Errorf("before the user has opened its pool (-want +got):\n%s", diff)
	}
}

// TestCheckScript verifies that the script prints an error in one line, without the key.
func TestCheckScript(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, ceph, rbd, want string
		fails                   bool
	}{
		"Fine":   {reason: "The configuration is correct.", ceph: "echo f", rbd: "echo image"},
		"Other":  {reason: "Monitors of another cluster.", ceph: "echo g", want: "the cluster is g, and not f\n", fails: true},
		"Denied": {reason: "Another's key.", ceph: "echo warning >&2; echo '[errno 13] denied' >&2; exit 1", want: "client.images does not reach the monitors: [errno 13] denied\n", fails: true},
		"Pool": {
			reason: "Capabilities of another pool.", ceph: "echo f", rbd: `[ "$2" = a ] || { echo "(1) Operation not permitted" >&2; exit 1; }`,
			want: "client.images cannot read pool b: (1) Operation not permitted\n", fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, text := range map[string]string{
				"ceph": tc.ceph,
				"rbd":  `printf '[client.images]\nkey = secret\n' | cmp - ` + dir + "/keyring || exit 9\n" + tc.rbd,
			} {
				if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "userKey"), []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			script := strings.NewReplacer("/keys/", dir+"/", "/tmp/", dir+"/").Replace(checkScript)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "check", "a", "b")
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CEPH_USER=images", "FSID=f"}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || string(out) != tc.want {
				t.Errorf("%s\ngot %q, %v; want %q", tc.reason, out, err, tc.want)
			}
		})
	}
}
