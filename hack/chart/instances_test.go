package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// TestDeletionPolicy: a claim whose data is to stay goes when that is in force, and no claim stays for ever.
func TestDeletionPolicy(t *testing.T) {
	const late = "spec.deletionPolicy is Retain, but not in force yet"
	cases := map[string]struct{ reason, claim, user, group, want string }{
		"NotInForce":    {"What holds data would be deleted.", "spec: {deletionPolicy: Retain}\nstatus: {deletionPolicy: Delete}", tenant, "", late},
		"ByDefault":     {"Retain is the default.", "spec: {}\nstatus: {deletionPolicy: Delete}", tenant, "", late},
		"InForce":       {"It is in force.", "spec: {deletionPolicy: Retain}\nstatus: {deletionPolicy: Retain}", tenant, "", ""},
		"Delete":        {"The data may go.", "spec: {deletionPolicy: Delete}\nstatus: {deletionPolicy: Delete}", tenant, "", ""},
		"NotYetDelete":  {"That data stays is no loss.", "spec: {deletionPolicy: Delete}\nstatus: {deletionPolicy: Retain}", tenant, "", ""},
		"NeverComposed": {"There is no data.", "spec: {deletionPolicy: Retain}", tenant, "", ""},
		"EarlierStatus": {"A status of an earlier version does not say.", "spec: {}\nstatus: {instance: i, phase: Ready}", tenant, "", ""},
		"Deleting":      {"It is too late to hold it.", "metadata: {deletionTimestamp: x}\nspec: {}\nstatus: {deletionPolicy: Delete}", tenant, "", ""},
		"Namespace":     {"Kubernetes tries again until the namespace is empty.", "spec: {}\nstatus: {deletionPolicy: Delete}", "system:serviceaccount:kube-system:namespace-controller", "", late},
		"Administrator": {"Nor does an administrator lose data by a command too early.", "spec: {}\nstatus: {deletionPolicy: Delete}", "root", "system:masters", late},
		"Platform":      {"The platform team can, where nothing composes any more.", "spec: {}\nstatus: {deletionPolicy: Delete}", "root", "cobaltcore:platform", ""},
		"NoSpec":        {"A claim without a spec is no error.", "metadata: {name: x}", tenant, "", ""},
	}
	p := policy(t, domain, "cobaltcore-deletion")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\n" + tc.claim
			old := parse(t, object, "metadata: {namespace: tenant-a, name: cloud}")
			check(t, tc.reason, p.validationError(t, request{old: old, operation: admission.Delete, user: tc.user, group: tc.group}), tc.want)
		})
	}
}

// TestDeletionOfPools: a pool that has virtual machines, or may have, is kept until its owner says that they may be left alone.
func TestDeletionOfPools(t *testing.T) {
	const (
		says    = "3 virtual machines are on nodes of the pool; to delete the claim, move them"
		has     = "status: {conditions: [{type: Ready, status: 'True'}, {type: NoVirtualMachines, status: 'False', message: '" + says + "'}]}"
		unknown = "status: {conditions: [{type: NoVirtualMachines, status: Unknown, message: A fatal error occurred.}]}"
		may     = "nobody knows whether virtual machines are on nodes of the pool, since it cannot be composed"
	)
	consent := func(is string) string { return "spec: {allowDeletionWithVirtualMachines: " + is + "}\n" }
	cases := map[string]struct{ reason, claim, user, group, want string }{
		"Has":           {"They would be left alone, without a word.", "spec: {}\n" + has, tenant, "", says},
		"NoConsent":     {"The default says nothing else.", consent("false") + has, tenant, "", says},
		"Consent":       {"Whoever gave it knows.", consent("true") + has, tenant, "", ""},
		"Unknown":       {"Nobody knows whether there are any.", "spec: {}\n" + unknown, tenant, "", may},
		"UnknownAnyway": {"A pool that is broken can be deleted.", consent("true") + unknown, tenant, "", ""},
		"Long":          {"An API server says no novels.", strings.Replace(has, says, strings.Repeat("x", 6000), 1), tenant, "", may},
		"None":          {"Nothing is lost.", "spec: {}\nstatus: {conditions: [{type: NoVirtualMachines, status: 'True'}]}", tenant, "", ""},
		"NotAsked":      {"Nothing was ever there.", "spec: {}\nstatus: {conditions: [{type: Ready, status: 'False'}]}", tenant, "", ""},
		"NeverComposed": {"Nor here.", "spec: {}", tenant, "", ""},
		"Deleting":      {"It is too late to hold it.", "metadata: {deletionTimestamp: x}\n" + has, tenant, "", ""},
		"Namespace":     {"It does not go with its namespace either.", has, "system:serviceaccount:kube-system:namespace-controller", "", says},
		"Administrator": {"An administrator is told, too.", has, "root", "system:masters", says},
		"Platform":      {"The platform team is trusted to know.", has, "root", "cobaltcore:platform", ""},
		"Crossplane":    {"Nothing keeps Crossplane from its work.", has, crossplane, "", ""},
	}
	p := policy(t, domain, "cobaltcore-deletion")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: HypervisorCluster\n" + tc.claim
			old := parse(t, object, "metadata: {namespace: tenant-a, name: pool}")
			check(t, tc.reason, p.validationError(t, request{old: old, operation: admission.Delete, user: tc.user, group: tc.group}), tc.want)
		})
	}
}

