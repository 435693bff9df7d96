package workloadcluster

import (
	gocmp "cmp"
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files again")

const monitoredPlatform = "domain: example.com, monitoring: {enabled: true, labels: {release: prometheus}}, images: {registry: registry.example.com}"

var kind = servicetest.Kind{
	KeepsNoData: true, GroupVersionKind: workloadclusterv1.GroupVersionKind, Runner: New(), Name: "west",
	Cluster: func(w *simulate.Cluster) { around(w, monitoredPlatform) },
}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// around completes a cluster with the PlatformConfig and the policies.
func around(w *simulate.Cluster, platform string) {
	delete(w.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	w.Required = admission.Requirements()
	w.Required["platform"] = []*structpb.Struct{parsed("{metadata: {name: default}, spec: {" + platform + "}}")}
	w.Required["clock"] = []*structpb.Struct{parsed("{status: {lastScheduleTime: \"" + reported + "\"}}")}
}

// reported is the time of reports of the fake companion.
const reported = "2025-01-01T00:00:00Z"

func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

const source = "source: {existing: {kubeconfigSecretRef: {namespace: crossplane-system, name: west}}}, "

// newCluster returns a WorkloadCluster west with nothing composed.
func newCluster(spec, platform string) *simulate.Cluster {
	w := &simulate.Cluster{
		XR: &structpb.Struct{Fields: map[string]*structpb.Value{
			"apiVersion": structpb.NewStringValue("crossplane.c5c3.io/v1alpha1"), "kind": structpb.NewStringValue("WorkloadCluster"),
			"metadata": structpb.NewStructValue(parsed("{name: west}")), "spec": structpb.NewStructValue(parsed("{" + source + spec + "}")),
		}},
		Kinds: map[string]function.Runner{"WorkloadCluster.crossplane.c5c3.io": New()},
	}
	around(w, platform)
	return w
}

// readyCluster returns a WorkloadCluster of which everything is ready.
func readyCluster(t *testing.T, spec, platform string) *simulate.Cluster {
	t.Helper()
	w := newCluster(spec, platform)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

// condition returns the state of a condition in a response.
func condition(rsp *wire.Response, kind string) string {
	for _, c := range rsp.Conditions {
		if c.GetType() == kind {
			return strings.TrimSpace(strings.TrimPrefix(c.GetStatus().String(), "STATUS_CONDITION_") + " " + c.GetReason() + ": " + c.GetMessage())
		}
	}
	return "none"
}

// inside returns an Object whose object inside is changed.
func inside(o encoded.Struct, change func(inside map[string]any)) encoded.Struct {
	full := o.Map()
	at, _ := full["status"].(map[string]any)["atProvider"].(map[string]any)
	manifest, _ := at["manifest"].(map[string]any)
	change(manifest)
	return structOf(full)
}

func structOf(m map[string]any) encoded.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return encoded.Of(s)
}

const unknownLevels = "it is unknown whether the API server enforces Pod Security levels: it rejects a dry run in namespace " +
	"west-281ec4ff2e58c1213faa; exempt the namespace from the webhook or policy that the condition Ready of the ClusterCheck names"

// TestReportsMissingRequirements verifies the sentences for missing requirements: in the status of the role, and in the conditions.
func TestReportsMissingRequirements(t *testing.T) {
	operators := func(missing ...any) map[string]any {
		return map[string]any{"operators": []any{
			map[string]any{"name": "external-secrets"}, map[string]any{"name": "rook", "missing": missing},
		}}
	}
	for name, tc := range map[string]struct {
		reason, role, platform string
		report                 map[string]any // fields of the report that differ
		missing                []any
		condition              string
		// unready: the cluster of the fakes does not become ready either.
		unready bool
	}{
		"everything": {reason: "The cluster has all.", role: "storage", condition: "TRUE RequirementsMet:"},
		"old": {
			reason: "Kubernetes is too old.", role: "hypervisor", report: map[string]any{"kubernetesVersion": "v1.29.14"},
			missing:   []any{"Kubernetes v1.29.14 is not supported; upgrade the cluster to 1.30 or newer"},
			condition: "FALSE RequirementsMissing: role hypervisor: Kubernetes v1.29.14 is not supported; upgrade the cluster to 1.30 or newer",
		},
		"no version": {
			reason: "A report without a version proves nothing.", role: "hypervisor", report: map[string]any{"kubernetesVersion": ""},
			missing:   []any{"Kubernetes of an unknown version is not supported; upgrade the cluster to 1.30 or newer"},
			condition: "FALSE RequirementsMissing: role hypervisor: Kubernetes of an unknown version is not supported; upgrade the cluster to 1.30 or newer",
		},
		"nodes": {
			reason: "No pod would run.", role: "hypervisor", report: map[string]any{"nodes": map[string]any{"total": 2.0}},
			missing:   []any{"none of 2 nodes is Ready; add or repair nodes"},
			condition: "FALSE RequirementsMissing: role hypervisor: none of 2 nodes is Ready; add or repair nodes",
		},
		"pod security and family": {
			reason: "All that is missing is reported.", role: "hypervisor", report: map[string]any{"podSecurity": false, "ipFamily": "IPv6"},
			missing: []any{
				"the API server does not enforce Pod Security levels; enable its admission plugin PodSecurity",
				"the Services of the cluster have IPv6 addresses, and IPv4 is expected; set spec.ipFamily to IPv6",
			},
			condition: "FALSE RequirementsMissing: role hypervisor: the API server does not enforce Pod Security levels; enable its admission plugin " +
				"PodSecurity; the Services of the cluster have IPv6 addresses, and IPv4 is expected; set spec.ipFamily to IPv6",
		},
		"platform family": {
			unready: true,
			reason:  "The platform has another default.", role: "hypervisor", platform: "domain: example.com, ipFamily: IPv6",
			missing:   []any{"the Services of the cluster have IPv4 addresses, and IPv6 is expected; set spec.ipFamily to IPv4"},
			condition: "FALSE RequirementsMissing: role hypervisor: the Services of the cluster have IPv4 addresses, and IPv6 is expected; set spec.ipFamily to IPv4",
		},
		"operator": {
			reason: "Rook is another version.", role: "storage", report: operators("a.ceph.rook.io v1", "b.ceph.rook.io v1", "c.ceph.rook.io v1", "d.ceph.rook.io v1"),
			missing: []any{"rook is missing or has another version: the cluster does not serve a.ceph.rook.io v1, b.ceph.rook.io v1, c.ceph.rook.io v1 and 1 more; " +
				"install a supported version of the operator (docs/reference/versions.md)"},
			condition: "FALSE RequirementsMissing: role storage: rook is missing or has another version: the cluster does not serve a.ceph.rook.io v1, " +
				"b.ceph.rook.io v1, c.ceph.rook.io v1 and 1 more; install a supported version of the operator (docs/reference/versions.md)",
		},
		"pod security unknown": {
			reason: "A webhook rejects the check.", role: "hypervisor", report: map[string]any{"podSecurity": nil},
			missing: []any{unknownLevels}, condition: "FALSE RequirementsMissing: role hypervisor: " + unknownLevels,
		},
		"monitoring": {
			reason: "Objects for Prometheus cannot be created.", role: "hypervisor", platform: monitoredPlatform,
			report: map[string]any{"operators": []any{
				map[string]any{"name": "external-secrets"}, map[string]any{"name": "prometheus-operator", "missing": []any{"servicemonitors.monitoring.coreos.com v1"}},
			}},
			missing: []any{"prometheus-operator is missing or has another version: the cluster does not serve servicemonitors.monitoring.coreos.com v1; " +
				"install a supported version of the operator (docs/reference/versions.md)"},
			condition: "FALSE RequirementsMissing: role hypervisor: prometheus-operator is missing or has another version: the cluster does not serve " +
				"servicemonitors.monitoring.coreos.com v1; install a supported version of the operator (docs/reference/versions.md)",
		},
		"new role": {
			reason: "The companion has not seen the role yet.", role: "storage", report: map[string]any{"operators": []any{}},
			condition: "FALSE Unknown: the companion in the cluster has not reported everything that role storage requires",
		},
		"volumes": {
			reason: "Databases have volumes, and the platform exposes by Gateways.", role: "controlPlane",
			platform: "domain: example.com, exposure: {type: GatewayAPI, gateway: {namespace: gateways, name: public}}",
			report:   map[string]any{"storageClasses": []any{}, "gatewayClasses": []any{map[string]any{"name": "public"}}},
			missing: []any{
				"the cluster has no StorageClass, and databases need volumes; install a CSI driver with a StorageClass",
				"no GatewayClass of the cluster is accepted, and exposure of the PlatformConfig uses the Gateway API; install a controller for Gateways",
			},
			condition: "FALSE RequirementsMissing: role controlPlane: the cluster has no StorageClass, and databases need volumes; install a CSI driver with a " +
				"StorageClass; no GatewayClass of the cluster is accepted, and exposure of the PlatformConfig uses the Gateway API; install a controller for Gateways",
		},
		"no gateways": {
			reason: "A platform without Gateways does not need any.", role: "controlPlane", report: map[string]any{"gatewayClasses": []any{}},
			condition: "TRUE RequirementsMet:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			platform := tc.platform
			if platform == "" {
				platform = "domain: example.com"
			}
			w := newCluster("roles: ["+tc.role+"]", platform)
			if err := w.Run(func(simulate.Step) {}); (err != nil) != tc.unready {
				t.Fatalf("the simulated cluster: %v, want an error: %t", err, tc.unready)
			}
			w.Observed["check"] = inside(w.Observed["check"], func(check map[string]any) {
				report, _ := check["status"].(map[string]any)["cluster"].(map[string]any)
				maps.Copy(report, tc.report)
			})
			rsp, plan, err := w.Explain(New())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.condition, condition(rsp, requirementsCondition)); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, requirementsCondition, diff)
			}
			roles := rsp.Composite.Object.At("status", "roles").List()
			role, _ := roles[0].(map[string]any)
			missing, _ := role["missing"].([]any)
			if diff := cmp.Diff(tc.missing, missing); diff != "" || len(roles) != 1 {
				t.Errorf("%s\nmissing: -want, +got:\n%s", tc.reason, diff)
			}
			met := strings.HasPrefix(tc.condition, "TRUE")
			if ready, known := role["ready"]; known != (met || tc.missing != nil) || known && ready != met || plan.Ready() != met {
				t.Errorf("%s\nrole ready %v, plan ready %t", tc.reason, role["ready"], plan.Ready())
			}
		})
	}
}

