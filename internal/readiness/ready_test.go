package readiness_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// tb is a test, or a check of rapid.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// existing is an object of a kind as an API server has it before its owner has looked at it.
func existing(kind schema.GroupKind) map[string]any {
	return map[string]any{
		"apiVersion": schema.GroupVersion{Group: kind.Group, Version: "v1"}.String(),
		"kind":       kind.Kind,
		"metadata":   map[string]any{"name": "example", "generation": int64(3)},
		"spec":       map[string]any{"replicas": int64(2), "release": "2025.2"},
	}
}

// finished is an object of a kind when its owner is done.
func finished(t tb, kind schema.GroupKind) map[string]any {
	t.Helper()
	o := existing(kind)
	if err := fake.Finish(o, "2025-01-01T00:00:00Z"); err != nil {
		t.Fatalf("%v", err)
	}
	return o
}

// checked is the verdict of a rule on an object.
func checked(t tb, rule ready.Rule, obj map[string]any) ready.Result {
	t.Helper()
	s, err := structpb.NewStruct(asJSON(t, obj))
	if err != nil {
		t.Fatalf("cannot make a Struct: %v", err)
	}
	observed, err := observe.New(map[string]encoded.Struct{"o": encoded.Of(s)})
	if err != nil {
		t.Fatalf("cannot observe: %v", err)
	}
	o, _ := observed.Get("o")
	if o.Deleting() {
		return ready.Wait("Deleting", "it is being deleted") // Compose checks that before the rule.
	}
	return rule.Check(o)
}

// programs are the expressions of all rules, by themselves.
var programs = map[string]cel.Program{}

// query evaluates a rule's expression as provider-kubernetes does: an evaluation error means not ready.
// https://github.com/crossplane-contrib/provider-kubernetes, checkDeriveFromCelQuery
func query(t tb, rule ready.Rule, obj map[string]any) bool {
	t.Helper()
	obj = asJSON(t, obj)
	if rule.CEL == "" {
		return obj["metadata"].(map[string]any)["deletionTimestamp"] == nil
	}
	program, ok := programs[rule.CEL]
	if !ok {
		env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
		if err != nil {
			t.Fatalf("cannot make the environment: %v", err)
		}
		ast, issues := env.Compile(rule.CEL)
		if issues.Err() != nil {
			t.Fatalf("%s does not compile: %v", rule.CEL, issues.Err())
		}
		if !ast.OutputType().IsExactType(cel.BoolType) {
			t.Fatalf("%s is of type %s, want bool", rule.CEL, ast.OutputType())
		}
		if program, err = env.Program(ast); err != nil {
			t.Fatalf("%s: %v", rule.CEL, err)
		}
		programs[rule.CEL] = program
	}
	out, _, err := program.Eval(map[string]any{"object": obj})
	return err == nil && out.Value() == true
}

// asJSON is a copy of an object as it comes out of a JSON decoder.
func asJSON(t tb, obj map[string]any) map[string]any {
	t.Helper()
	b, err := json.Marshal(obj)
	if err != nil {
		t.Fatalf("cannot write JSON: %v", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("cannot read JSON: %v", err)
	}
	return out
}

// kinds are all kinds of the table, sorted.
func kinds() []schema.GroupKind {
	return slices.SortedFunc(slices.Values(readiness.Rules.Kinds()), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	})
}

