package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

const companion = "system:serviceaccount:i-1a2b3:companion"

// instance is the namespace of a control plane, claimed is the namespace of another claim.
var (
	instance = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "i-1a2b3", Labels: map[string]string{"app.kubernetes.io/managed-by": "crossplane-cobaltcore"},
	}}
	claimed = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "i-1a2b3", Annotations: map[string]string{"crossplane.c5c3.io/claim": "tenant-a/storage"},
	}}
	elsewhere = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "i-1a2b3"}}
)

// Objects that a companion writes: companion/databasesync/job.go, companion/internal/consumer, companion/credentialrotation.
const (
	job = `
apiVersion: batch/v1
kind: Job
metadata:
  namespace: i-1a2b3
  name: nova-api-expand-0123456789
  ownerReferences: [{apiVersion: openstack.c5c3.io/v1alpha1, kind: DatabaseSync, name: nova-api, controller: true}]
spec:
  suspend: true
  template:
    metadata: {labels: {app.kubernetes.io/name: nova, app.kubernetes.io/component: schema, app.kubernetes.io/managed-by: crossplane-cobaltcore}}
    spec:
      automountServiceAccountToken: false
      containers:
      - name: nova
        env:
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: nova-database, key: password}}}
        - {name: AGAIN, valueFrom: {secretKeyRef: {name: nova-database, key: password}}}
        - {name: FIXED, value: x}
      volumes:
      - {name: tmp, emptyDir: {}}
      - {name: config, configMap: {name: nova}}
      - {name: ca, secret: {secretName: mariadb-ca-bundle}}
`
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: i-1a2b3, name: keystone, labels: {a: b}}
spec:
  replicas: 2
  template:
    metadata: {labels: {a: b}, annotations: {note: x, keys.openstack.c5c3.io/fernet: "1"}}
    spec: {containers: [{name: keystone, image: keystone}]}
