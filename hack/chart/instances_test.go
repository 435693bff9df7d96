package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// TestDeletionWaitsForEffectiveRetainPolicy: a claim with Retain is deleted only when Retain is in force, and every claim can be deleted.
func TestDeletionWaitsForEffectiveRetainPolicy(t *testing.T) {
	const late = "spec.deletionPolicy is Retain, but not in force yet"
	cases := map[string]struct{ reason, claim, user, group, want string }{
		"NotInForce":    {"Objects with data would be deleted.", "spec: {deletionPolicy: Retain}\nstatus: {deletionPolicy: Delete}", tenant, "", late},
		"ByDefault":     {"Retain is the default.", "spec: {}\nstatus: {deletionPolicy: Delete}", tenant, "", late},
		"InForce":       {"It is in force.", "spec: {deletionPolicy: Retain}\nstatus: {deletionPolicy: Retain}", tenant, "", ""},
		"Delete":        {"The data may go.", "spec: {deletionPolicy: Delete}\nstatus: {deletionPolicy: Delete}", tenant, "", ""},
		"NotYetDelete":  {"That data stays is no loss.", "spec: {deletionPolicy: Delete}\nstatus: {deletionPolicy: Retain}", tenant, "", ""},
		"NeverComposed": {"There is no data.", "spec: {deletionPolicy: Retain}", tenant, "", ""},
		"EarlierStatus": {"A status of an earlier version does not have the field.", "spec: {}\nstatus: {instance: i, phase: Ready}", tenant, "", ""},
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

// TestDeletionOfClouds checks that an OpenStackCluster is deleted only when its claims have its last edit of data and virtual machines, and
// that its claims are not deleted without it.
func TestDeletionOfClouds(t *testing.T) {
	const (
		early   = "the claims of the cloud do not have its last change"
		belongs = "the claim belongs to an OpenStackCluster"
		late    = "spec.deletionPolicy is Retain, but not in force yet"
		servers = "2 virtual machines"

		cloud = "kind: OpenStackCluster\nspec: {openStackRelease: '2025.2', storage: {spec: {deletionPolicy: Retain}}, controlPlane: {spec: {deletionPolicy: Retain}}}\n"
		valid = "lastValidSpec: {openStackRelease: '2025.1', storage: {spec: {deletionPolicy: Retain}}, controlPlane: {spec: {deletionPolicy: Retain}}}"
		claim = "kind: HypervisorCluster\nspec: {}\nmetadata: {ownerReferences: [{kind: XOpenStackCluster, apiVersion: crossplane.c5c3.io/v1alpha1, name: x, controller: true}]}\n"
	)
	is := func(status string) string { return cloud + "status: {" + status + "}\n" }
	cases := map[string]struct{ reason, object, user, group, want string }{
		"Applied":          {"All claims have the edit.", is(valid + ", parts: [{name: storage, applied: true}]"), tenant, "", ""},
		"New":              {"Nothing was composed.", cloud, tenant, "", ""},
		"NotApplied":       {"A claim does not have it.", is(valid + ", parts: [{name: storage, applied: true}, {name: pool-a, applied: false}]"), tenant, "", early},
		"EarlierStorage":   {"The function has not seen the edit.", is("lastValidSpec: {storage: {spec: {deletionPolicy: Delete}}, controlPlane: {spec: {deletionPolicy: Retain}}}"), tenant, "", early},
		"EarlierPlane":     {"The same applies to the control plane.", is("lastValidSpec: {storage: {spec: {deletionPolicy: Retain}}, controlPlane: {spec: {deletionPolicy: Delete}}}"), tenant, "", early},
		"EarlierPools":     {"Pools have a consent to leave virtual machines.", is("lastValidSpec: {storage: {spec: {deletionPolicy: Retain}}, controlPlane: {spec: {deletionPolicy: Retain}}, hypervisorPools: []}"), tenant, "", early},
		"Namespace":        {"Kubernetes tries again.", is(valid + ", parts: [{name: storage}]"), "system:serviceaccount:kube-system:namespace-controller", "", early},
		"Platform":         {"The platform team can.", is(valid + ", parts: [{name: storage}]"), "root", "cobaltcore:platform", ""},
		"Data":             {"Each claim has a policy of its own.", is(valid + ", deletionPolicy: Delete"), tenant, "", ""},
		"Servers":          {"They would run without management.", is(valid + ", conditions: [{type: NoVirtualMachines, status: 'False', message: " + servers + "}]"), tenant, "", servers},
		"Claim":            {"It would be created again.", claim, tenant, "", belongs},
		"ClaimOfDeleted":   {"The cloud was deleted.", claim, collector, "", ""},
		"ClaimByPlatform":  {"Crossplane creates it again.", claim, "root", "cobaltcore:platform", ""},
		"ClaimInForce":     {"The collector follows the policy of data.", claim + "status: {deletionPolicy: Delete}", collector, "", late},
		"ClaimWithServers": {"And of virtual machines.", claim + "status: {conditions: [{type: NoVirtualMachines, status: 'False', message: " + servers + "}]}", collector, "", servers},
	}
	p := policy(t, domain, "cobaltcore-deletion")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := "apiVersion: crossplane.c5c3.io/v1alpha1\n" + tc.object
			old := parse(t, object, "metadata: {namespace: tenant-a, name: cloud}")
			check(t, tc.reason, p.validationError(t, request{old: old, operation: admission.Delete, user: tc.user, group: tc.group}), tc.want)
		})
	}
}

