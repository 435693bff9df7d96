package keyrepository

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// started creates the keys, then the Deployment, as a control plane does, and runs the controller until it is idle.
func started(t *testing.T, repo *openstackv1.KeyRepository) (*cluster, *Reconciler) {
	t.Helper()
	c := newCluster(t, repo)
	r := c.reconciler(c.API, c.API)
	c.reconcileN(r)
	c.deploy(r)
	return c, r
}

// deploy creates the Deployment and its pods.
func (c *cluster) deploy(r *Reconciler) {
	c.T.Helper()
	c.Must(c.API.Create(context.Background(), deployment()))
	for range 3 {
		c.tick()
		c.run(r)
	}
}

// TestNewWorkloadRestartsOnlyAfterRotation: a workload that is created after the keys is not restarted for them, but for the next ones.
func TestNewWorkloadRestartsOnlyAfterRotation(t *testing.T) {
	for name, repo := range map[string]*openstackv1.KeyRepository{"fernet": fernet(), "credential": withBackup(credential())} {
		t.Run(name, func(t *testing.T) {
			c, r := started(t, repo)
			if reported := c.recordedText(); c.podCount != 2 || strings.Contains(reported, "PodsRestarted") {
				t.Errorf("%d pods for 2 replicas:\n%s", c.podCount, reported)
			}
			c.expect("Distributed", "True AllPodsRestarted")
			c.untilRotation(r)
			if reported := c.recordedText(); c.podCount != 4 || strings.Count(reported, "PodsRestarted") != 1 {
				t.Errorf("%d pods after a rotation:\n%s", c.podCount, reported)
			}
			c.expect("Distributed", "True AllPodsRestarted")
			c.Verify()
		})
	}
}

// TestRecreatedWorkloadIsNotRestarted: a re-created workload is not restarted either.
func TestRecreatedWorkloadIsNotRestarted(t *testing.T) {
	c, r := started(t, fernet())
	c.untilRotation(r)
	pods, d := c.podCount, &appsv1.Deployment{}
	c.Must(c.API.Get(context.Background(), key("keystone"), d))
	c.Must(c.API.Delete(context.Background(), d))
	c.removePods()
	c.reconcileN(r)
	c.deploy(r)
	if c.podCount != pods+2 {
		t.Errorf("%d pods for 2 replicas", c.podCount-pods)
	}
	c.untilRotation(r)
	c.Verify()
}

// TestNotNewWorkload: a workload that may have been started with other keys is restarted.
func TestNotNewWorkload(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		repo   *openstackv1.KeyRepository
		do     func(*cluster)
		want   string
	}{
		"MadeAnew": {
			"Its pods run with the lost keys.", fernet(), (*cluster).deleteSecret, "True KeysReady",
		},
		"Known": {
			"The workload still has the annotation of the previous keys, although it was never restarted.", credential(), func(c *cluster) {
				c.deleteSecret()
				repo := c.repo()
				repo.Status = openstackv1.KeyRepositoryStatus{}
				c.Must(c.API.Status().Update(context.Background(), repo))
			}, "False SecretMissing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := started(t, tc.repo)
			previousHash := c.set().Hash()
			c.sealed = nil
			tc.do(c)
			c.reconcileN(r)
			c.expect("Ready", tc.want)
			if set := c.set(); set != nil {
				if set.Hash() == previousHash || c.podCount != 4 {
					t.Errorf("%d pods for 2 replicas. %s", c.podCount, tc.reason)
				}
				c.expect("Distributed", "True AllPodsRestarted")
			}
		})
	}
}

// TestReadsSecretBeforeConsumers: the record of missing consumers depends on the order of reads.
func TestReadsSecretBeforeConsumers(t *testing.T) {
	c := newCluster(t, fernet())
	var read []string
	watched := interceptor.NewClient(c.API, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			read = append(read, fmt.Sprintf("%T", o))
			return api.Get(ctx, k, o, opts...)
		},
	})
	c.pass(c.reconciler(c.API, watched))
	secret, deployment := slices.Index(read, "*v1.Secret"), slices.Index(read, "*v1.Deployment")
	if secret < 0 || deployment < secret {
		t.Errorf("read %v", read)
	}
}

// TestMarkSurvivesApply checks that Crossplane does not remove the mark either.
func TestMarkSurvivesApply(t *testing.T) {
	c, _ := started(t, fernet())
	d := &appsv1.Deployment{}
	c.Must(c.API.Get(context.Background(), key("keystone"), d))
	if d.Annotations[podAnnotation(secretName)] != c.set().Hash() || d.Spec.Template.Annotations[podAnnotation(secretName)] != "" {
		t.Fatalf("%v, pods %v", d.Annotations, d.Spec.Template.Annotations)
	}
	applied := applyDeployment("keystone:2")
	c.Must(c.API.Apply(context.Background(), applied, client.FieldOwner("crossplane"), client.ForceOwnership))
	c.Must(c.API.Get(context.Background(), key("keystone"), d))
	if d.Annotations[podAnnotation(secretName)] != c.set().Hash() {
		t.Errorf("%v", d.Annotations)
	}
}