// What a companion orders: companion/keyrepository/backup.go.
const (
	push = `
apiVersion: external-secrets.io/v1alpha1
kind: PushSecret
metadata: {namespace: i-1a2b3, name: keystone-fernet-keys-push-0123456789}
spec:
  updatePolicy: Replace
  deletionPolicy: None
  refreshInterval: 0s
  secretStoreRefs: [{name: openbao, kind: ClusterSecretStore}]
  selector: {secret: {name: keystone-fernet-keys}}
  data: [{match: {remoteRef: {remoteKey: lab/i-1a2b3/keystone-fernet-keys}}}]
`
	restore = `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {namespace: i-1a2b3, name: keystone-fernet-keys-restore}
spec:
  refreshInterval: 1m
  secretStoreRef: {name: openbao, kind: ClusterSecretStore}
  target: {name: keystone-fernet-keys-restore, creationPolicy: Owner, deletionPolicy: Delete}
  dataFrom: [{extract: {key: lab/i-1a2b3/keystone-fernet-keys}}]
`
)

// TestCompanionPolicy: whoever has a companion's token gets the keys of its own control plane from the store, and nothing else.
func TestCompanionPolicy(t *testing.T) {
	const (
		companion = "system:serviceaccount:i-1a2b3:companion"
		store     = "uses no secret store but"
		keys      = "keeps keys of its own control plane"
		asItIs    = "pushes a Secret as it is"
		read      = "reads an entry as it is"
	)
	managed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "i-1a2b3", Labels: map[string]string{"app.kubernetes.io/managed-by": "crossplane-cobaltcore"},
		Annotations: map[string]string{
			"crossplane.c5c3.io/secret-store": "ClusterSecretStore/openbao", "crossplane.c5c3.io/secret-path": "lab/i-1a2b3",
		},
	}}
	without := managed.DeepCopy()
	without.Annotations = nil
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}
	cases := map[string]struct {
		reason, object, patch string
		in                    *corev1.Namespace
		user, want            string
	}{
		"Push":    {"This is what it is for.", push, "{}", managed, companion, ""},
		"Restore": {"And this.", restore, "{}", managed, companion, ""},
		"PushNeighbour": {
			"Another control plane's password is overwritten.", push, "spec: {data: [{match: {remoteRef: {remoteKey: lab/other-4d5e6/keystone-fernet-keys}}}]}",
			managed, companion, keys,
		},
		"PushUp": {
			"A path that a store resolves.", push, "spec: {data: [{match: {remoteRef: {remoteKey: lab/i-1a2b3/../other-4d5e6/keystone-fernet-keys}}}]}",
			managed, companion, keys,
		},
		"PushOther": {
			"Not even its own database's password is replaced.", push, "spec: {data: [{match: {remoteRef: {remoteKey: lab/i-1a2b3/mariadb-root}}}]}",
			managed, companion, keys,
		},
		"PushRoot": {
			"It keeps keys, and passwords are others' to keep.", push,
			"spec: {selector: {secret: {name: mariadb-root}}, data: [{match: {remoteRef: {remoteKey: lab/i-1a2b3/mariadb-root}}}]}", managed, companion, keys,
		},
		"PushTwo": {
			"One entry more.", push,
			"spec: {data: [{match: {remoteRef: {remoteKey: lab/i-1a2b3/keystone-fernet-keys}}}, {match: {remoteRef: {remoteKey: lab/x}}}]}", managed, companion, keys,
		},
		"PushStore": {"A store that was made for something else.", push, "spec: {secretStoreRefs: [{name: corporate, kind: ClusterSecretStore}]}", managed, companion, store},
		"PushKind":  {"A store of the same name.", push, "spec: {secretStoreRefs: [{name: openbao, kind: SecretStore}]}", managed, companion, store},
		"PushStores": {
			"One store more.", push, "spec: {secretStoreRefs: [{name: openbao, kind: ClusterSecretStore}, {name: corporate, kind: ClusterSecretStore}]}", managed, companion, store,
		},
		"PushEveryStore": {
			"Stores by their labels.", push, "spec: {secretStoreRefs: [{kind: ClusterSecretStore, name: openbao, labelSelector: {}}]}", managed, companion, store,
		},
		"PushDelete":    {"An entry that goes with its order.", push, "spec: {deletionPolicy: Delete}", managed, companion, asItIs},
		"PushTemplate":  {"A template calls functions, and makes other things of a Secret.", push, "spec: {template: {data: {a: b}}}", managed, companion, asItIs},
		"PushGenerator": {"A generator brings tokens of registries and clouds.", push, "spec: {selector: {generatorRef: {kind: Fake, name: f}}}", managed, companion, asItIs},
		"PushMetadata": {
			"Metadata of a store decides who may read it.", push,
			"spec: {data: [{metadata: {a: b}, match: {remoteRef: {remoteKey: lab/i-1a2b3/keystone-fernet-keys}}}]}", managed, companion, asItIs,
		},
		"PushAll": {"Whatever a later version reads.", push, "spec: {dataTo: [{}]}", managed, companion, asItIs},
		"RestoreNeighbour": {
			"The neighbour's administrator.", restore, "spec: {dataFrom: [{extract: {key: lab/other-4d5e6/keystone-admin}}]}", managed, companion, keys,
		},
		"RestoreAdmin": {
			"Its own administrator's password is none of the companion's business.", restore,
			"metadata: {name: keystone-admin-restore}\nspec: {target: {name: keystone-admin-restore}, dataFrom: [{extract: {key: lab/i-1a2b3/keystone-admin}}]}",
			managed, companion, keys,
		},
		"RestoreFind":      {"Whatever the store has.", restore, "spec: {dataFrom: [{find: {name: {regexp: '.*'}}}]}", managed, companion, keys},
		"RestoreGenerator": {"A generator's tokens.", restore, "spec: {dataFrom: [{sourceRef: {generatorRef: {kind: Fake, name: f}}}]}", managed, companion, keys},
		"RestoreSource": {
			"Another store for one entry.", restore,
			"spec: {dataFrom: [{extract: {key: lab/i-1a2b3/keystone-fernet-keys}, sourceRef: {storeRef: {name: corporate, kind: ClusterSecretStore}}}]}",
			managed, companion, read,
		},
		"RestoreVersion": {
			"Keys of before.", restore, "spec: {dataFrom: [{extract: {key: lab/i-1a2b3/keystone-fernet-keys, version: '1'}}]}", managed, companion, read,
		},
		"RestoreData":     {"Entries one by one.", restore, "spec: {data: [{secretKey: a, remoteRef: {key: lab/other/a}}]}", managed, companion, read},
		"RestoreStore":    {"A store that was made for something else.", restore, "spec: {secretStoreRef: {name: corporate}}", managed, companion, store},
		"RestoreTemplate": {"A template calls functions.", restore, "spec: {target: {template: {data: {a: b}}}}", managed, companion, read},
		"RestoreOver":     {"A Secret that others read.", restore, "spec: {target: {name: keystone-admin}}", managed, companion, read},
		"RestoreMerge":    {"A Secret that is there already.", restore, "spec: {target: {creationPolicy: Merge}}", managed, companion, read},
		"RestoreNoStore":  {"A control plane without a store has nothing there.", restore, "{}", without, companion, store},
		"Provider":        {"Passwords are ordered by whoever makes the control plane.", restore, "spec: {dataFrom: [{find: {}}]}", managed, "system:serviceaccount:crossplane-system:provider-kubernetes", ""},
		"Stranger":        {"Another namespace's service account of that name is not ours.", restore, "spec: {dataFrom: [{find: {}}]}", theirs, "system:serviceaccount:elsewhere:companion", ""},
	}
	modes := map[string]compiled{
		"management": policy(t, domain, "cobaltcore-companion"), "workload": policy(t, elsewhere, "cobaltcore-companion"),
	}
	set := crds.Load(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := parse(t, tc.object, tc.patch)
			v, err := set.Validator(o.GetAPIVersion(), o.GetKind())
			if err != nil {
				t.Fatal(err)
			}
			v.Default(o.Object)
			for mode, p := range modes {
				r := request{object: o, operation: admission.Create, user: tc.user, namespace: tc.in}
				check(t, mode+": "+tc.reason, p.validationError(t, r), tc.want)
			}
		})
	}
}

