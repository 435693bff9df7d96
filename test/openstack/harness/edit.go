//go:build openstack && linux

package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// A PlannedEdit is an edit of the claim of a cloud with its plan, and the pods of the cloud before it.
type PlannedEdit struct {
	Plan *plan.Plan

	cloud  *clouds.Cloud
	before map[string]pods
}

// pods are the pods of a workload.
type pods struct {
	replicas int
	uids     []types.UID
}

// PlanEdit plans an edit of the claim of a cloud's control plane, as cobaltcore plan does, before the test applies it. The plan does not
// include a pool of hypervisors, whose pods follow with the next Follow.
func PlanEdit(t testing.TB, cloud *clouds.Cloud, claim []byte) *PlannedEdit {
	t.Helper()
	input := func(claim []byte) plan.Input {
		in := plan.Input{Platform: plan.Document{Data: cloud.Options.Platform}}
		for _, data := range [][]byte{cloud.Options.Storage, claim} {
			if len(data) > 0 {
				in.Claims = append(in.Claims, plan.Document{Identity: preview.IdentityOf(data), Data: data})
			}
		}
		return in
	}
	p, err := plan.Run(input(cloud.Options.Claim), input(claim), kinds.Runners())
	if err != nil {
		t.Fatalf("cannot plan the edit: %v", err)
	}
	return &PlannedEdit{Plan: p, cloud: cloud, before: workloads(t, cloud)}
}

// Change edits the claim of a cloud's control plane. Its plan must name all pods that have restarted until everything is ready.
func Change(t testing.TB, cloud *clouds.Cloud, claim []byte) {
	t.Helper()
	planned := PlanEdit(t, cloud, claim)
	if err := cloud.Change(claim); err != nil {
		t.Fatal(err)
	}
	planned.CheckRestarts(t)
}

// Check waits until the cloud has settled after the edit, and fails if the plan was wrong. The loss of requests is optional.
func (e *PlannedEdit) Check(t testing.TB, loss map[string]Loss) Outcome {
	t.Helper()
	WaitForRollouts(t, e.cloud)
	o := e.outcome(t)
	o.Loss = loss
	wrong, pessimistic := Compare(e.Plan, o)
	for _, text := range pessimistic {
		t.Logf("the plan is pessimistic: %s", text)
	}
	for _, text := range wrong {
		t.Errorf("the plan is wrong: %s", text)
	}
	t.Logf("plan: %s; lost requests: %v; restarts: %s", Verdicts(e.Plan), loss, strings.Join(o.Restarted, ", "))
	return o
}

// CheckRestarts fails if pods were replaced that the plan does not name. Unlike Check, it does not wait: other rollouts may not have ended.
func (e *PlannedEdit) CheckRestarts(t testing.TB) {
	t.Helper()
	for _, text := range unplanned(e.Plan, e.outcome(t)) {
		t.Errorf("the plan is wrong: %s", text)
	}
}

// outcome returns the workloads whose pods have been replaced until now.
func (e *PlannedEdit) outcome(t testing.TB) Outcome {
	t.Helper()
	o := Outcome{Workloads: slices.Sorted(maps.Keys(e.before))}
	after := workloads(t, e.cloud)
	for _, name := range o.Workloads {
		if now, exists := after[name]; exists && replaced(e.before[name], now) {
			o.Restarted = append(o.Restarted, name)
		}
	}
	return o
}

// replaced reports whether more pods of a workload have ended than its scaling explains.
func replaced(before, after pods) bool {
	ended := 0
	for _, uid := range before.uids {
		if !slices.Contains(after.uids, uid) {
			ended++
		}
	}
	return ended > max(0, before.replicas-after.replicas)
}

// quiet is the time without a change of a pod after which a cloud has settled. The companion checks credentials in between.
const quiet = 4 * time.Second

// WaitForRollouts waits until every rollout of a cloud has ended, every schema is contracted, every pod has the current credentials, and pods do not
// change any more.
func WaitForRollouts(t testing.TB, cloud *clouds.Cloud) {
	t.Helper()
	var state string
	since := time.Now()
	err := cloud.Cluster.Wait(context.Background(), operators.Timeout, "the end of the rollouts", func(ctx context.Context) (bool, error) {
		now, done, err := rollouts(ctx, cloud)
		if now != state || !done {
			state, since = now, time.Now()
		}
		return time.Now().After(since.Add(quiet)), err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, state)
	}
}

// rollouts returns the state of all workloads and schemas of a cloud, and whether all of them have their desired state.
func rollouts(ctx context.Context, cloud *clouds.Cloud) (state string, done bool, err error) {
	deployments, sets, all := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{}
	schemas, rotations := &openstackv1.DatabaseSyncList{}, &c5c3v1.CredentialRotationList{}
	for _, list := range []client.ObjectList{deployments, sets, all, schemas, rotations} {
		if err := cloud.Cluster.Client.List(ctx, list); err != nil {
			return "", false, err
		}
	}
	owned := owners(all)
	done = true
	see := func(name string, ok bool, status any) {
		done = done && ok
		state += fmt.Sprintf("%s, settled: %t: %v\n", name, ok, status)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		// The status does not count pods that are ending.
		see("Deployment "+d.Name, operators.RolledOut(d) && len(owned[d.UID]) == int(d.Status.Replicas), owned[d.UID])
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		replicas := ptr.Deref(s.Spec.Replicas, 1)
		see("StatefulSet "+s.Name, s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == replicas &&
			s.Status.ReadyReplicas == replicas && len(owned[s.UID]) == int(replicas), owned[s.UID])
	}
	for i := range rotations.Items {
		r := &rotations.Items[i]
		see("CredentialRotation "+r.Name, apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed"), r.Status.CurrentID)
	}
	for i := range schemas.Items {
		s := &schemas.Items[i]
		see("DatabaseSync "+s.Name, s.Status.Phase == openstackv1.SyncPhaseDone && s.Status.ContractedRelease == s.Spec.Release, s.Status.Phase)
	}
	return state, done, nil
}

// owners returns the pods of each owner.
func owners(all *corev1.PodList) map[types.UID][]types.UID {
	out := map[types.UID][]types.UID{}
	for i := range all.Items {
		if owner := metav1.GetControllerOf(&all.Items[i]); owner != nil {
			out[owner.UID] = append(out[owner.UID], all.Items[i].UID)
		}
	}
	return out
}

// workloads returns the workloads of a control plane that have pods, as "<Kind> <name>".
func workloads(t testing.TB, cloud *clouds.Cloud) map[string]pods {
	t.Helper()
	ctx := context.Background()
	deployments, sets, all := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{deployments, sets, all} {
		if err := cloud.Cluster.Client.List(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	uids := owners(all)
	out := map[string]pods{}
	add := func(kind string, o client.Object, replicas int) {
		if running := uids[o.GetUID()]; len(running) > 0 {
			out[kind+" "+o.GetName()] = pods{replicas, running}
		}
	}
	for i := range deployments.Items {
		add("Deployment", &deployments.Items[i], int(ptr.Deref(deployments.Items[i].Spec.Replicas, 1)))
	}
	for i := range sets.Items {
		add("StatefulSet", &sets.Items[i], int(ptr.Deref(sets.Items[i].Spec.Replicas, 1)))
	}
	return out
}