// TestFinishedObjectsAreReady tests that an object of any kind is ready after its owner has finished, for the function and for
// provider-kubernetes. Before that it is ready only if existing is sufficient.
func TestFinishedObjectsAreReady(t *testing.T) {
	if len(kinds()) < 30 {
		t.Fatalf("the table has only %d kinds", len(kinds()))
	}
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			rule, ok := readiness.Rules.For(kind)
			if !ok {
				t.Fatal("For(...): no rule")
			}
			if diff := cmp.Diff(ready.Yes, checked(t, rule, finished(t, kind))); diff != "" {
				t.Errorf("a finished object: Check(...): -want, +got:\n%s", diff)
			}
			if !query(t, rule, finished(t, kind)) {
				t.Errorf("a finished object: %s is false", rule.CEL)
			}
			sufficient := rule.CEL == ""
			if got := checked(t, rule, existing(kind)); got.Ready != sufficient || got.Failed {
				t.Errorf("an object that only exists: Check(...) = %+v", got)
			}
			if got := query(t, rule, existing(kind)); got != sufficient {
				t.Errorf("an object that only exists: %s is %t", rule.CEL, got)
			}
		})
	}
}

// withoutGeneration lists the kinds whose owners never report a generation, with the reason why a status from before an edit is acceptable.
var withoutGeneration = map[string]string{
	"Namespace":                          "its phase does not follow from its spec",
	"Job.batch":                          "its template never changes",
	"MariaDB.k8s.mariadb.com":            "its operator reports no generation",
	"MaxScale.k8s.mariadb.com":           "the same",
	"ExternalMariaDB.k8s.mariadb.com":    "the same",
	"Database.k8s.mariadb.com":           "the same",
	"User.k8s.mariadb.com":               "the same",
	"Grant.k8s.mariadb.com":              "the same",
	"PhysicalBackup.k8s.mariadb.com":     "the same",
	"ExternalSecret.external-secrets.io": "the generation is part of a version with a hash",
	"PushSecret.external-secrets.io":     "the same",
	"SecretStore.external-secrets.io":    "it reports none",
}

// TestOlderGenerationIsNotReady tests that a status of an older generation is not ready, for any kind whose owner reports the generation.
// The other kinds are on a list.
func TestOlderGenerationIsNotReady(t *testing.T) {
	for _, kind := range kinds() {
		rule, _ := readiness.Rules.For(kind)
		if rule.CEL == "" {
			continue // existing is enough
		}
		o := finished(t, kind)
		o["metadata"].(map[string]any)["generation"] = int64(4)
		result := checked(t, rule, o)
		_, isListed := withoutGeneration[kind.String()]
		if result.Ready != isListed || query(t, rule, o) != isListed {
			t.Errorf("%s, ready at the generation before this one: Check(...) = %+v, %s is %t, want %t",
				kind, result, rule.CEL, query(t, rule, o), isListed)
		}
	}
}

// deployment, and so on, are kinds of each sort of rule.
var (
	namespace    = schema.GroupKind{Kind: "Namespace"}
	deployment   = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	daemonSet    = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	job          = schema.GroupKind{Group: "batch", Kind: "Job"}
	service      = schema.GroupKind{Kind: "Service"}
	certificate  = schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}
	rabbitmq     = schema.GroupKind{Group: "rabbitmq.com", Kind: "RabbitmqCluster"}
	valkey       = schema.GroupKind{Group: "cache.cs.sap.com", Kind: "Valkey"}
	route        = schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}
	keystone     = schema.GroupKind{Group: "keystone.openstack.c5c3.io", Kind: "Keystone"}
	databaseSync = schema.GroupKind{Group: "openstack.c5c3.io", Kind: "DatabaseSync"}
)