// TestReachable verifies the condition and its sentences. Objects stay desired while the cluster is not reachable.
func TestReachable(t *testing.T) {
	synced := func(status, message string) func(map[string]any) {
		return func(o map[string]any) {
			o["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Synced", "status": status, "reason": "ReconcileError", "message": message}}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		// wrapper changes the Object of the namespace, check the ClusterCheck.
		wrapper, check func(map[string]any)
		// at is the changed wrapper; empty: the namespace.
		at          string
		clock, want string
	}{
		"connected": {reason: "Everything is applied.", want: "TRUE Connected:"},
		"down": {
			reason: "The provider cannot connect.", wrapper: synced("False", "observe failed: cannot get object: dial tcp 192.0.2.1:6443:\n connect: connection refused"),
			want: "FALSE ConnectionFailed: provider-kubernetes cannot reach the cluster: observe failed: cannot get object: dial tcp 192.0.2.1:6443: connect: " +
				"connection refused; check the server and the credentials in key kubeconfig of Secret west in namespace crossplane-system, and the network to the server",
		},
		"forbidden": {
			reason: "The account has no rights.", wrapper: synced("False", `namespaces "west" is forbidden: User "x" cannot get`),
			want: `FALSE Forbidden: the cluster rejects the account of the kubeconfig: namespaces "west" is forbidden: User "x" cannot get; install the chart ` +
				"with mode workload in the cluster, with this account in workload.subjects",
		},
		"no chart": {
			reason: "The kind does not exist.", at: "check", wrapper: synced("False", `no matches for kind "ClusterCheck"`),
			want: `FALSE ChartMissing: the cluster lacks the CustomResourceDefinitions of the chart: no matches for kind "ClusterCheck"; install the chart with ` +
				"mode workload in the cluster, in the version of the function",
		},
		"binding": {
			reason: "Every object of the companion is necessary for a report.", at: "companion-cluster-rights",
			wrapper: synced("False", "clusterrolebindings is forbidden:\n"+strings.Repeat("x", 600)),
			want: "FALSE Forbidden: the cluster rejects the account of the kubeconfig: clusterrolebindings is forbidden: " + strings.Repeat("x", 475) +
				"…; install the chart with mode workload in the cluster, with this account in workload.subjects",
		},
		"monitor": {
			reason: "A missing kind of Prometheus is no missing access.", at: "companion-monitor",
			wrapper: synced("False", `no matches for kind "ServiceMonitor"`), want: "TRUE Connected:",
		},
		"no report": {
			reason: "Only the API server is known to be reachable.", check: func(o map[string]any) { delete(o["status"].(map[string]any), "lastObservationTime") },
			want: "FALSE NotReported: the companion in the cluster has not reported yet",
		},
		"no clock": {
			reason: "A report of any age would be accepted.", clock: "none",
			want: "FALSE Unknown: the age of the report is unknown, because CronJob cobaltcore-clock in namespace kube-system of the management cluster does not " +
				"exist: upgrade the Helm chart to the version of the functions",
		},
		"stale": {
			reason: "The report has an age.", check: func(o map[string]any) {
				o["status"].(map[string]any)["lastObservationTime"] = "2026-05-01T00:00:00Z"
			},
			clock: "2026-05-01T00:40:00Z",
			want: "FALSE ReportTooOld: the status of ClusterCheck west in namespace west-INSTANCE is from 2026-05-01T00:00:00Z, more than 40 minutes ago: " +
				"check the Deployment and the log of the companion in that namespace, and the conditions of the object",
		},
		"recent": {
			reason: "The report is written every five minutes.", check: func(o map[string]any) {
				o["status"].(map[string]any)["lastObservationTime"] = "2026-05-01T00:00:00Z"
			},
			clock: "2026-05-01T00:20:00Z", want: "TRUE Connected:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, "roles: [storage]", monitoredPlatform)
			before := len(w.Observed)
			if tc.wrapper != nil {
				at := gocmp.Or(tc.at, "namespace")
				o := w.Observed[at].Map()
				tc.wrapper(o)
				w.Observed[at] = structOf(o)
			}
			if tc.check != nil {
				w.Observed["check"] = inside(w.Observed["check"], tc.check)
			}
			if tc.clock == "none" {
				delete(w.Required, "clock")
			} else if tc.clock != "" {
				w.Required["clock"] = []*structpb.Struct{parsed("{status: {lastScheduleTime: \"" + tc.clock + "\"}}")}
			}
			rsp, _, err := w.Explain(New())
			if err != nil {
				t.Fatal(err)
			}
			instance := rsp.Composite.Object.At("status", "instance").Text()
			if diff := cmp.Diff(strings.ReplaceAll(tc.want, "west-INSTANCE", instance), condition(rsp, reachableCondition)); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, reachableCondition, diff)
			}
			if len(rsp.Composed) != before {
				t.Errorf("%s\n%d objects are desired, %d exist", tc.reason, len(rsp.Composed), before)
			}
		})
	}
}

