//go:build openstack && linux

package keystone

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestKeystoneUpgrade checks that a cloud can be upgraded from one release to another with its data, and that no
// request fails.
func TestKeystoneUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason   string
		from, to release.Release
	}{
		"Next":  {reason: "the next release", from: "2025.1", to: "2025.2"},
		"SLURP": {reason: "from one SLURP release to the next, over one that is skipped", from: "2025.1", to: "2026.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testUpgrade(t, c.from, c.to)
		})
	}
}

func testUpgrade(t *testing.T, from, to release.Release) {
	ctx := context.Background()
	claim := func(r release.Release) []byte {
		text := strings.ReplaceAll(string(harness.Read(t, "small.yaml")), `"2025.2"`, `"`+string(r)+`"`)
		return []byte(strings.ReplaceAll(text, "small", "to-"+strings.ReplaceAll(string(to), ".", "-")))
	}
	cloud := harness.Start(t, claim(from), nil)
	c := harness.KeystoneClient(t, cloud, false)
	a := harness.AdminOf(t, c)
	user := a.Create("user", map[string]any{"name": "old", "domain_id": "default", "password": "old-password"})
	a.Do("PUT", "/projects/"+a.Named("projects", "name=service")+"/users/"+user+"/roles/"+a.Named("roles", "name=member"), nil, nil)
	load := NewLoad(ctx, c, 2)
	err := cloud.Cluster.Wait(ctx, time.Minute, "the first tokens", func(context.Context) (bool, error) { return load.Issued.Load() > 4, nil })
	if err != nil {
		t.Fatal(err)
	}
	before := load.Tokens()
	planned := harness.PlanEdit(t, cloud, claim(to))
	if err := cloud.Change(claim(to)); err != nil {
		t.Fatal(err)
	}
	s := &openstackv1.DatabaseSync{}
	err = cloud.Cluster.Wait(ctx, 3*time.Minute, "the contracted schema", func(ctx context.Context) (bool, error) {
		err := cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: cloud.Namespace, Name: "keystone"}, s)
		return s.Status.ContractedRelease == string(to) && s.Status.Phase == openstackv1.SyncPhaseDone, err
	})
	if err != nil {
		t.Fatalf("%v\n%+v", err, s.Status)
	}
	time.Sleep(2 * time.Second)
	errs := load.Stop()
	t.Log(load)
	for _, err := range errs {
		t.Error(err)
	}
	planned.Check(t, map[string]harness.Loss{"keystone": {Requests: int(load.Issued.Load() + load.Validated.Load()), Failed: len(errs)}})
	if load.Validated.Load() < 20 || len(before) == 0 {
		t.Errorf("that is no load: %s", load)
	}
	for _, token := range before {
		if _, err := c.Validate(ctx, a.Token, token); err != nil {
			t.Errorf("a token of %s is not valid in %s: %v", from, to, err)
		}
	}
	if _, err := c.Issue(ctx, clouds.Password("old", "Default", "old-password", clouds.Project("service", "Default"))); err != nil {
		t.Errorf("a user of %s does not log in to %s: %v", from, to, err)
	}
	version, err := to.Version("keystone")
	if err != nil {
		t.Fatal(err)
	}
	checkPods(t, cloud, "keystone", ":"+version)
	checkSteps(t, s, from, to)
}

// checkPods checks that all pods of a Deployment run an image with a tag.
func checkPods(t *testing.T, c *clouds.Cloud, deployment, tag string) {
	t.Helper()
	d, pods := &appsv1.Deployment{}, &corev1.PodList{}
	ctx, api := context.Background(), c.Cluster.Client
	if err := api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: deployment}, d); err != nil {
		t.Fatal(err)
	}
	if err := api.List(ctx, pods, client.InNamespace(c.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Errorf("Deployment %s has no pod", deployment)
	}
	for _, p := range pods.Items {
		if image := p.Spec.Containers[0].Image; p.DeletionTimestamp == nil && !strings.HasSuffix(image, tag) {
			t.Errorf("pod %s runs %s, want %s", p.Name, image, tag)
		}
	}
}

// checkSteps checks that the first schema was created in one step, and that the upgrade checked, expanded and, after
// the rollout, contracted the schema.
func checkSteps(t *testing.T, s *openstackv1.DatabaseSync, from, to release.Release) {
	t.Helper()
	type step struct{ Step, Release, Result string }
	var got []step
	for _, r := range s.Status.History {
		got = append(got, step{r.Step, r.Release, r.Result})
		// 1 is a warning, and also the exit code of keystone-status if it cannot read its keys.
		if r.ExitCode == nil || *r.ExitCode != 0 {
			t.Errorf("step %s ended with %v, want 0", r.Step, r.ExitCode)
		}
	}
	want := []step{
		{"version/db-version", string(from), openstackv1.StepSucceeded},
		{"sync/db-sync", string(from), openstackv1.StepSucceeded},
		{"check/upgrade-check", string(to), openstackv1.StepSucceeded},
		{"expand/expand", string(to), openstackv1.StepSucceeded},
		{"contract/contract", string(to), openstackv1.StepSucceeded},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
