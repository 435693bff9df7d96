package controlplane

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const remote = `{domain: example.com, clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}]}`

// TestUsagesReplayBlockedDeletion checks that each Usage references its two objects, has no namespace for a cluster-scoped one, and replays
// the blocked deletion.
func TestUsagesReplayBlockedDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		// keystone lists the objects that Keystone uses; the other Usages belong to the catalog and to the other services.
		keystone []string
	}{
		"here":   {"{}", []string{"database", "namespace"}},
		"remote": {"{cluster: {ref: {name: east}}}", []string{"database", "namespace", "workload-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := desired(t, readyCluster(t, tc.spec, remote))
			users, keystone := 0, []string{}
			for name, o := range all {
				u := o.Map()
				if u["kind"] != "Usage" {
					continue
				}
				resource, used, _ := strings.Cut(name, "-uses-")
				of := map[string]any{"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "resourceRef": map[string]any{
					"name": instance + "-" + used, "namespace": "",
				}}
				by := map[string]any{"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "resourceRef": map[string]any{"name": "keystone"}}
				if used == "keystone" {
					users++
					of = by
					user := all[resource].Map()
					by = map[string]any{"apiVersion": user["apiVersion"], "kind": user["kind"], "resourceRef": map[string]any{"name": at(user, "metadata", "name")}}
				} else if keystone = append(keystone, used); all[used] == nil || all[used].Map()["kind"] != "Object" || at(all[used].Map(), "metadata", "name") != instance+"-"+used {
					t.Errorf("%s is used and not an Object of that name: %v", used, all[used])
				}
				want := map[string]any{"of": of, "by": by, "replayDeletion": true, "reason": at(u, "spec", "reason")}
				if diff := cmp.Diff(want, u["spec"]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if reason, _ := at(u, "spec", "reason").(string); reason == "" || at(u, "metadata", "namespace") != instance {
					t.Errorf("%s lies in %v, for the reason %q", name, at(u, "metadata", "namespace"), reason)
				}
			}
			slices.Sort(keystone)
			if diff := cmp.Diff(tc.keystone, keystone); diff != "" || users != 1 {
				t.Errorf("%d use Keystone, want the catalog; Keystone uses (-want +got):\n%s", users, diff)
			}
		})
	}
}