// TestOldReportLeavesRolesUnknown verifies that a report is not used for new claims if it is old, or from an older check.
func TestOldReportLeavesRolesUnknown(t *testing.T) {
	for name, change := range map[string]func(*simulate.Cluster){
		"age": func(w *simulate.Cluster) {
			w.Required["clock"] = []*structpb.Struct{parsed("{status: {lastScheduleTime: \"2025-01-01T00:30:00Z\"}}")}
		},
		"generation": func(w *simulate.Cluster) {
			w.Observed["check"] = inside(w.Observed["check"], func(o map[string]any) { o["metadata"].(map[string]any)["generation"] = 5.0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, "roles: [storage]", "domain: example.com")
			change(w)
			rsp, _, err := w.Explain(New())
			if err != nil {
				t.Fatal(err)
			}
			role, _ := rsp.Composite.Object.At("status", "roles").List()[0].(map[string]any)
			if ready, known := role["ready"]; known {
				t.Errorf("the role is ready: %v", ready)
			}
			if got := condition(rsp, requirementsCondition); !strings.HasPrefix(got, "FALSE Unknown: ") {
				t.Errorf("%s is %s", requirementsCondition, got)
			}
		})
	}
}

// TestNewClusterReportsNoFailure verifies the conditions of a new cluster: they are false, with a reason that is no failure.
func TestNewClusterReportsNoFailure(t *testing.T) {
	rsp, _, err := newCluster("roles: [storage]", "domain: example.com").Explain(New())
	if err != nil {
		t.Fatal(err)
	}
	want := "FALSE Connecting: the access to the cluster is not configured yet"
	if got := condition(rsp, reachableCondition); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want = "FALSE Unknown: the companion in the cluster has not reported yet"
	if got := condition(rsp, requirementsCondition); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(rsp.Composed) != 2 {
		t.Errorf("%d objects before the access exists", len(rsp.Composed))
	}
}

