//go:build openstack && linux

package tempest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// suite selects the tests that TestTempestReportsItsResult runs.
var suite = flag.String("tests", "", "a regular expression of the names of tests of Tempest; empty: the default of each test")

// TestTempestReportsItsResult checks that a claim's tests run in its cloud, by a CronJob whose pods are as restricted as emitted. Their
// result is in the claim, they leave no objects, and a failing test is reported as failed.
func TestTempestReportsItsResult(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			claim := harness.Claim(t, "tempest.yaml", r, harness.Suffix(r))
			c := testedCloud{cloud: harness.Start(t, claim, nil), claim: string(claim)}
			c.before = c.resources(t)
			t.Run("Smoke", func(t *testing.T) { testSmoke(t, c) })
			t.Run("Suite", func(t *testing.T) { testSuite(t, c) })
			t.Run("Failing", func(t *testing.T) { testFailing(t, c) })
			t.Run("Stopped", func(t *testing.T) { testStopped(t, c) })
			t.Run("Killed", func(t *testing.T) { testTestsKilled(t, c) })
			t.Run("Off", func(t *testing.T) { testOff(t, c) })
		})
	}
}

// testedCloud is a cloud with Tempest.
type testedCloud struct {
	cloud *clouds.Cloud
	claim string
	// before are the things that there were before the first test.
	before map[string][]string
}

// testSmoke checks that smoke tests run by default, and pass.
func testSmoke(t *testing.T, c testedCloud) {
	if got := c.result(); !strings.HasPrefix(got, "False NotRun") {
		t.Errorf("before the first run: %s", got)
	}
	c.run(t, "smoke")
	if got := c.result(); !strings.HasPrefix(got, "True TestsPassed") {
		t.Error(got)
	}
	status := c.status()
	if n, _ := status["passed"].(float64); n < 10 || status["failed"] != nil || status["lastRun"] == nil || status["lastDurationSeconds"] == nil {
		t.Errorf("the claim reports %v", status)
	}
	c.clean(t)
}

// testSuite checks the same for the tests that the flag selects.
func testSuite(t *testing.T, c testedCloud) {
	named := *suite
	if named == "" {
		named = `^tempest\.api\.identity\.`
	}
	c.order(t, fmt.Sprintf("tests: {includeRegex: %q}", named))
	c.run(t, "suite")
	if got := c.result(); !strings.HasPrefix(got, "True TestsPassed") {
		t.Error(got)
	}
	t.Log(c.status())
	c.clean(t)
}

// testFailing checks that a broken service makes its tests fail, and that the claim names them. Without an image
// service in the catalog, neither the tests nor run.py find Glance.
func testFailing(t *testing.T, c testedCloud) {
	a := harness.AdminOf(t, harness.KeystoneClient(t, c.cloud, false))
	glance := "/services/" + a.Named("services", "type=image")
	enable := func(is bool) {
		a.Do(http.MethodPatch, glance, map[string]any{"service": map[string]any{"enabled": is}}, nil)
	}
	enable(false)
	defer enable(true)
	c.order(t, `tests: {services: [image], includeRegex: ImagesTagsTest}`)
	c.run(t, "failing")
	got := c.result()
	if !strings.HasPrefix(got, "False TestsFailed") || !strings.Contains(got, "tempest.api.image") {
		t.Error(got)
	}
	if n, _ := c.status()["failed"].(float64); n == 0 {
		t.Errorf("the claim reports %v", c.status())
	}
}

// testStopped checks that a terminated pod removes the objects of its tests.
func testStopped(t *testing.T, c testedCloud) {
	c.order(t, `tests: {includeRegex: "^tempest.api.identity"}`)
	job := c.startRun(t, "stopped")
	c.busy(t)
	for _, pod := range c.pods(t, job) {
		c.terminate(t, pod)
	}
	c.clean(t)
}

// testTestsKilled checks that the next run removes the objects of a killed pod, and that the killed run is reported as
// unknown.
func testTestsKilled(t *testing.T, c testedCloud) {
	job := c.startRun(t, "killed")
	c.busy(t)
	for _, pod := range c.pods(t, job) {
		if err := c.cloud.Cluster.Crash(pod.Namespace, pod.Name); err != nil {
			t.Fatal(err)
		}
	}
	c.ended(t, job)
	if got := c.result(); !strings.HasPrefix(got, "False NoResult") {
		t.Error(got)
	}
	if cmp.Diff(c.before, c.resources(t)) == "" {
		t.Error("it has left nothing, so that the rest of this test has no effect")
	}
	c.order(t, "")
	c.run(t, "after")
	if got := c.result(); !strings.HasPrefix(got, "True TestsPassed") {
		t.Error(got)
	}
	c.clean(t)
}

// testOff checks that disabling tests deletes their administrator.
func testOff(t *testing.T, c testedCloud) {
	claim := strings.Replace(c.claim, "    enabled: true\n    allowAdministration", "    allowAdministration", 1)
	harness.Change(t, c.cloud, []byte(claim))
	resources := c.resources(t)
	for _, kind := range []string{"users", "projects"} {
		if slices.Contains(resources[kind], "tempest") {
			t.Errorf("%s: %v", kind, resources[kind])
		}
	}
}

// order changes the selection of tests.
func (c testedCloud) order(t *testing.T, tests string) {
	t.Helper()
	const schedule = "    schedule: \"0 0 1 1 *\"\n"
	claim := c.claim
	if tests != "" {
		claim = strings.Replace(claim, schedule, schedule+"    "+tests+"\n", 1)
	}
	harness.Change(t, c.cloud, []byte(claim))
}