`
	created = "apiVersion: v1\nkind: Secret\nmetadata: {namespace: i-1a2b3, name: nova-credential}\ntype: Opaque\n"
)

// TestCompanionObjectsPolicy checks that a companion cannot read other Secrets, or act as other accounts, by a pod.
func TestCompanionObjectsPolicy(t *testing.T) {
	const (
		owner      = "metadata.ownerReferences: a Job of a companion requires"
		pod        = "spec.template.spec: a Job of a companion has no service account"
		secrets    = "refers only to Secrets that the companion is permitted to get"
		many       = "refers to at most 20 Secrets"
		opaque     = "a Secret of a companion must be Opaque"
		spec       = "a companion changes only annotations of the pod template"
		annotation = "a companion sets only annotations of keys.openstack.c5c3.io"
		labels     = "spec.template.metadata.labels: a Job of a companion has the component"
	)
	container := func(fields string) string {
		return "spec: {template: {spec: {containers: [{name: nova, " + fields + "}]}}}"
	}
	volume := func(fields string) string { return "spec: {template: {spec: {volumes: [{name: x, " + fields + "}]}}}" }
	env := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, "{name: X, valueFrom: {secretKeyRef: {name: "+n+", key: k}}}")
		}
		return container("env: [" + strings.Join(all, ", ") + "]")
	}
	allowed := []string{"get secrets. nova-database", "get secrets. mariadb-ca-bundle"}
	cases := map[string]struct {
		reason, object, patch string
		update                bool
		want                  string
	}{
		"Job":           {"The migration of a schema is allowed.", job, "{}", false, ""},
		"JobReleased":   {"So is its release.", job, "spec: {suspend: false}", true, ""},
		"JobAlone":      {"A Job that no object of the companion controls.", job, "metadata: {ownerReferences: null}", false, owner},
		"JobOfOther":    {"A Job that another object controls.", job, "metadata: {ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: x, controller: true}]}", false, owner},
		"JobOwned":      {"An owner that is not the controller.", job, "metadata: {ownerReferences: [{apiVersion: openstack.c5c3.io/v1alpha1, kind: DatabaseSync, name: x}]}", false, owner},
		"JobComponent":  {"Clients of Keystone.", job, "spec: {template: {metadata: {labels: {app.kubernetes.io/name: keystone, app.kubernetes.io/component: api}}}}", false, labels},
		"JobUnlabeled":  {"Selectors by another label.", job, "spec: {template: {metadata: {labels: null}}}", false, labels},
		"JobOperated":   {"Pods of operators have no component.", job, "spec: {template: {metadata: {labels: {app.kubernetes.io/name: mariadb}}}}", false, labels},
		"JobBackup":     {"Backups of MariaDB's operator.", job, "spec: {template: {metadata: {labels: {app.kubernetes.io/managed-by: null}}}}", false, labels},
		"JobMigration":  {"The migration of keys is allowed.", job, "spec: {template: {metadata: {labels: {app.kubernetes.io/name: key-migration, app.kubernetes.io/component: migration, app.kubernetes.io/managed-by: cobaltcore-companion}}}}", false, ""},
		"JobAccount":    {"Rights of another account.", job, "spec: {template: {spec: {serviceAccountName: control-plane-secrets}}}", false, pod},
		"JobDefault":    {"The account without rights.", job, "spec: {template: {spec: {serviceAccountName: default}}}", false, ""},
		"JobToken":      {"The token of the default account.", job, "spec: {template: {spec: {automountServiceAccountToken: true}}}", false, pod},
		"JobTokenUnset": {"It is mounted by default.", job, "spec: {template: {spec: {automountServiceAccountToken: null}}}", false, pod},
		"JobProjected": {
			"A token by a projected volume.", job, volume("projected: {sources: [{serviceAccountToken: {path: token}}]}"), false, pod,
		},
		"JobClaim":   {"Data of a database.", job, volume("persistentVolumeClaim: {claimName: storage-mariadb-0}"), false, pod},
		"JobDriver":  {"A driver that reads Secrets.", job, volume("csi: {driver: secrets-store.csi.k8s.io}"), false, pod},
		"JobEnv":     {"A password of another service.", job, env("nova-database", "keystone-admin"), false, secrets},
		"JobSecond":  {"The same as the second of a pair.", job, env("keystone-admin", "nova-database"), false, secrets},
		"JobInit":    {"An init container.", job, "spec: {template: {spec: {initContainers: [{name: i, env: [{name: X, valueFrom: {secretKeyRef: {name: keystone-admin, key: k}}}]}]}}}", false, secrets},
		"JobVolume":  {"A volume.", job, volume("secret: {secretName: internal-ca}"), false, secrets},
		"JobEnvFrom": {"All keys of a Secret.", job, container("envFrom: [{secretRef: {name: keystone-admin}}]"), false, pod},
		"JobUpdate":  {"A change of a suspended Job.", job, env("keystone-admin"), true, secrets},
		"JobMany":    {"More Secrets than the policy can check.", job, env(numbered(21)...), false, many},
		"JobLast":    {"The last Secret that it checks.", job, env(append(numbered(18), "keystone-admin")...), false, secrets},
		"JobMost":    {"As many Secrets as it checks, with the one of the volume.", job, env(numbered(19)...), false, ""},
		"JobPlaces":  {"More references than the policy reads.", job, env(slices.Repeat([]string{"nova-database"}, 65)...), false, many},
		"Secret":     {"A credential is allowed.", created, "{}", false, ""},
		"SecretUntyped": {
			"Opaque is the default.", created, "type: null", false, "",
		},
		"SecretToken": {
			"Kubernetes writes the token of the account into it.", created,
			"{type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: control-plane-secrets}}}", false, opaque,
		},
		"Restart":       {"New pods for new keys are allowed.", deployment, "spec: {template: {metadata: {annotations: {keys.openstack.c5c3.io/fernet: '2'}}}}", true, ""},
		"RestartFirst":  {"So are new pods for a new credential.", deployment, "spec: {template: {metadata: {annotations: {credentials.c5c3.io/nova: '1'}}}}", true, ""},
		"Mark":          {"The workload itself is annotated.", deployment, "metadata: {annotations: {credentials.c5c3.io/nova: '1'}}", true, ""},
		"Create":        {"A workload of its own.", deployment, "{}", false, spec},
		"Image":         {"Another image with the same Secrets.", deployment, "spec: {template: {spec: {containers: [{name: keystone, image: other}]}}}", true, spec},
		"Account":       {"Rights of another account.", deployment, "spec: {template: {spec: {serviceAccountName: control-plane-secrets}}}", true, spec},
		"Replicas":      {"An outage.", deployment, "spec: {replicas: 0}", true, spec},
		"Strategy":      {"A field that was unset.", deployment, "spec: {paused: true}", true, spec},
		"Unset":         {"A field that was set.", deployment, "spec: {replicas: null}", true, spec},
		"PodLabel":      {"Network policies select labels.", deployment, "spec: {template: {metadata: {labels: {app: mariadb}}}}", true, spec},
		"NoPodLabel":    {"Labels are not removed.", deployment, "spec: {template: {metadata: {labels: null}}}", true, spec},
		"Label":         {"Labels of the workload stay.", deployment, "metadata: {labels: {a: c}}", true, spec},
		"Owner":         {"The garbage collector would delete it.", deployment, "metadata: {ownerReferences: [{kind: ConfigMap, name: x}]}", true, spec},
		"Annotation":    {"Annotations of other programs.", deployment, "spec: {template: {metadata: {annotations: {sidecar.istio.io/inject: 'true'}}}}", true, annotation},
		"AnnotationOld": {"An existing annotation of another program.", deployment, "spec: {template: {metadata: {annotations: {note: y}}}}", true, annotation},
		"NoAnnotation":  {"Annotations are not removed.", deployment, "spec: {template: {metadata: {annotations: {note: null}}}}", true, annotation},
	}
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		p := policy(t, values, "cobaltcore-companion-objects")
		for name, tc := range cases {
			t.Run(mode+"/"+name, func(t *testing.T) {
				r := request{operation: admission.Create, user: companion, namespace: instance, rights: allowed, object: parse(t, tc.object, tc.patch)}
				for _, n := range numbered(21) {
					r.rights = append(r.rights, "get secrets. "+n)
				}
				if tc.update {
					r.operation, r.old = admission.Update, parse(t, tc.object, "{}")
				}
				check(t, tc.reason, p.validationError(t, r), tc.want)
				if tc.want == "" {
					return
				}
				r.user = "system:serviceaccount:crossplane-system:provider-kubernetes"
				check(t, "Other users are not restricted.", p.validationError(t, r), "")
				r.user, r.namespace = companion, elsewhere
				check(t, "An account with the same name in another namespace is not restricted.", p.validationError(t, r), "")
			})
		}
	}
}

// numbered returns names of Secrets.
func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "secret-"+string(rune('a'+i)))
	}
	return out
}

// TestCompanionJobsAllowed checks that the policy allows the Jobs of all composed objects with the rights that are composed with them.
func TestCompanionJobsAllowed(t *testing.T) {
	p := policy(t, domain, "cobaltcore-companion-objects")
	jobs := 0
	for _, file := range []string{"controlplane/full.yaml", "controlplane/services.yaml"} {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := preview.Run(claim, examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		namespace := instance.DeepCopy()
		namespace.Name = r.Instance
		var rights []string
		for _, o := range r.Objects {
			rules, _ := o.Manifest.AsMap()["rules"].([]any)
			for _, rule := range rules {
				rule, _ := rule.(map[string]any)
				if resources, _ := rule["resources"].([]any); !slices.Contains(resources, any("secrets")) || !strings.HasSuffix(o.Name, "companion") {
					continue
				}
				names, _ := rule["resourceNames"].([]any)
				for _, n := range names {
					rights = append(rights, "get secrets. "+n.(string))
				}
			}
		}
		for _, o := range r.Objects {
			m := o.Manifest.AsMap()
			if o.Wrapped {
				m = at(m, "spec", "forProvider", "manifest").(map[string]any)
			}
			template, _ := at(m, "spec", "template").(map[string]any)
			switch migrate := at(m, "spec", "migrate"); {
			case o.Kind == "KeyRepository" && migrate != nil:
				template = migration(t, r, m)
			case o.Kind != "DatabaseSync" && o.Kind != "CellMapping" && o.Kind != "OVNSync":
				continue
			}
			jobs++
			j := parse(t, job, "spec: {template: null}")
			if err := unstructured.SetNestedMap(j.Object, template, "spec", "template"); err != nil {
				t.Fatal(err)
			}
			got := p.validationError(t, request{operation: admission.Create, user: "system:serviceaccount:" + r.Instance + ":companion", namespace: namespace, rights: rights, object: j})
			check(t, file+": "+o.Kind+" "+o.Name, got, "")
		}
	}
	if jobs < 15 {
		t.Errorf("only %d Jobs", jobs)
	}
}

// migration returns the pod template of the Job that encrypts data with new keys: the first container of the first consumer, with its volumes.
func migration(t *testing.T, r *preview.Result, repository map[string]any) map[string]any {
	t.Helper()
	name := at(repository, "spec", "consumers").([]any)[0].(map[string]any)["name"]
	for _, o := range r.Objects {
		if o.Kind != "Deployment" || o.Name != name {
			continue
		}
		deployment := o.Manifest.AsMap()
		if o.Wrapped {
			deployment = at(deployment, "spec", "forProvider", "manifest").(map[string]any)
		}
		pod := at(deployment, "spec", "template", "spec").(map[string]any)
		main := pod["containers"].([]any)[0].(map[string]any)
		mounted := func(volume any) bool {
			return slices.ContainsFunc(main["volumeMounts"].([]any), func(m any) bool {
				return m.(map[string]any)["name"] == volume.(map[string]any)["name"]
			})
		}
		volumes := slices.DeleteFunc(slices.Clone(pod["volumes"].([]any)), func(v any) bool { return !mounted(v) })
		pod = maps.Clone(pod)
		pod["restartPolicy"], pod["containers"], pod["volumes"] = "Never", []any{main}, volumes
		delete(pod, "initContainers")
		delete(pod, "topologySpreadConstraints")
		labels := map[string]any{"app.kubernetes.io/name": "key-migration", "app.kubernetes.io/component": "migration"}
		return map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
	}
	t.Fatalf("there is no Deployment %v", name)
	return nil
}

// TestCompanionJobsAreNoOtherPods checks that a companion cannot create a Job whose pods a Service or the network policy of another pod
// selects. Policies of all pods of a namespace, and those of Jobs, are not restricted.
func TestCompanionJobsAreNoOtherPods(t *testing.T) {
	const component = "app.kubernetes.io/component"
	p := policy(t, domain, "cobaltcore-companion-objects")
	rights := []string{"get secrets. nova-database", "get secrets. mariadb-ca-bundle"}
	selectors := 0
	for _, file := range []string{"controlplane/full.yaml", "controlplane/services.yaml"} {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := preview.Run(claim, examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range r.Objects {
			m := o.Manifest.AsMap()
			if inner, ok := at(m, "spec", "forProvider", "manifest").(map[string]any); ok {
				m = inner
			}
			var selected map[string]any
			switch o.Kind {
			case "Service":
				selected, _ = at(m, "spec", "selector").(map[string]any)
			case "NetworkPolicy":
				selected, _ = at(m, "spec", "podSelector", "matchLabels").(map[string]any)
			}
			if of, _ := selected[component].(string); selected["app.kubernetes.io/name"] == nil || slices.Contains(jobComponents, of) {
				continue
			}
			selectors++
			labels := maps.Clone(selected)
			labels["app.kubernetes.io/managed-by"] = "crossplane-cobaltcore"
			if labels[component] == nil {
				labels[component] = jobComponents[0]
			}
			j := parse(t, job, "{}")
			if err := unstructured.SetNestedMap(j.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
				t.Fatal(err)
			}
			got := p.validationError(t, request{operation: admission.Create, user: companion, namespace: instance, rights: rights, object: j})
			check(t, o.Kind+" "+o.Name, got, "a Job of a companion has the component")
		}
	}
	if selectors < 40 {
		t.Errorf("only %d selectors", selectors)
	}
}

// jobComponents are the components of the Jobs of a companion.
var jobComponents = []string{"schema", "schema-check", "migration"}

// TestPodLabelsPolicy checks that programs of others change only labels of pods.
func TestPodLabelsPolicy(t *testing.T) {
	const (
		manager  = "system:serviceaccount:i-1a2b3:rook-ceph-mgr"
		injector = "system:serviceaccount:i-1a2b3:labels-injector"
		pod      = `