// TestUnreadableCheckPreservesLastReport verifies that the last report stays in the status with its time while the check cannot be read.
func TestUnreadableCheckPreservesLastReport(t *testing.T) {
	w := readyCluster(t, "roles: [storage]", "domain: example.com")
	before := w.XR.GetFields()["status"].GetStructValue().GetFields()
	delete(w.Observed, "check")
	rsp, _, err := w.Explain(New())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"observedAt", "cluster"} {
		status, _ := rsp.Composite.Object.Map()["status"].(map[string]any)
		got := status[field]
		if diff := cmp.Diff(before[field].AsInterface(), got); diff != "" || got == nil {
			t.Errorf("%s: -before, +after:\n%s", field, diff)
		}
	}
}

// TestCompanionNamespaceHasNoInstanceLabel verifies that the platform's secret store stays closed for the companion's namespace.
func TestCompanionNamespaceHasNoInstanceLabel(t *testing.T) {
	w := readyCluster(t, "roles: [storage]", "domain: example.com")
	manifest, _ := w.Observed["namespace"].Map()["spec"].(map[string]any)["forProvider"].(map[string]any)["manifest"].(map[string]any)
	labels, ok := manifest["metadata"].(map[string]any)["labels"].(map[string]any)
	if value, found := labels[admission.InstanceLabel]; !ok || found {
		t.Errorf("the namespace has labels %v, with %s %v", labels, admission.InstanceLabel, value)
	}
}

