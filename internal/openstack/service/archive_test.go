package service

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestArchival checks that the CronJob has the schedule and the state of the spec, and runs the command with its variables.
func TestArchival(t *testing.T) {
	s, err := derived(t, "")
	if err != nil {
		t.Fatal(err)
	}
	s.extension.Jobs.Env = []corev1.EnvVar{{Name: "ALL", Value: "1"}}
	for _, suspended := range []bool{false, true} {
		of := func(*Service) (Archive, error) {
			return Archive{
				Archive: common.Archive{Schedule: "1 2 * * *", Suspend: suspended},
				Command: []string{"manage", "purge"}, Env: []corev1.EnvVar{{Name: "OWN", Value: "2"}},
			}, nil
		}
		stages, err := Archival(of).Build(s)
		if err != nil {
			t.Fatal(err)
		}
		got := stages[0][0].Object.(*batchv1.CronJob)
		c := got.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
		if got.Spec.Schedule != "1 2 * * *" || *got.Spec.Suspend != suspended || got.Name != s.Sub("archive") {
			t.Errorf("%s: schedule %q, suspended %t, want %q and %t", got.Name, got.Spec.Schedule, *got.Spec.Suspend, "1 2 * * *", suspended)
		}
		if diff := cmp.Diff([]string{"manage", "purge"}, c.Command); diff != "" {
			t.Errorf("command: -want, +got:\n%s", diff)
		}
		last := c.Env[len(c.Env)-2:]
		if diff := cmp.Diff([]corev1.EnvVar{{Name: "ALL", Value: "1"}, {Name: "OWN", Value: "2"}}, last); diff != "" {
			t.Errorf("variables: -want, +got:\n%s", diff)
		}
	}
	wrong := errors.New("wrong")
	if _, err := Archival(func(*Service) (Archive, error) { return Archive{}, wrong }).Build(s); !errors.Is(err, wrong) {
		t.Errorf("the error of the service is lost: %v", err)
	}
}