func TestReadinessFollowsReportedStatus(t *testing.T) {
	condition := func(typ, status string) map[string]any {
		return map[string]any{"type": typ, "status": status, "reason": "Why", "message": "A sentence.", "observedGeneration": 3}
	}
	nodes := func(generation, want, updated, available int) map[string]any {
		return map[string]any{
			"observedGeneration": generation, "desiredNumberScheduled": want, "updatedNumberScheduled": updated, "numberAvailable": available,
		}
	}
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		// spec and status replace the ones of a finished object.
		spec, status map[string]any
		want         ready.Result
	}{
		"NoStatus": {
			reason: "Without a status, the owner has not reconciled yet.",
			kind:   certificate,
			want:   ready.Wait("Waiting", "it does not report Ready yet"),
		},
		"ConditionFalse": {
			reason: "Reason and message of the owner are used.",
			kind:   certificate,
			status: map[string]any{"conditions": []any{condition("Ready", "False")}},
			want:   ready.Wait("Why", "A sentence."),
		},
		"ConditionUnexplained": {
			reason: "There is always a sentence.",
			kind:   certificate,
			status: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "Unknown"}}},
			want:   ready.Wait("NotReady", "Ready is Unknown"),
		},
		"ConditionOld": {
			reason: "A condition of an older generation does not count.",
			kind:   certificate,
			status: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": 2}}},
			want:   ready.Wait("Reconciling", "its controller has not seen the last change yet"),
		},
		"ConditionWithoutGeneration": {
			reason: "Several operators never report the generation.",
			kind:   certificate,
			status: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
			want:   ready.Yes,
		},
		"OneOfSeveralConditions": {
			reason: "All of them have to be true.",
			kind:   rabbitmq,
			status: map[string]any{"conditions": []any{
				condition("AllReplicasReady", "True"), condition("ClusterAvailable", "False"), condition("ReconcileSuccess", "True"),
			}},
			want: ready.Wait("Why", "A sentence."),
		},
		"NodesOld": {
			reason: "The numbers are of an older template.",
			kind:   daemonSet,
			status: nodes(2, 5, 5, 5),
			want:   ready.Wait("Reconciling", "its controller has not seen the last change yet"),
		},
		"NodesUpdating": {
			reason: "Pods are replaced node by node.",
			kind:   daemonSet,
			status: nodes(3, 5, 2, 5),
			want:   ready.Wait("RollingOut", "the pods of 2 of 5 nodes run the current version"),
		},
		"NodesOnDelete": {
			reason: "With OnDelete, pods may have an old template.",
			kind:   daemonSet, spec: map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}},
			status: nodes(3, 5, 0, 5),
			want:   ready.Yes,
		},
		"NodesOnDeleteNotAvailable": {
			reason: "It has to work nevertheless.",
			kind:   daemonSet, spec: map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}},
			status: nodes(3, 5, 0, 4),
			want:   ready.Wait("PodsNotAvailable", "the pods of 4 of 5 nodes are available"),
		},
		"NodesNone": {
			reason: "Kubernetes omits zeros, and nodes may be added later.",
			kind:   daemonSet,
			status: map[string]any{"observedGeneration": 3, "desiredNumberScheduled": 0},
			want:   ready.Yes,
		},
		"PhaseOther": {
			reason: "A namespace that is going away is Terminating.",
			kind:   namespace,
			status: map[string]any{"phase": "Terminating"},
			want:   ready.Wait("NotReady", `status.phase is "Terminating", expected "Active"`),
		},
		"StateOld": {
			reason: "The state is of the generation that the operator saw.",
			kind:   valkey,
			status: map[string]any{"state": "Ready", "observedGeneration": 2},
			want:   ready.Wait("Reconciling", "its controller has not seen the last change yet"),
		},
		"StatusUnneeded": {
			reason: "A Service is ready once it exists.",
			kind:   service,
			want:   ready.Yes,
		},
		"RolloutOld": {
			reason: "The numbers belong to the previous template.",
			kind:   deployment,
			status: map[string]any{"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2},
			want:   ready.Wait("Reconciling", "its controller has not seen the last change yet"),
		},
		"RolloutNotUpdated": {
			reason: "Only pods of the previous template are available.",
			kind:   deployment,
			status: map[string]any{"observedGeneration": 3, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2},
			want:   ready.Wait("RollingOut", "1 of 2 pods run the current version"),
		},
		"RolloutNotRemoved": {
			reason: "A pod of the last template still serves.",
			kind:   deployment,
			status: map[string]any{"observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3},
			want:   ready.Wait("RollingOut", "1 old pods are still to be removed"),
		},
		"RolloutNotAvailable": {
			reason: "A pod that runs may not serve.",
			kind:   deployment,
			status: map[string]any{"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1},
			want:   ready.Wait("PodsNotAvailable", "1 of 2 pods are available"),
		},
		"JobRunning": {
			reason: "A Job has no condition until it ends.",
			kind:   job,
			status: map[string]any{"active": 1},
			want:   ready.Wait("JobRunning", "the Job has not finished yet"),
		},
		"JobFailed": {
			reason: "A failed Job stays failed; the message contains the remedy.",
			kind:   job,
			status: map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True", "message": "it hit its limit"}}},
			want:   ready.Fail("JobFailed", "it hit its limit; check the logs of its pods; delete the Job to run it again"),
		},
		"RouteNotAccepted": {
			reason: "No Gateway has looked at it.",
			kind:   route,
			status: map[string]any{"parents": []any{map[string]any{"conditions": []any{condition("Accepted", "False")}}}},
			want: ready.Wait("NotAccepted",
				"no Gateway has accepted the route yet; check that the Gateway exists and allows routes from this namespace"),
		},
		"RouteAcceptedOnce": {
			reason: "A Gateway has accepted an older generation of the route.",
			kind:   route,
			status: map[string]any{"parents": []any{map[string]any{"conditions": []any{
				map[string]any{"type": "Accepted", "status": "True", "observedGeneration": 2},
			}}}},
			want: ready.Wait("NotAccepted",
				"no Gateway has accepted the route yet; check that the Gateway exists and allows routes from this namespace"),
		},
		"RouteAcceptedBySecond": {
			reason: "One Gateway is enough.",
			kind:   route,
			status: map[string]any{"parents": []any{
				map[string]any{}, map[string]any{"conditions": []any{condition("Accepted", "False")}},
				map[string]any{"conditions": []any{condition("Accepted", "True")}},
			}},
			want: ready.Yes,
		},
		"CompositeInvalid": {
			reason: "An invalid spec of a nested composite resource is propagated to the claim with precedence.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "True"), condition("Synced", "True"), condition("SpecValid", "False")}},
			want:   ready.Fail("Why", "A sentence."),
		},
		"CompositeNotSynced": {
			reason: "So is an error of its function.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "True"), condition("Synced", "False")}},
			want:   ready.Fail("Why", "A sentence."),
		},
		"CompositePaused": {
			reason: "The message names the annotation that pauses reconciliation.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{
				condition("Ready", "True"), map[string]any{"type": "Synced", "status": "False", "reason": "ReconcilePaused"},
			}},
			want: ready.Fail("ReconcilePaused", "it is paused by its annotation crossplane.io/paused"),
		},
		"CompositeUnresponsive": {
			reason: "An open circuit breaker closes automatically.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "False"), condition("Synced", "True"), condition("Responsive", "False")}},
			want: ready.Wait("Why",
				"it changes too often for Crossplane's circuit breaker, which lets one change through in 30 seconds"),
		},
		"CompositeReadyUnresponsive": {
			reason: "It stays open for minutes; nothing waits for that where everything is ready.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "True"), condition("Synced", "True"), condition("Responsive", "False")}},
			want:   ready.Yes,
		},
		"CompositeOfThisGeneration": {
			reason: "Its function has processed the current spec, and everything is ready.",
			kind:   keystone,
			status: map[string]any{"observedGeneration": int64(3), "phase": "Ready", "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}},
			want:   ready.Yes,
		},
		"CompositeDatedTooLate": {
			reason: "A pass that began before an edit calls the edit ready when it ends.",
			kind:   keystone,
			status: map[string]any{"observedGeneration": int64(2), "phase": "Ready", "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}},
			want:   ready.Wait("Reconciling", "its function has not seen the last change yet"),
		},
		"CompositeNotYetDenied": {
			reason: "The status of the function is newer than the condition.",
			kind:   keystone,
			status: map[string]any{"observedGeneration": int64(3), "phase": "Updating", "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}},
			want:   ready.Wait("Reconciling", "its function has not seen the last change yet"),
		},
		"CompositeNotComposed": {
			reason: "The function's message is better than that of Crossplane, which adds a prefix.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "True"), condition("Synced", "False"), map[string]any{
				"type": "Composed", "status": "False", "reason": "InternalError", "message": "cannot compose api: it is broken",
			}}},
			want: ready.Fail("InternalError", "cannot compose api: it is broken"),
		},
		"CompositeWaits": {
			reason: "The first component that is not ready determines the message.",
			kind:   keystone,
			status: map[string]any{"observedGeneration": int64(3), "phase": "Creating", "conditions": []any{condition("Ready", "False")}, "components": []any{
				component("credentials", "Ready", "", "It was slow."),
				component("database", "Creating", "ConnectionFailed", "User keystone: cannot connect"), component("api", "Waiting", "WaitingForDependencies", "waits for database"),
			}},
			want: ready.Result{Reason: "ConnectionFailed", Message: "database: User keystone: cannot connect", Propagated: true},
		},
		"CompositeFailed": {
			reason: "A failed component takes precedence.",
			kind:   keystone,
			status: map[string]any{"observedGeneration": int64(3), "conditions": []any{condition("Ready", "False")}, "components": []any{
				component("database", "Updating", "Slow", "User keystone: it takes its time"), component("bootstrap", "Failed", "JobFailed", "Job b: it failed"),
			}},
			want: ready.Result{Failed: true, Reason: "JobFailed", Message: "bootstrap: Job b: it failed", Propagated: true},
		},
		"CompositeWaitsAndIsNotYetDenied": {
			reason: "Components are written together with the phase, before the condition.",
			kind:   keystone,
			status: map[string]any{
				"observedGeneration": int64(3), "phase": "Updating", "conditions": []any{condition("Ready", "True")},
				"components": []any{component("api", "Updating", "", "Deployment keystone: 1 of 2 pods are available")},
			},
			want: ready.Result{Reason: "NotReady", Message: "api: Deployment keystone: 1 of 2 pods are available", Propagated: true},
		},
		"CompositeWaitedBefore": {
			reason: "Components of an older generation do not count.",
			kind:   keystone,
			status: map[string]any{
				"observedGeneration": int64(2), "conditions": []any{condition("Ready", "False")},
				"components": []any{component("api", "Updating", "Old", "It was so.")},
			},
			want: ready.Wait("Reconciling", "its function has not seen the last change yet"),
		},
		"CompositeSaysNonsense": {
			reason: "Invalid components are ignored.",
			kind:   keystone,
			status: map[string]any{"conditions": []any{condition("Ready", "False")}, "components": []any{
				nil, "text", map[string]any{"name": int64(1)}, map[string]any{"message": "Whose?"}, component("silent", "Failed", "", ""),
			}},
			want: ready.Wait("Why", "A sentence."),
		},
		"SchemaFailed": {
			reason: "A failed schema Job does not recover automatically.",
			kind:   databaseSync,
			status: map[string]any{"phase": "Failed", "conditions": []any{condition("Ready", "True")}},
			want:   ready.Fail("SchemaFailed", "A sentence."),
		},
		"SchemaFailedUnexplained": {
			reason: "There is always a sentence.",
			kind:   databaseSync,
			status: map[string]any{"phase": "Failed"},
			want:   ready.Fail("SchemaFailed", "the schema Job failed"),
		},
		"SchemaContracting": {
			reason: "Steps after the rollout do not block.",
			kind:   databaseSync,
			status: map[string]any{"phase": "Contracting", "conditions": []any{condition("Ready", "True")}},
			want:   ready.Yes,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := existing(tc.kind)
			if tc.spec != nil {
				o["spec"] = tc.spec
			}
			if tc.status != nil {
				o["status"] = tc.status
			}
			rule, _ := readiness.Rules.For(tc.kind)
			if diff := cmp.Diff(tc.want, checked(t, rule, o)); diff != "" {
				t.Errorf("%s\nCheck(...): -want, +got:\n%s", tc.reason, diff)
			}
			if got := query(t, rule, o); got != tc.want.Ready {
				t.Errorf("%s\n%s is %t", tc.reason, rule.CEL, got)
			}
		})
	}
	sorts := map[schema.GroupKind]bool{}
	for _, tc := range cases {
		sorts[tc.kind] = true
	}
	if n := len(slices.Collect(maps.Keys(sorts))); n != 11 {
		t.Errorf("%d kinds are tried, not every sort of rule", n)
	}
}