// TestRejectsConflictsWithPlatform verifies conflicts with the PlatformConfig.
func TestRejectsConflictsWithPlatform(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, platform, want string }{
		"none":  {reason: "Another entry is another cluster.", platform: "clusters: [{name: east, providerConfig: east, allowedNamespaces: [a]}]"},
		"entry": {reason: "The entry is the same cluster, during the migration.", platform: "clusters: [{name: west, providerConfig: west, allowedNamespaces: [a]}]"},
		"other config": {
			reason: "Claims would use another cluster.", platform: "clusters: [{name: west, providerConfig: old, allowedNamespaces: [a]}]",
			want: "metadata.name: the PlatformConfig has a cluster west with provider config old, so claims would use another cluster than this one; choose another name",
		},
		"config of another": {
			reason: "It would replace the access to another cluster.", platform: "clusters: [{name: east, providerConfig: west, allowedNamespaces: [a]}]",
			want: "metadata.name: west is the provider config of cluster east of the PlatformConfig, which this object would replace; choose another name",
		},
		"other family": {
			reason: "The objects would change with the removal of the entry.", spec: "ipFamily: IPv6, ",
			platform: "clusters: [{name: west, providerConfig: west, allowedNamespaces: [a]}]",
			want:     "spec.ipFamily: IPv6 differs from IPv4 in clusters of the PlatformConfig; set both to the first address family of the cluster's Services",
		},
		"management": {
			reason: "It would replace the access to the management cluster.", platform: "providerConfig: west",
			want: "metadata.name: west is the provider config of the management cluster, which this object would replace; choose another name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := newCluster(tc.spec+"roles: [storage]", "domain: example.com, "+tc.platform).Explain(New())
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s\n%v", tc.reason, err)
			case tc.want != "" && (!invalid.Is(err) || err.Error() != tc.want):
				t.Errorf("%s\nerror %v\n want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestRejectsExistingAccess verifies that Objects of others never move to this cluster.
func TestRejectsExistingAccess(t *testing.T) {
	const rejected = "spec.source.existing.kubeconfigSecretRef: %s west exists with other credentials, and Objects that use it would move to another " +
		"cluster; reference the same key of the same Secret, or choose another name for this object"
	for name, tc := range map[string]struct{ reason, requirement, existing, want string }{
		"same": {
			reason: "The configuration of an entry is adopted.", requirement: "provider-config",
			existing: "{kind: ProviderConfig, metadata: {name: west}, spec: {credentials: {source: Secret, secretRef: {namespace: crossplane-system, name: west, key: kubeconfig}}}}",
		},
		"own": {
			reason: "The Secret of its own configuration may change.", requirement: "provider-config",
			existing: "{kind: ProviderConfig, metadata: {name: west, labels: {app.kubernetes.io/instance: INSTANCE}}, spec: {credentials: {source: Secret, " +
				"secretRef: {namespace: crossplane-system, name: old, key: kubeconfig}}}}",
		},
		"another Secret": {
			reason: "It is the access to another cluster.", requirement: "cluster-provider-config",
			existing: "{kind: ClusterProviderConfig, metadata: {name: west}, spec: {credentials: {source: Secret, secretRef: {namespace: crossplane-system, name: old, key: kubeconfig}}}}",
			want:     fmt.Sprintf(rejected, "ClusterProviderConfig"),
		},
		"no Secret": {
			reason: "It is the access to the management cluster.", requirement: "provider-config",
			existing: "{kind: ProviderConfig, metadata: {name: west}, spec: {credentials: {source: InjectedIdentity}}}",
			want:     fmt.Sprintf(rejected, "ProviderConfig"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster("roles: [storage]", "domain: example.com")
			own, ok := readyCluster(t, "roles: [storage]", "domain: example.com").XR.GetFields()["status"].GetStructValue().GetFields()["instance"]
			if !ok {
				t.Fatal("a ready WorkloadCluster has no instance")
			}
			w.Required[tc.requirement] = []*structpb.Struct{parsed(strings.ReplaceAll(tc.existing, "INSTANCE", own.GetStringValue()))}
			_, _, err := w.Explain(New())
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s\n%v", tc.reason, err)
			case tc.want != "" && (!invalid.Is(err) || err.Error() != tc.want):
				t.Errorf("%s\nerror %v\n want %s", tc.reason, err, tc.want)
			}
		})
	}
}