kind: Pod
metadata: {name: x, resourceVersion: "1", labels: {app: rook-ceph-mgr, mgr_role: standby, topology.kubernetes.io/zone: a}}
spec: {containers: [{name: mgr, image: ceph}]}
`
		spec   = "this account may change only labels of pods in the namespace of a claim"
		labels = "metadata.labels: this account may change only its own labels"
	)
	cases := map[string]struct {
		reason, patch, user string
		in                  *corev1.Namespace
		want                string
	}{
		"Active":      {"The manager marks the active one.", "metadata: {resourceVersion: '2', labels: {mgr_role: active}}", manager, claimed, ""},
		"Location":    {"The injector copies labels of the node.", "metadata: {labels: {topology.kubernetes.io/zone: b, kubernetes.metal.cloud.sap/name: n}}", injector, claimed, ""},
		"Image":       {"An image runs with the privileges of the pod.", "spec: {containers: [{name: mgr, image: other}]}", manager, claimed, spec},
		"Injected":    {"The same by the injector.", "spec: {containers: [{name: mgr, image: other}]}", injector, claimed, spec},
		"Toleration":  {"Other fields of the spec that may change.", "spec: {tolerations: [{operator: Exists}]}", manager, claimed, spec},
		"Annotation":  {"Annotations are read by other programs.", "metadata: {annotations: {a: b}}", injector, claimed, spec},
		"Finalizer":   {"A pod that cannot be deleted.", "metadata: {finalizers: [example.com/x]}", manager, claimed, spec},
		"Owner":       {"A pod that its controller releases.", "metadata: {ownerReferences: [{kind: ConfigMap, name: x}]}", manager, claimed, spec},
		"OtherLabel":  {"Services and network policies select by labels.", "metadata: {labels: {app: rook-ceph-mon}}", manager, claimed, labels},
		"RemoveLabel": {"A removal is a change.", "metadata: {labels: {app: null}}", injector, claimed, labels},
		"OwnOfOther":  {"Each has its own labels.", "metadata: {labels: {mgr_role: active}}", injector, claimed, labels},
		"Elsewhere":   {"Another cluster of Rook is not restricted.", "spec: {containers: []}", manager, elsewhere, ""},
		"OtherUser":   {"Other accounts are not restricted.", "spec: {containers: []}", "system:serviceaccount:rook-ceph:rook-ceph-system", claimed, ""},
	}
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		p := policy(t, values, "cobaltcore-pod-labels")
		for name, tc := range cases {
			t.Run(mode+"/"+name, func(t *testing.T) {
				r := request{operation: admission.Update, user: tc.user, namespace: tc.in, old: parse(t, pod, "{}"), object: parse(t, pod, tc.patch)}
				check(t, tc.reason, p.validationError(t, r), tc.want)
			})
		}
	}
}
