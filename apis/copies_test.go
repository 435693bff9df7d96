package apis_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// TestPoolCopyCronJobIsValid checks that the CronJob which copies pools of Ceph has no field that Kubernetes does not have, runs an
// existing script, and reads the key that Rook writes.
func TestPoolCopyCronJobIsValid(t *testing.T) {
	data, err := examples.Files.ReadFile("copies/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.CronJob
	if err := yaml.UnmarshalStrict(data, &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	c := pod.Containers[0]
	if _, err := examples.Copies.ReadFile("copies/" + strings.TrimPrefix(c.Command[0], "/scripts/")); err != nil {
		t.Errorf("it runs %s: %v", c.Command[0], err)
	}
	if args := c.Env[0].Value; !strings.HasSuffix(args, "--keyfile=/key/"+rook.UserKey) {
		t.Errorf("it reads another key: %s", args)
	}
	const user = "cloud-cinder"
	if pod.Volumes[1].Secret.SecretName != rook.SecretName(user) || !strings.Contains(c.Env[0].Value, "--id="+user+" ") {
		t.Errorf("Secret %s does not belong to user %s", pod.Volumes[1].Secret.SecretName, user)
	}
}
