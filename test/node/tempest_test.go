//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node/policy"
)

// TestTempest checks that a claim's cloud is tested by its CronJob on schedule, and by a Job that a user creates from
// it. The claim reports both results, and the tests leave no objects.
func TestTempest(t *testing.T) {
	if !selected("Tempest") {
		t.Skip("its tests take the processors: RUN=TestTempest")
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 40*time.Minute)
	defer cancel()
	observed := watchFlows(ctx, t)
	claim := order(ctx, t, "testdata/tempest.yaml")
	r := &runs{claim: claim, namespace: instance(ctx, t, claim)}
	defer func() {
		if t.Failed() {
			t.Log(cluster.FailedContainerLogs(context.WithoutCancel(ctx), r.namespace))
		}
	}()
	r.cloud = login(ctx, t, r.namespace)
	t.Run("Schedule", func(t *testing.T) { r.testSchedule(ctx, t) })
	t.Run("ByHand", func(t *testing.T) { r.testByHand(ctx, t) })
	t.Run("Restricted", func(t *testing.T) { testRestricted(ctx, t, r.namespace) })
	t.Run("NetworkPolicies", func(t *testing.T) {
		observed.checkDenied(ctx, t, r.namespace, func(policy.Flow) bool { return false })
	})
	t.Run("Delete", func(t *testing.T) { testDelete(ctx, t, claim, r.namespace) })
}

// runs are the runs of Tempest in a claim's cloud.
type runs struct {
	claim     *unstructured.Unstructured
	namespace string
	cloud     *cloud
}

// testSchedule checks that scheduled smoke tests start at the beginning of a minute, and pass.
func (r *runs) testSchedule(ctx context.Context, t *testing.T) {
	jobs := r.passed(ctx, t, r.claim.GetCreationTimestamp().Time)
	if len(jobs) == 0 || metav1.GetControllerOf(&jobs[0]) == nil {
		t.Errorf("its CronJob has made %d Jobs", len(jobs))
	}
	const seldom = "0 0 1 1 *"
	change(ctx, t, r.claim, `{"spec": {"tempest": {
		"schedule": "`+seldom+`", "tests": {"services": ["identity"], "includeRegex": "test_list_projects"}
	}}}`)
	r.idle(ctx, t, seldom)
	r.clean(ctx, t)
}

// testByHand checks that a Job created from the CronJob runs the current tests of the claim.
func (r *runs) testByHand(ctx context.Context, t *testing.T) {
	cron := r.cron(ctx, t)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.namespace, Name: "tempest-now", Labels: cron.Spec.JobTemplate.Labels,
		Annotations:     map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}, // as kubectl create job --from does
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
	}, Spec: cron.Spec.JobTemplate.Spec}
	if err := cluster.Client.Create(ctx, job); err != nil {
		t.Fatal(err)
	}
	r.passed(ctx, t, job.CreationTimestamp.Time)
	r.clean(ctx, t)
}

// passed waits until the claim reports a run that started since a time, and has passed. It returns the existing Jobs.
func (r *runs) passed(ctx context.Context, t *testing.T, since time.Time) []batchv1.Job {
	t.Helper()
	eventually(ctx, t, 15*time.Minute, func() error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(r.claim), r.claim); err != nil {
			return err
		}
		text, _, _ := unstructured.NestedString(r.claim.Object, "status", "tests", "lastRun")
		if began, err := time.Parse(time.RFC3339, text); err != nil || began.Before(since) {
			return fmt.Errorf("the claim reports no run since %s, but one at %q:%s", since.Format(time.TimeOnly), text, untrue(r.claim))
		}
		return nil
	})
	is, _, _ := unstructured.NestedMap(r.claim.Object, "status", "tests")
	took, _ := is["lastDurationSeconds"].(int64)
	passed, _ := is["passed"].(int64)
	t.Logf("%.0f s after it could start the claim reports %v", time.Since(since).Seconds(), is)
	if took < 1 || passed < 1 || is["failed"] != nil {
		t.Errorf("the claim reports about its run: %v", is)
	}
	// Crossplane writes a claim's conditions after the rest of its status.
	eventually(ctx, t, time.Minute, func() error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(r.claim), r.claim); err != nil {
			return err
		}
		if untrue := untrue(r.claim); strings.Contains(untrue, "TestsPassed") {
			return errors.New(untrue)
		}
		return nil
	})
	all := &batchv1.JobList{}
	labels := client.MatchingLabels(r.cron(ctx, t).Spec.JobTemplate.Labels)
	if err := cluster.Client.List(ctx, all, client.InNamespace(r.namespace), labels); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// cron returns the CronJob of the tests.
func (r *runs) cron(ctx context.Context, t *testing.T) *batchv1.CronJob {
	t.Helper()
	cron := &batchv1.CronJob{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: "tempest"}, cron); err != nil {
		t.Fatal(err)
	}
	return cron
}

// idle waits until the CronJob has a schedule, and no run of the previous one remains.
func (r *runs) idle(ctx context.Context, t *testing.T, schedule string) {
	t.Helper()
	eventually(ctx, t, 15*time.Minute, func() error {
		if cron := r.cron(ctx, t); cron.Spec.Schedule != schedule || len(cron.Status.Active) > 0 {
			return fmt.Errorf("its schedule is %q, and %d runs have not ended", cron.Spec.Schedule, len(cron.Status.Active))
		}
		return nil
	})
}

// clean checks that tests leave no objects in the cloud except their administrator.
func (r *runs) clean(ctx context.Context, t *testing.T) {
	t.Helper()
	var remaining []string
	note := func(kind, name string) {
		if strings.Contains(name, "tempest") && name != "tempest" {
			remaining = append(remaining, kind+" "+name)
		}
	}
	glance, err := r.cloud.glance()
	if err != nil {
		t.Fatal(err)
	}
	page, err := projects.List(r.cloud.identity, nil).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	allProjects, err := projects.ExtractProjects(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range allProjects {
		note("project", p.Name)
	}
	if page, err = users.List(r.cloud.identity, nil).AllPages(ctx); err != nil {
		t.Fatal(err)
	}
	allUsers, err := users.ExtractUsers(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range allUsers {
		note("user", u.Name)
	}
	if page, err = images.List(glance, nil).AllPages(ctx); err != nil {
		t.Fatal(err)
	}
	allImages, err := images.ExtractImages(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range allImages {
		note("image", i.Name)
	}
	if len(remaining) > 0 || len(allUsers) == 0 || len(allProjects) == 0 {
		t.Errorf("tests have left %v", remaining)
	}
}