// startRun creates a Job as the CronJob does.
func (c testedCloud) startRun(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	cron := &batchv1.CronJob{}
	u, err := c.cloud.Operators.Find("CronJob.batch", c.cloud.Namespace, "tempest")
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cron); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: cron.Name + "-" + name, Namespace: cron.Namespace, Labels: cron.Spec.JobTemplate.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
	}, Spec: cron.Spec.JobTemplate.Spec}
	if err := c.cloud.Cluster.Apply(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	return job
}

// run runs the tests once, and updates the claim.
func (c testedCloud) run(t *testing.T, name string) {
	t.Helper()
	c.ended(t, c.startRun(t, name))
}

// ended waits until a run has ended, and the claim reports it.
func (c testedCloud) ended(t *testing.T, job *batchv1.Job) {
	t.Helper()
	c.endedWithin(t, job, 2*time.Hour) // A run takes minutes; a loaded machine needs more.
}

// endedWithin waits for the end of a run, at most for a timeout.
func (c testedCloud) endedWithin(t *testing.T, job *batchv1.Job, timeout time.Duration) {
	t.Helper()
	report := &openstackv1.TestReport{}
	err := c.cloud.Cluster.Wait(context.Background(), timeout, "the report of "+job.Name, func(ctx context.Context) (bool, error) {
		if err := c.cloud.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		err := c.cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: "tempest"}, report)
		return report.Status.JobUID == string(job.UID), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if is := meta.FindStatusCondition(report.Status.Conditions, "TestsPassed"); is != nil && is.Reason != "TestsPassed" {
		t.Logf("%s: %s\n%s", is.Reason, is.Message, c.log(t, job))
	}
	if err := c.cloud.Follow(); err != nil {
		t.Fatal(err)
	}
}

// log returns the complete log of a run.
func (c testedCloud) log(t *testing.T, job *batchv1.Job) string {
	t.Helper()
	var out strings.Builder
	for _, pod := range c.pods(t, job) {
		text, err := os.ReadFile(c.cloud.Cluster.Log(pod.Namespace, pod.Name, "tempest"))
		if err != nil {
			t.Error(err)
		}
		out.Write(text)
	}
	return out.String()
}

// busy waits until tests have created something.
func (c testedCloud) busy(t *testing.T) {
	t.Helper()
	err := c.cloud.Cluster.Wait(context.Background(), 5*time.Minute, "tests that have made users", func(context.Context) (bool, error) {
		return len(c.resources(t)["users"]) > len(c.before["users"])+1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c testedCloud) pods(t *testing.T, job *batchv1.Job) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	err := c.cloud.Cluster.Client.List(context.Background(), list, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// terminate deletes the Job of a pod, and waits until the pod has ended.
func (c testedCloud) terminate(t *testing.T, pod corev1.Pod) {
	t.Helper()
	ctx := context.Background()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: metav1.GetControllerOf(&pod).Name, Namespace: pod.Namespace}}
	if err := c.cloud.Cluster.Client.Delete(ctx, job); err != nil {
		t.Fatal(err)
	}
	err := c.cloud.Cluster.Wait(ctx, 5*time.Minute, "the end of pod "+pod.Name, func(ctx context.Context) (bool, error) {
		err := c.cloud.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(&pod), &corev1.Pod{})
		return err != nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// result returns the claim's condition about its tests.
func (c testedCloud) result() string {
	for _, v := range c.cloud.Simulation.XR.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue().GetValues() {
		is := v.GetStructValue().AsMap()
		if is["type"] == "TestsPassed" {
			return fmt.Sprint(is["status"], " ", is["reason"], ": ", is["message"])
		}
	}
	return "nothing"
}

// status returns the status of the last run, from the claim.
func (c testedCloud) status() map[string]any {
	return c.cloud.Simulation.XR.GetFields()["status"].GetStructValue().GetFields()["tests"].GetStructValue().AsMap()
}

// clean checks that the resources are the same as before any test.
func (c testedCloud) clean(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(c.before, c.resources(t)); diff != "" {
		t.Errorf("tests have left (-before +after):\n%s", diff)
	}
}

// resources returns the names of all resources in Keystone and in Glance.
func (c testedCloud) resources(t *testing.T) map[string][]string {
	t.Helper()
	a, out := harness.AdminOf(t, harness.KeystoneClient(t, c.cloud, false)), map[string][]string{}
	for path, label := range map[string]string{
		"domains": "name", "projects": "name", "users": "name", "groups": "name", "roles": "name", "services": "name", "endpoints": "url",
		"regions": "id", "policies": "id", "credentials": "id", "OS-TRUST/trusts": "id", "OS-EP-FILTER/endpoint_groups": "id",
		"OS-OAUTH1/consumers": "id", "OS-FEDERATION/identity_providers": "id", "registered_limits": "id", "limits": "id",
		"role_assignments?include_names": "",
	} {
		text := map[string]any{}
		a.Do(http.MethodGet, "/"+path, nil, &text)
		kind, _, _ := strings.Cut(path[strings.LastIndex(path, "/")+1:], "?")
		items, _ := text[kind].([]any)
		for _, item := range items {
			one, _ := item.(map[string]any)
			delete(one, "links")
			name, ok := one[label].(string)
			if !ok {
				name = fmt.Sprint(one)
			}
			out[kind] = append(out[kind], name)
		}
		slices.Sort(out[kind])
	}
	return out
}