// TestRetainsDataUnlessPolicyIsDelete checks that objects with data outlive the claim unless the spec sets another policy.
func TestRetainsDataUnlessPolicyIsDelete(t *testing.T) {
	keep, all := []any{"Observe", "Create", "Update", "LateInitialize"}, []any{"*"}
	for policy, want := range map[string][]any{"Retain": keep, "Delete": all} {
		t.Run(policy, func(t *testing.T) {
			var wrapped []string
			for name, o := range desired(t, readyCluster(t, "{size: large, deletionPolicy: "+policy+"}", bare)) {
				if !wrapper.IsObject(o) {
					continue
				}
				wrapped = append(wrapped, name)
				if diff := cmp.Diff(want, at(o.Map(), "spec", "managementPolicies")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			slices.Sort(wrapped)
			data := []string{"authority", "database", "database-root-secret", "locks", "messaging", "messaging-members-ca", "namespace"}
			if diff := cmp.Diff(data, wrapped); diff != "" {
				t.Errorf("retained objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWorkloadsAreInClusterOfClaim checks that workloads are in the cluster of the claim, and that composite resources, Usages and their
// namespace stay in the management cluster.
func TestWorkloadsAreInClusterOfClaim(t *testing.T) {
	management := []string{"namespace"}
	direct := map[string]bool{"Keystone": true, "IdentityCatalog": true, "Usage": true}
	for name, o := range desired(t, readyCluster(t, "{cluster: {ref: {name: east}}}", remote)) {
		m := o.Map()
		want := "east"
		if slices.Contains(management, name) {
			want = "in-cluster"
		}
		switch got := at(m, "spec", "providerConfigRef", "name"); {
		case direct[m["kind"].(string)]:
		case m["kind"] != "Object" || got != want:
			t.Errorf("%s is a %v with provider config %v, want an Object with %s", name, m["kind"], got, want)
		}
	}
	keystone := desired(t, readyCluster(t, "{cluster: {ref: {name: east}}}", remote))["keystone"].Map()
	if diff := cmp.Diff(map[string]any{"providerConfig": "east", "remote": true}, at(keystone, "spec", "target")); diff != "" {
		t.Errorf("Keystone's target (-want +got):\n%s", diff)
	}
}

// TestKeystoneGetsSettingsOfClaim checks the complete spec of Keystone.
func TestKeystoneGetsSettingsOfClaim(t *testing.T) {
	o := desired(t, readyCluster(t, `{size: medium, services: {keystone: {config: {token: {cache_time: 600}}, hostname: a.example.org, bootstrap: {adminUser: root}}},
		global: {region: eu, exposure: {type: Ingress, ingressController: other}}, korc: {credentialRotation: {intervalDays: 30, suspend: true}}}`, bare))["keystone"].Map()
	spec, _ := o["spec"].(map[string]any)
	for path, want := range map[string]any{
		"openStackRelease": "2025.2", "replicas": 3.0, "region": "eu", "database.host": "maxscale." + instance + ".svc", "database.galera": true,
		"endpoints.public": "https://a.example.org/v3", "exposure.hostname": "a.example.org", "exposure.type": "Ingress", "issuerRef.name": "internal-ca",
		"bootstrap.adminUser": "root", "deletionPolicy": "Retain", "target.providerConfig": "in-cluster", "config.token.cache_time": 600.0,
		"resources.requests.memory": "1Gi", "korcCredential.intervalDays": 30.0, "korcCredential.suspend": true,
	} {
		if got := at(spec, strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if servers, _ := at(spec, "cache", "servers").([]any); len(servers) != 3 || servers[0] != "memcached-keystone-0.memcached-keystone."+instance+".svc:11211" {
		t.Errorf("cache servers %v", servers)
	}
	if diff := cmp.Diff([]any{"foregroundDeletion"}, at(o, "metadata", "finalizers")); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
}

// TestServicesFollowRevisionChannel checks that a service uses the channel of its control plane, and none without one.
func TestServicesFollowRevisionChannel(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         any
	}{
		"Bound": {
			"Composition and services of a control plane follow the same channel.",
			`{compositionRevisionSelector: {matchLabels: {crossplane.c5c3.io/channel: stable}}}`,
			map[string]any{"compositionRevisionSelector": map[string]any{"matchLabels": map[string]any{"crossplane.c5c3.io/channel": "stable"}}},
		},
		"Free": {"Absent is the newest, for both.", `{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := desired(t, readyCluster(t, tc.spec, bare))["keystone"].Map()
			if diff := cmp.Diff(tc.want, at(o, "spec", "crossplane")); diff != "" {
				t.Errorf("%s\nspec.crossplane (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDisabledComponentDelaysNoOther checks that a disabled component does not exist, and that no other component waits for it.
// test/invariants tests the order.
func TestDisabledComponentDelaysNoOther(t *testing.T) {
	w := newCluster(t, "{infrastructure: {valkey: {enabled: false}}}", bare)
	stage, calls := map[string]int{}, 0
	if err := w.Run(func(s simulate.Step) {
		calls++
		for _, name := range s.New {
			stage[name] = calls
		}
	}); err != nil {
		t.Fatal(err)
	}
	if stage["namespace"] != 1 || stage["locks"] != 0 {
		t.Errorf("stages %v", stage)
	}
	status := w.XR.AsMap()["status"]
	if at(status, "phase") != "Ready" || at(status, "instance") != instance || at(status, "release") != "2025.2" {
		t.Errorf("status %v", status)
	}
	// Components without dependents are not in the list.
	if names := slices.Sorted(maps.Keys(stage)); len(names) < 30 {
		t.Errorf("only %v", names)
	}
}

// TestBootstrapsDatabaseFromBackup checks that a new database is bootstrapped from a backup, and is backed up itself.
func TestBootstrapsDatabaseFromBackup(t *testing.T) {
	all := desired(t, readyCluster(t, `{size: development, infrastructure: {mariadb: {
		backup: {schedule: "5 4 * * *", retentionDays: 2, s3: {bucket: new, endpoint: "s3:443", credentialsSecretRef: {name: s3}}},
		restoreFrom: {targetRecoveryTime: "2026-05-01T03:00:00Z", rootPasswordSecretRef: {name: old-root, key: password}, s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}, privateCA: true}}}}}`, bare))
	from := at(inner(all["database"]), "spec", "bootstrapFrom")
	if at(from, "s3", "bucket") != "old" || at(from, "targetRecoveryTime") != "2026-05-01T03:00:00Z" || at(from, "s3", "tls", "caSecretKeyRef", "name") != "tenant-s3" {
		t.Errorf("starts from %v", from)
	}
	backup := at(inner(all[backupOf(t, all)]), "spec")
	if at(backup, "storage", "s3", "bucket") != "new" || at(backup, "maxRetention") != "48h" || at(backup, "schedule", "cron") != "5 4 * * *" {
		t.Errorf("backup %v", backup)
	}
}

// backupOf returns the name of the composed resource of the database's backups.
func backupOf(t *testing.T, all map[string]encoded.Struct) string {
	t.Helper()
	var found []string
	for name := range all {
		if name == "database-backup" || strings.HasPrefix(name, "database-backup-") {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("backups %v, want one", found)
	}
	return found[0]
}