// TestDeletionOfNamespacedForms checks that the namespaced form of a claim is deleted only when the claim has its last change, and that a claim
// is not deleted without its namespaced form.
func TestDeletionOfNamespacedForms(t *testing.T) {
	const (
		early   = "the claim does not have the last change of this resource yet"
		belongs = "the claim belongs to its namespaced form"
		form    = "apiVersion: m.crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nmetadata: {generation: 4}\nspec: {deletionPolicy: Retain}\n"
		claim   = "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nspec: {}\nmetadata: {ownerReferences: [{kind: ControlPlaneCluster, "
	)
	is := func(synced, current string) string {
		return form + "status:\n  conditions: [{type: Synced, " + synced + "}, {type: Current, " + current + "}]\n"
	}
	composed := func(policy string) string { return "  lastValidSpec: {deletionPolicy: " + policy + "}\n" }
	const collects, namespaces = "system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccount:kube-system:namespace-controller"
	cases := map[string]struct {
		reason, object, user, group string
		orphan                      bool
		want                        string
	}{
		"Applied":       {reason: "The claim has the spec.", object: is("status: 'True', observedGeneration: 4", "status: 'True'"), user: tenant},
		"NotCurrent":    {reason: "A cloud that is not ready can be deleted.", object: is("status: 'True', observedGeneration: 4", "status: 'False', reason: PodsNotAvailable"), user: tenant},
		"SpecOfClaim":   {reason: "The claim is composed with the policy.", object: is("status: 'True', observedGeneration: 4", "status: 'True'") + composed("Retain"), user: tenant},
		"EarlierPolicy": {reason: "The claim is composed with an earlier policy.", object: is("status: 'True', observedGeneration: 4", "status: 'True'") + composed("Delete"), user: tenant, want: early},
		"New":           {reason: "Nothing was composed.", object: form, user: tenant},
		"Edited":        {reason: "The function has not seen the last edit.", object: is("status: 'True', observedGeneration: 3", "status: 'True'"), user: tenant, want: early},
		"Differs":       {reason: "The claim does not have the edit yet.", object: is("status: 'True', observedGeneration: 4", "status: 'False', reason: ClaimDiffers"), user: tenant, want: early},
		"Outdated":      {reason: "The status describes an earlier spec.", object: is("status: 'True', observedGeneration: 4", "status: 'False', reason: Outdated"), user: tenant, want: early},
		"Adopted":       {reason: "The claim may exist already.", object: is("status: 'True', observedGeneration: 4", "status: 'False', reason: ClaimMissing"), user: tenant, want: early},
		"Rejected":      {reason: "The API server rejects the claim.", object: is("status: 'False', observedGeneration: 4", "status: 'False', reason: ClaimMissing"), user: tenant},
		"EditRejected":  {reason: "The API server rejects the edit of the claim.", object: is("status: 'False', observedGeneration: 4", "status: 'False', reason: ClaimDiffers"), user: tenant, want: early},
		"Orphan":        {reason: "The claim is kept.", object: is("status: 'True', observedGeneration: 3", "status: 'True'"), user: tenant, orphan: true},
		"Namespace":     {reason: "Kubernetes tries again.", object: is("status: 'True', observedGeneration: 3", "status: 'True'"), user: namespaces, want: early},
		"Platform":      {reason: "The platform team can.", object: is("status: 'True', observedGeneration: 3", "status: 'True'"), user: "root", group: "cobaltcore:platform"},
		"Claim":         {reason: "A tool removes the claim after a migration.", object: claim + "controller: true, apiVersion: m.crossplane.c5c3.io/v1alpha1}]}", user: tenant, want: belongs},
		"ClaimOfForm":   {reason: "The form was deleted.", object: claim + "controller: true, apiVersion: m.crossplane.c5c3.io/v1alpha1}]}", user: collects},
		"ClaimOfOther":  {reason: "An owner of another project.", object: claim + "controller: true, apiVersion: example.com/v1}]}", user: tenant},
		"ClaimNotOwned": {reason: "An owner that is no controller.", object: claim + "apiVersion: m.crossplane.c5c3.io/v1alpha1}]}", user: tenant},
	}
	p := policy(t, domain, "cobaltcore-deletion")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			old := parse(t, tc.object, "metadata: {namespace: tenant-a, name: cloud}")
			check(t, tc.reason, p.validationError(t, request{old: old, operation: admission.Delete, user: tc.user, group: tc.group, orphan: tc.orphan}), tc.want)
		})
	}
}