func component(name, phase, reason, message string) map[string]any {
	return map[string]any{"name": name, "phase": phase, "reason": reason, "message": message}
}

// TestUnknownKindHasNoRule tests that an unknown kind has no rule, so that composing it is an error.
func TestUnknownKindHasNoRule(t *testing.T) {
	if rule, ok := readiness.Rules.For(schema.GroupKind{Kind: "Secret"}); ok {
		t.Errorf("For(Secret) = %+v: a Secret is never composed", rule)
	}
}

// TestToleratesSomeUnavailableNodes tests that some nodes may be unavailable, but not all, and that the others run the current version.
func TestToleratesSomeUnavailableNodes(t *testing.T) {
	rule, _ := readiness.Rules.For(daemonSet)
	for name, tc := range map[string]struct {
		reason                   string
		percentage               string
		want, updated, available int64
		ready                    ready.Result
	}{
		"one of 1000":    {"A pod on a node that is down is not replaced.", "5", 1000, 999, 999, ready.Yes},
		"the pod is new": {"Its node went down later.", "5", 1000, 1000, 999, ready.Yes},
		"limit":          {"5 % are down.", "5", 1000, 950, 950, ready.Yes},
		"beyond the limit": {"More are down.", "5", 1000, 949, 949,
			ready.Wait("PodsNotAvailable", "the pods of 949 of 1000 nodes are available")},
		"old pods run": {"They are still replaced.", "5", 1000, 998, 999,
			ready.Wait("RollingOut", "the pods of 998 of 1000 nodes run the current version")},
		"rounded up":    {"In a small pool, too.", "5", 3, 2, 2, ready.Yes},
		"the only node": {"Nothing runs.", "50", 1, 1, 0, ready.Wait("PodsNotAvailable", "the pods of 0 of 1 nodes are available")},
		"all of two":    {"Nothing runs.", "50", 2, 2, 0, ready.Wait("PodsNotAvailable", "the pods of 0 of 2 nodes are available")},
		"without annotation": {"Each node has to run it.", "", 1000, 999, 999,
			ready.Wait("PodsNotAvailable", "the pods of 999 of 1000 nodes are available")},
	} {
		t.Run(name, func(t *testing.T) {
			o := asJSON(t, finished(t, daemonSet))
			if tc.percentage != "" {
				o["metadata"].(map[string]any)["annotations"] = map[string]any{readiness.MaxUnavailableAnnotation: tc.percentage}
			}
			o["status"] = asJSON(t, map[string]any{
				"observedGeneration": o["metadata"].(map[string]any)["generation"], "desiredNumberScheduled": tc.want,
				"updatedNumberScheduled": tc.updated, "numberAvailable": tc.available,
			})
			if got := checked(t, rule, o); got != tc.ready {
				t.Errorf("%s Check() = %+v, want %+v", tc.reason, got, tc.ready)
			}
			if got := query(t, rule, o); got != tc.ready.Ready {
				t.Errorf("%s %s is %t", tc.reason, rule.CEL, got)
			}
		})
	}
}
