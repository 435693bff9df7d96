package observe_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// TestAppliedAsServed tests with Kubernetes' own field manager that an applied object is read back from its managed fields, regardless of
// later changes by others.
func TestAppliedAsServed(t *testing.T) {
	api := workload.Workload{Name: "nova", Namespace: "cloud", App: "nova", Instance: "nova", Component: "api", Replicas: 2}
	served := corev1.Container{
		Name: "api", Image: "nova:1", Command: []string{"uwsgi", "--ini"},
		Env:          append(workload.Self(), workload.SecretEnv("PASSWORD", "s", "password"), corev1.EnvVar{Name: "URL", Value: api.SelfURL(1)}),
		Ports:        []corev1.ContainerPort{{Name: "api", ContainerPort: 8774}, {Name: "metrics", ContainerPort: 9100}},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("config", "/etc/nova"), workload.MountFile("config", "/etc/uwsgi.ini", "uwsgi.ini")},
	}
	workload.Probes(&served, "api", "/healthcheck")
	workload.Drain(&served)
	pod := workload.Pod{
		UserID: 42, Containers: []corev1.Container{served}, InitContainers: []corev1.Container{{Name: "init", Image: "nova:1"}},
		Volumes:      []corev1.Volume{workload.ConfigVolume("config", "nova-1"), workload.SecretVolume("tls", "nova-tls", "tls.crt", "tls.key")},
		GraceSeconds: workload.Grace(time.Minute), Annotations: map[string]string{"rolls": "1"},
	}
	agent := api.DaemonSet(pod, "OnDelete")
	if err := workload.Allow(&agent.Spec.Template, workload.Privilege{
		Container: "api", Reason: "it makes devices", RunAsUser: new(int64(0)), Capabilities: []corev1.Capability{"NET_ADMIN"}, HostNetwork: true,
		HostPaths: []workload.HostPath{{Name: "run", Path: "/run/openvswitch"}},
	}); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]runtime.Object{
		"Deployment":    api.Deployment(pod),
		"StatefulSet":   api.StatefulSet(pod, workload.Claim{Name: "data", Size: resource.MustParse("10Gi"), Class: "fast"}),
		"DaemonSet":     agent,
		"CronJob":       api.CronJob(pod, "* * * * *", false),
		"Service":       api.Service(workload.Port("api", 8774)),
		"NetworkPolicy": api.NetworkPolicy([]workload.Flow{{Ports: []int32{1}, UDP: []int32{2}, Blocks: []string{"10.0.0.0/8"}}}, nil),
		"ConfigMap":     api.ConfigMap("nova-1", map[string]string{"nova.conf": "a"}),
	} {
		t.Run(name, func(t *testing.T) {
			body, err := encode.Object(o)
			if err != nil {
				t.Fatal(err)
			}
			previous := &unstructured.Unstructured{Object: asJSON(t, body.Map())}
			server := managedfieldstest.NewTestFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), previous.GroupVersionKind())
			if err := server.Apply(previous.DeepCopy(), "apiextensions.crossplane.io/composed/0123", true); err != nil {
				t.Fatal(err)
			}
			if err := server.Update(written(t, server.Live()), "somebody"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(body.Map(), desired(t, content(t, server.Live()))); diff != "" {
				t.Errorf("-applied, +read:\n%s", diff)
			}
		})
	}
}

// written is an object into which its server and others have written.
func written(t *testing.T, live runtime.Object) runtime.Object {
	t.Helper()
	o := &unstructured.Unstructured{Object: content(t, live)}
	o.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": "3"})
	o.SetUID("u")
	template := []string{"spec", "template"}
	if o.GetKind() == "CronJob" {
		template = []string{"spec", "jobTemplate", "spec", "template"}
	}
	if _, ok, _ := unstructured.NestedMap(o.Object, template...); ok {
		at := func(path ...string) []string { return append(append([]string{}, template...), path...) }
		set(t, o, "now", at("metadata", "annotations", "kubectl.kubernetes.io/restartedAt")...)
		set(t, o, "default-scheduler", at("spec", "schedulerName")...)
		containers, _, _ := unstructured.NestedSlice(o.Object, at("spec", "containers")...)
		main := containers[0].(map[string]any)
		main["imagePullPolicy"] = "Always"
		for _, port := range main["ports"].([]any) {
			port.(map[string]any)["protocol"] = "TCP"
		}
		set(t, o, append([]any{map[string]any{"name": "sidecar", "image": "mesh"}}, containers...), at("spec", "containers")...)
	}
	return o
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// content is an object in its JSON form.
func content(t *testing.T, o runtime.Object) map[string]any {
	t.Helper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	return asJSON(t, out)
}

// asJSON is a copy with whole numbers as Kubernetes' decoder has them.
func asJSON(t *testing.T, in map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o.Object
}
