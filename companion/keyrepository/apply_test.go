package keyrepository

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
)

// applyDeployment returns the configuration that Crossplane applies.
func applyDeployment(image string) *applyapps.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "keystone"}
	return applyapps.Deployment("keystone", namespace).WithSpec(applyapps.DeploymentSpec().
		WithReplicas(2).
		WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycore.PodTemplateSpec().WithLabels(labels).WithAnnotations(map[string]string{"theirs": image}).
			WithSpec(applycore.PodSpec().WithContainers(applycore.Container().WithName("keystone").WithImage(image)))))
}

// TestRollSurvivesApply checks that server-side apply of the Deployment by Crossplane does not remove the annotation, which
// it does not own.
func TestRollSurvivesApply(t *testing.T) {
	api := fake.NewClientBuilder().WithScheme(scheme).Build()
	ctx := context.Background()
	apply := func(image string) {
		if err := api.Apply(ctx, applyDeployment(image), client.FieldOwner("crossplane"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	apply("keystone:1")
	observed := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := api.Get(ctx, key("keystone"), d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	c, err := consumer.Observe(ctx, api, "Deployment", key("keystone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RestartWithAnnotation(ctx, api, podAnnotation(secretName), "hash"); err != nil {
		t.Fatal(err)
	}
	apply("keystone:1")
	apply("keystone:2")
	got := observed().Spec.Template
	if got.Annotations[podAnnotation(secretName)] != "hash" || got.Annotations["theirs"] != "keystone:2" ||
		got.Spec.Containers[0].Image != "keystone:2" {
		t.Errorf("%+v", got)
	}
	if metav1.HasAnnotation(observed().ObjectMeta, podAnnotation(secretName)) {
		t.Error("annotated the Deployment, not its pods")
	}
}