// TestDeletionOfPools checks that a pool that has virtual machines, or may have some, is kept until its owner consents to their loss.
func TestDeletionOfPools(t *testing.T) {
	const (
		message        = "3 virtual machines are on nodes of the pool; to delete the claim, move them"
		has            = "status: {conditions: [{type: Ready, status: 'True'}, {type: NoVirtualMachines, status: 'False', message: '" + message + "'}]}"
		unknown        = "status: {conditions: [{type: NoVirtualMachines, status: Unknown, message: A fatal error occurred.}]}"
		unknownMessage = "it is unknown whether virtual machines are on nodes of the pool, because it cannot be composed"
	)
	consent := func(is string) string { return "spec: {allowDeletionWithVirtualMachines: " + is + "}\n" }
	cases := map[string]struct{ reason, claim, user, group, want string }{
		"Has":           {"The virtual machines would be lost silently.", "spec: {}\n" + has, tenant, "", message},
		"NoConsent":     {"The default is the same.", consent("false") + has, tenant, "", message},
		"Consent":       {"The owner has consented.", consent("true") + has, tenant, "", ""},
		"Unknown":       {"The number of virtual machines is unknown.", "spec: {}\n" + unknown, tenant, "", unknownMessage},
		"UnknownAnyway": {"A pool that is broken can be deleted.", consent("true") + unknown, tenant, "", ""},
		"Long":          {"An API server rejects long messages.", strings.Replace(has, message, strings.Repeat("x", 6000), 1), tenant, "", unknownMessage},
		"None":          {"Nothing is lost.", "spec: {}\nstatus: {conditions: [{type: NoVirtualMachines, status: 'True'}]}", tenant, "", ""},
		"NotAsked":      {"The pool never had virtual machines.", "spec: {}\nstatus: {conditions: [{type: Ready, status: 'False'}]}", tenant, "", ""},
		"NeverComposed": {"The same applies without a status.", "spec: {}", tenant, "", ""},
		"Deleting":      {"It is too late to hold it.", "metadata: {deletionTimestamp: x}\n" + has, tenant, "", ""},
		"Namespace":     {"The deletion of its namespace does not delete it either.", has, "system:serviceaccount:kube-system:namespace-controller", "", message},
		"Administrator": {"An administrator gets the same message.", has, "root", "system:masters", message},
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

// Objects that a companion creates: companion/keyrepository/backup.go.
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

// TestCompanionAccessesOnlyOwnKeys checks that a companion's token grants access only to its control plane's keys in the store.
func TestCompanionAccessesOnlyOwnKeys(t *testing.T) {
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
		"Push":    {"The backup of keys is allowed.", push, "{}", managed, companion, ""},
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
		"PushAll": {"Fields of later versions are rejected.", push, "spec: {dataTo: [{}]}", managed, companion, asItIs},
		"RestoreNeighbour": {
			"The neighbour's administrator.", restore, "spec: {dataFrom: [{extract: {key: lab/other-4d5e6/keystone-admin}}]}", managed, companion, keys,
		},
		"RestoreAdmin": {
			"The companion has no access to the administrator's password of its control plane.", restore,
			"metadata: {name: keystone-admin-restore}\nspec: {target: {name: keystone-admin-restore}, dataFrom: [{extract: {key: lab/i-1a2b3/keystone-admin}}]}",
			managed, companion, keys,
		},
		"RestoreFind":      {"A search would return all entries of the store.", restore, "spec: {dataFrom: [{find: {name: {regexp: '.*'}}}]}", managed, companion, keys},
		"RestoreGenerator": {"A generator's tokens.", restore, "spec: {dataFrom: [{sourceRef: {generatorRef: {kind: Fake, name: f}}}]}", managed, companion, keys},
		"RestoreSource": {
			"Another store for one entry.", restore,
			"spec: {dataFrom: [{extract: {key: lab/i-1a2b3/keystone-fernet-keys}, sourceRef: {storeRef: {name: corporate, kind: ClusterSecretStore}}}]}",
			managed, companion, read,
		},
		"RestoreVersion": {
			"Previous keys are not allowed.", restore, "spec: {dataFrom: [{extract: {key: lab/i-1a2b3/keystone-fernet-keys, version: '1'}}]}", managed, companion, read,
		},
		"RestoreData":     {"Entries one by one.", restore, "spec: {data: [{secretKey: a, remoteRef: {key: lab/other/a}}]}", managed, companion, read},
		"RestoreStore":    {"A store that was made for something else.", restore, "spec: {secretStoreRef: {name: corporate}}", managed, companion, store},
		"RestoreTemplate": {"A template calls functions.", restore, "spec: {target: {template: {data: {a: b}}}}", managed, companion, read},
		"RestoreOver":     {"A Secret that others read.", restore, "spec: {target: {name: keystone-admin}}", managed, companion, read},
		"RestoreMerge":    {"An existing Secret would be changed.", restore, "spec: {target: {creationPolicy: Merge}}", managed, companion, read},
		"RestoreNoStore":  {"A control plane without a store has nothing there.", restore, "{}", without, companion, store},
		"Provider":        {"The provider, which creates control planes, also creates passwords.", restore, "spec: {dataFrom: [{find: {}}]}", managed, "system:serviceaccount:crossplane-system:provider-kubernetes", ""},
		"Stranger":        {"A service account with the same name in another namespace is not restricted.", restore, "spec: {dataFrom: [{find: {}}]}", theirs, "system:serviceaccount:elsewhere:companion", ""},
	}
	modes := map[string]compiled{
		"management": policy(t, domain, "cobaltcore-companion"), "workload": policy(t, workloadValues, "cobaltcore-companion"),
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

// workloadValues are values for a cluster with workloads only.
const workloadValues = "mode: workload\nworkload: {subjects: [{kind: User, name: provider}]}\n"

// TestUsersCannotMarkNamespacesAsManaged checks that other users cannot mark a namespace as the namespace of a control plane.
func TestUsersCannotMarkNamespacesAsManaged(t *testing.T) {
	const (
		unmarked = "metadata: {name: team, labels: {team: a}}"
		marked   = "metadata: {name: team, labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}, " +
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
		"Create":       {"Other namespaces are not restricted.", "", "{}", nil, ""},
		"CreateOther":  {"Helm's label is not ours.", "", "metadata: {labels: {app.kubernetes.io/managed-by: Helm}}", nil, ""},
		"CreateMarked": {"The label opens the secret store.", "", "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", nil, label},
		"CreateNoted":  {"An annotation restricts the companion.", "", "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", nil, notes},
		"Made":         {"The provider makes them so.", "", "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", maker, ""},
		"Mark":         {"An existing namespace cannot be marked either.", unmarked, "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", nil, label},
		"Unmark":       {"A control plane's namespace without its label has no bounds.", marked, "metadata: {labels: {app.kubernetes.io/managed-by: null}}", nil, label},
		"EditNote":     {"Another path is another's keys.", marked, "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", nil, notes},
		"RemoveNote":   {"The claim of a namespace is immutable.", marked, "metadata: {annotations: {crossplane.c5c3.io/claim: null}}", nil, notes},
		"Edit":         {"Other labels and annotations come and go.", marked, "metadata: {labels: {team: b}, annotations: {note: x}}", nil, ""},
		"Repaired":     {"The provider restores the desired state.", marked, "metadata: {annotations: {crossplane.c5c3.io/secret-path: other}}", maker, ""},
		"Squat":        {"The owner of the namespace could read the Secrets of the control plane.", "", "metadata: {name: tenant-b-cloud-aab838129d70f8f9a33a}", nil, "metadata.name ends as"},
		"SquatLuck":    {"The same applies to a generated name.", "", "metadata: {name: null, generateName: tenant-b-cloud-aab838129d70f8f}", nil, "metadata.name ends as"},
		"Generated":    {"Other names may be generated.", "", "metadata: {name: null, generateName: team-}", nil, ""},
		"Digits":       {"Nor is every number a hash.", "", "metadata: {name: team-12345}", nil, ""},
		"Recreated":    {"A platform team makes it before a restore.", "", "metadata: {name: tenant-b-cloud-aab838129d70f8f9a33a}", maker, ""},
		"EditOld":      {"An existing namespace can be edited.", "metadata: {name: a-aab838129d70f8f9a33a}", "metadata: {labels: {a: b}}", nil, ""},
		"OtherRights":  {"Other rights do not matter.", unmarked, "metadata: {labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}", []string{"update namespaces."}, label},
	}
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		p := policy(t, values, "cobaltcore-namespaces")
		for name, tc := range cases {
			t.Run(mode+"/"+name, func(t *testing.T) {
				r := request{operation: admission.Create, user: tenant, rights: tc.rights, object: parse(t, unmarked, tc.patch)}
				if tc.old != "" {
					r.operation, r.old, r.object = admission.Update, parse(t, tc.old, ""), parse(t, tc.old, tc.patch)
				}
				check(t, tc.reason, p.validationError(t, r), tc.want)
			})
		}
	}
}