// elsewhere are values for a cluster with nothing but workloads.
const elsewhere = "mode: workload\nworkload: {subjects: [{kind: User, name: provider}]}\n"

// TestNamespacesPolicy: nobody makes his namespace look like a control plane's.
func TestNamespacesPolicy(t *testing.T) {
	const (
		plain  = "metadata: {name: team, labels: {team: a}}"
		marked = "metadata: {name: team, labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}, " +
			"annotations: {crossplane.c5c3.io/claim: tenant-a/cloud, crossplane.c5c3.io/secret-path: n}}"
		label = "metadata.labels: app.kubernetes.io/managed-by"
		notes = "metadata.annotations of crossplane.c5c3.io"
	)
	maker := []string{"mark instances.crossplane.c5c3.io"}
	cases := map[string]struct {
		reason, old, patch string
		rights             []string
		want               string
	}{
		"Create":       {"Namespaces are everybody's who may make them.", "", "{}", nil, ""},
		"CreateOther":  {"Helm's label is not ours.", "", "metadata: {labels: {app.kubernetes.io/managed-by: Helm}}", nil, ""},
		"CreateMarked": {"The label opens the secret store.", "", "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", nil, label},
		"CreateNoted":  {"An annotation bounds what a companion may ask for.", "", "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", nil, notes},
		"Made":         {"The provider makes them so.", "", "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", maker, ""},
		"Mark":         {"Nor is a namespace made one later.", plain, "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", nil, label},
		"Unmark":       {"A control plane's namespace without its label has no bounds.", marked, "metadata: {labels: {app.kubernetes.io/managed-by: null}}", nil, label},
		"EditNote":     {"Another path is another's keys.", marked, "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", nil, notes},
		"RemoveNote":   {"Whose it is stays.", marked, "metadata: {annotations: {crossplane.c5c3.io/claim: null}}", nil, notes},
		"Edit":         {"Other labels and annotations come and go.", marked, "metadata: {labels: {team: b}, annotations: {note: x}}", nil, ""},
		"Repaired":     {"The provider writes again what it wants.", marked, "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", maker, ""},
		"Squat":        {"Whoever has the namespace before its control plane reads what is in it.", "", "metadata: {name: tenant-b-cloud-aab838129d70f8f9a33a}", nil, "metadata.name ends as"},
		"SquatLuck":    {"So he does who has it generated.", "", "metadata: {name: null, generateName: tenant-b-cloud-aab838129d70f8f}", nil, "metadata.name ends as"},
		"Generated":    {"Other names may be generated.", "", "metadata: {name: null, generateName: team-}", nil, ""},
		"Digits":       {"Nor is every number a hash.", "", "metadata: {name: team-12345}", nil, ""},
		"Recreated":    {"A platform team makes it before a restore.", "", "metadata: {name: tenant-b-cloud-aab838129d70f8f9a33a}", maker, ""},
		"EditOld":      {"One that is there already stays as it is.", "metadata: {name: a-aab838129d70f8f9a33a}", "metadata: {labels: {a: b}}", nil, ""},
		"OtherRights":  {"Other rights do not matter.", plain, "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", []string{"update namespaces."}, label},
	}
	for mode, values := range map[string]string{"management": domain, "workload": elsewhere} {
		p := policy(t, values, "cobaltcore-namespaces")
		for name, tc := range cases {
			t.Run(mode+"/"+name, func(t *testing.T) {
				r := request{operation: admission.Create, user: tenant, rights: tc.rights, object: parse(t, plain, tc.patch)}
				if tc.old != "" {
					r.operation, r.old, r.object = admission.Update, parse(t, tc.old, ""), parse(t, tc.old, tc.patch)
				}
				check(t, tc.reason, p.validationError(t, r), tc.want)
			})
		}
	}
}
