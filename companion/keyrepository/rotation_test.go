package keyrepository

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

func TestRejectsInvalidRepositories(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*openstackv1.KeyRepository)
		want []string
	}{
		"TooFew": {func(r *openstackv1.KeyRepository) {
			r.Spec.RotationSchedule, r.Spec.MaxActiveKeys = "0 0 * * *", ptr.To[int32](4)
		}, []string{"spec.maxActiveKeys 4 is too small", "ceil(49h0m0s / 24h0m0s) = 3", "makes 5 keys"}},
		"TooOften": {func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "*/10 * * * *" }, []string{"more than 200 keys",
			"makes 296 keys"}},
		"Schedule": {func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "0 0 30 2 *" }, []string{"never comes"}},
		"NoToken":  {func(r *openstackv1.KeyRepository) { r.Spec.Token = nil }, []string{"spec.token"}},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fernet()
			tc.do(repo)
			c := newCluster(t, repo)
			c.reconcileN(c.reconciler(c.API, c.API))
			if c.secret() != nil {
				t.Error("made keys")
			}
			c.expect("Ready", "False InvalidSpec", tc.want...)

			c, r := start(t, fernet())
			before := c.set().Hash()
			c.change(tc.do)
			c.Clock.SetTime(c.Clock.Now().Add(30 * 24 * time.Hour))
			c.reconcileN(r)
			c.expect("Ready", "False InvalidSpec", tc.want...)
			if c.set().Hash() != before || c.repo().Status.NextRotation != nil {
				t.Error("rotated")
			}
		})
	}
}

func TestRotationWaitsForPodsMigrationAndBackup(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		stop, goOn    func(*cluster)
		condition, is string
	}{
		"Pods": {
			"The proof is missing.", func(c *cluster) { c.noRollout = true }, func(c *cluster) { c.noRollout = false },
			"Distributed", "False Waiting",
		},
		"Migration": {
			"Stored data requires an older key.", func(c *cluster) { c.jobFails = true }, func(c *cluster) { c.jobFails = false },
			"Migrated", "False Waiting",
		},
		"Backup": {
			"A key without a backup would encrypt.", func(c *cluster) { c.storeDown = true }, func(c *cluster) { c.storeDown = false },
			"BackedUp", "False Waiting",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, withBackup(credential()))
			tc.stop(c)
			c.Clock.SetTime(c.repo().Status.NextRotation.Time)
			c.reconcileN(r)
			for range 6 {
				c.Clock.SetTime(c.Clock.Now().Add(20 * 24 * time.Hour))
				c.reconcileN(r)
			}
			if c.primary != 2 {
				t.Errorf("at %d after one rotation. %s", c.primary, tc.reason)
			}
			c.expect(tc.condition, tc.is)
			c.expect("Ready", "True RotationBlocked", "rotation due at")
			tc.goOn(c)
			c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
			c.reconcileN(r)
			c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
			c.reconcileN(r)
			c.reconcileN(r)
			if c.primary != 3 {
				t.Errorf("does not continue: %s", c.conditions())
			}
			c.Verify()
		})
	}
}

func TestSuspendDelaysRotation(t *testing.T) {
	c, r := start(t, fernet())
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.Suspend = true })
	c.Clock.SetTime(c.Clock.Now().Add(30 * 24 * time.Hour))
	c.reconcileN(r)
	c.expect("Ready", "True KeysReady")
	if c.primary != 1 || c.repo().Status.NextRotation != nil {
		t.Error("rotated")
	}
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.Suspend = false })
	c.reconcileN(r)
	if c.primary != 2 {
		t.Error("rotations that were missed are made up for, once")
	}
	c.Verify()
}

// TestFewerKeysPurgeNoRequiredKey changes from many keys to few, which would purge keys that tokens still require.
func TestFewerKeysPurgeNoRequiredKey(t *testing.T) {
	repo := fernet()
	repo.Spec.RotationSchedule = "0 * * * *"
	repo.Spec.Token = &openstackv1.TokenLifetime{ExpirationSeconds: 5 * 3600}
	c := newCluster(t, repo, deployment())
	c.lifetime = 5 * time.Hour
	r := c.reconciler(c.API, c.API)
	c.run(r)
	for range 8 {
		c.untilRotation(r)
	}
	if n := len(c.set()); n != 7 {
		t.Fatalf("%d keys", n)
	}
	next := c.Clock.Now().Add(30 * time.Minute)
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "0 0 * * *" })
	c.Clock.SetTime(time.Date(2026, time.March, 2, 23, 59, 0, 0, time.UTC))
	for c.Clock.Now().Before(next.Add(8 * time.Hour)) {
		c.Clock.SetTime(c.Clock.Now().Add(20 * time.Minute))
		c.tick()
		c.reconcileN(r)
	}
	if n := len(c.set()); n != 3 {
		t.Errorf("%d keys", n)
	}
	c.Verify()
}

func TestMigrationJob(t *testing.T) {
	c, r := start(t, credential())
	c.untilRotation(r)
	jobs := &batchv1.JobList{}
	c.Must(c.API.List(context.Background(), jobs))
	if len(jobs.Items) != 1 {
		t.Fatalf("%d Jobs", len(jobs.Items))
	}
	job := jobs.Items[0]
	if len(job.OwnerReferences) != 1 || job.OwnerReferences[0].UID != "repo-uid" {
		t.Error(job.OwnerReferences)
	}
	pod := job.Spec.Template
	if _, ok := pod.Labels["app"]; ok {
		t.Error("the pod is behind the workload's Service")
	}
	want := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "keystone", Image: "keystone:1", Command: []string{"keystone-manage", "credential_migrate"},
			Env: []corev1.EnvVar{{Name: "DATABASE_PASSWORD", Value: "x"}},
		}},
	}
	if diff := cmp.Diff(want, pod.Spec); diff != "" {
		t.Error(diff)
	}
	c.Verify()
}
