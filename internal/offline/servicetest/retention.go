package servicetest

import (
	"fmt"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// data lists the kinds that contain data, and kinds that are required to read it. They outlive a claim with deletionPolicy Retain.
var data = []struct {
	reason string
	kinds  []string
	// where selects objects of the kinds. Nil selects all.
	where func(o map[string]any) bool
}{
	{"The namespace contains all volumes.", []string{"/Namespace"}, nil},
	{"The volume contains data.", []string{"/PersistentVolumeClaim"}, nil},
	{"The server contains the databases of all services.", []string{"k8s.mariadb.com/MariaDB", "k8s.mariadb.com/ExternalMariaDB"}, nil},
	{
		"The operator drops a database, an account or its rights with its object.",
		[]string{"k8s.mariadb.com/Database", "k8s.mariadb.com/User", "k8s.mariadb.com/Grant"}, nil,
	},
	{"Queues contain requests that are not processed yet.", []string{"rabbitmq.com/RabbitmqCluster", "rabbitmq.com/Vhost"}, nil},
	{"The volumes of Valkey contain the locks of volumes in use.", []string{"cache.cs.sap.com/Valkey"}, nil},
	{"Tokens, credentials and secrets cannot be decrypted without the keys.", []string{"openstack.c5c3.io/KeyRepository"}, nil},
	{"A database of OVN is restored by the identity of its Raft cluster.", []string{"c5c3.io/RaftCluster"}, nil},
	{
		"Rook deletes images, volumes, files or keys with the object.",
		[]string{
			"ceph.rook.io/CephCluster", "ceph.rook.io/CephBlockPool", "ceph.rook.io/CephClient", "ceph.rook.io/CephFilesystem",
			"ceph.rook.io/CephObjectStore", "ceph.rook.io/CephNFS", "ceph.rook.io/CephRBDMirror", "storage.k8s.io/StorageClass",
		}, nil,
	},
	{
		"Retained Ceph daemons run with these rights.",
		[]string{"/ServiceAccount", "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding"},
		func(o map[string]any) bool { return strings.HasPrefix(text(o, "metadata", "name"), "rook-ceph-") },
	},
	{
		"Data protected with this password cannot be accessed with another one.", []string{"external-secrets.io/ExternalSecret"},
		func(o map[string]any) bool {
			from, _ := at(o, "spec", "dataFrom").([]any)
			return slices.ContainsFunc(from, func(s any) bool { return at(s, "sourceRef", "generatorRef") != nil })
		},
	},
	{
		"Retained clients trust this authority. Hypervisors request another certificate for live migration and disk transfers.",
		[]string{"cert-manager.io/Certificate"},
		func(o map[string]any) bool {
			ca, _ := at(o, "spec", "isCA").(bool)
			name := text(o, "metadata", "name")
			return ca && !strings.HasPrefix(name, "live-migration") && !strings.HasPrefix(name, "disk-transfer")
		},
	},
}

// fields lists fields that determine whether an owner keeps or deletes data.
var fields = []struct {
	reason, kind string
	path         []string
	// retain and delete are the values for each deletionPolicy. An empty one is not tested.
	retain, delete string
	// where selects objects of the kind. Nil selects all.
	where func(o map[string]any) bool
}{
	{"The database is kept when its object is replaced.", "k8s.mariadb.com/Database", []string{"spec", "cleanupPolicy"}, "Skip", "Skip", nil},
	{"The account is kept when its object is replaced.", "k8s.mariadb.com/User", []string{"spec", "cleanupPolicy"}, "Skip", "Skip", nil},
	{"The rights are kept when their object is replaced.", "k8s.mariadb.com/Grant", []string{"spec", "cleanupPolicy"}, "Skip", "Skip", nil},
	{"The virtual host contains queues.", "rabbitmq.com/Vhost", []string{"spec", "deletionPolicy"}, "retain", "delete", nil},
	{
		"Volumes of StatefulSets contain data until their namespace is deleted.", "apps/StatefulSet",
		[]string{"spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"}, "Retain", "Retain", hasVolumes,
	},
	{
		"A smaller StatefulSet keeps the volumes of removed pods.", "apps/StatefulSet",
		[]string{"spec", "persistentVolumeClaimRetentionPolicy", "whenScaled"}, "Retain", "Retain", hasVolumes,
	},
	{"Keystone deletes all users and projects of a domain with it.", "openstack.k-orc.cloud/Domain", onDelete, "detach", "", managed},
	{"Services of other claims use the role.", "openstack.k-orc.cloud/Role", onDelete, "detach", "detach", managed},
	{
		"The project owns objects of retained services.", "openstack.k-orc.cloud/Project", onDelete, "detach", "detach",
		func(o map[string]any) bool { return managed(o) && text(o, "metadata", "name") == common.ServiceProject },
	},
	{
		"Trusts of stacks end with their trustee.", "openstack.k-orc.cloud/User", onDelete, "detach", "delete",
		func(o map[string]any) bool { return managed(o) && text(o, "metadata", "name") == "heat" },
	},
	{
		"A generated password is generated once.", "external-secrets.io/ExternalSecret",
		[]string{"spec", "refreshPolicy"}, "CreatedOnce", "CreatedOnce", data[len(data)-2].where,
	},
	{
		"The Secret is kept when its ExternalSecret is replaced.", "external-secrets.io/ExternalSecret",
		[]string{"spec", "target", "creationPolicy"}, "Orphan", "Orphan", data[len(data)-2].where,
	},
	{"Volumes of Pods are kept in the pool.", "storage.k8s.io/StorageClass", []string{"reclaimPolicy"}, "Retain", "", nil},
}

var onDelete = []string{"spec", "managedOptions", "onDelete"}

func managed(o map[string]any) bool { return text(o, "spec", "managementPolicy") == "managed" }

func hasVolumes(o map[string]any) bool {
	claims, _ := at(o, "spec", "volumeClaimTemplates").([]any)
	return len(claims) > 0
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// groupKind returns the group and the kind of an object, without its version.
func groupKind(o map[string]any) string {
	group, _, found := strings.Cut(text(o, "apiVersion"), "/")
	if !found {
		group = ""
	}
	return group + "/" + text(o, "kind")
}

// Retention returns violations for a composed resource of a claim with the deletionPolicy: data that would be deleted or kept contrary to
// it. The number is the count of applicable rules.
func Retention(policy string, composed encoded.Struct) (findings []string, rules int) {
	retained, body := wrapper.OrphansOnDelete(composed), composed
	if inner, ok := wrapper.Desired(composed); ok {
		body = inner
	}
	o := body.Map()
	kind, name := groupKind(o), text(o, "kind")+" "+text(o, "metadata", "name")
	for _, d := range data {
		if !slices.Contains(d.kinds, kind) || d.where != nil && !d.where(o) {
			continue
		}
		rules++
		if wrapper.IsObject(composed) && retained != (policy != common.DeletionPolicyDelete) || !wrapper.IsObject(composed) {
			findings = append(findings, fmt.Sprintf("%s is retained: %t, with deletionPolicy %s: %s", name, retained, policy, d.reason))
		}
	}
	for _, f := range fields {
		if f.kind != kind || f.where != nil && !f.where(o) {
			continue
		}
		want := f.retain
		if policy == common.DeletionPolicyDelete {
			want = f.delete
		}
		rules++
		if got := text(o, f.path...); want != "" && got != want {
			findings = append(findings, fmt.Sprintf("%s has %s %q, want %q, with deletionPolicy %s: %s",
				name, strings.Join(f.path, "."), got, want, policy, f.reason))
		}
	}
	return findings, rules
}

// deletionEffect returns the effect on a composed resource when its claim is deleted, for goldens.
func deletionEffect(composed encoded.Struct) string {
	switch {
	case wrapper.IsObserveOnly(composed):
		return "observed only"
	case wrapper.OrphansOnDelete(composed):
		return "retained"
	}
	return "deleted"
}
