//go:build node && linux

package node_test

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/diagnosis"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// TestDoctorNamesFaultsOfNodes checks that cobaltcore doctor names faults that only a kubelet or a scheduler reports. Each fault is a
// second container in the pods of Keystone: Crossplane applies only its own containers, and leaves this one to its owner.
func TestDoctorNamesFaultsOfNodes(t *testing.T) {
	t.Parallel()
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	claim := order(ctx, t, "testdata/doctor.yaml")
	namespace := instance(ctx, t, claim)
	r, err := diagnosis.Connect(ctx, cluster.Client, cluster.Kubeconfig, filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	volume := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"namespace": namespace, "name": "doctor"},
		"spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "absent",
			"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		},
	}}
	if err := cluster.Client.Create(ctx, volume); err != nil {
		t.Fatal(err)
	}
	python := func(code string) []any { return []any{"python3", "-c", code} }
	const sleeps = "import time; time.sleep(100000)"
	for name, tc := range map[string]struct {
		reason    string
		container map[string]any
		want      diagnosis.Cause
	}{
		"image": {
			"No registry has the image.", map[string]any{"image": "cobaltcore.test/absent:1"},
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "ImagePullBackOff", Message: "cobaltcore.test/absent:1", Next: "kubectl describe pod keystone-"},
		},
		"crash": {
			"The termination message has the error.", map[string]any{
				"command": python("open('/dev/termination-log', 'w').write('no configuration'); raise SystemExit(3)"),
			},
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "CrashLoopBackOff", Message: "no configuration", Next: "-c doctor -n " + namespace + " --previous"},
		},
		"memory": {
			"The kernel ends the process.", map[string]any{
				"command": python("a = bytearray(10**9)"), "resources": map[string]any{"limits": map[string]any{"memory": "64Mi"}},
			},
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "OOMKilled", Message: "memory limit 64Mi", Next: "--previous"},
		},
		"probe": {
			"The kubelet reports the probe in an Event.", map[string]any{
				"command": python(sleeps), "readinessProbe": map[string]any{"exec": map[string]any{"command": []any{"false"}}},
			},
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "ProbeFailing", Message: "Readiness probe failed", Next: "kubectl logs keystone-"},
		},
		"unschedulable": {
			"The scheduler finds no node.", map[string]any{
				"command": python(sleeps), "resources": map[string]any{"requests": map[string]any{"cpu": "1000"}},
			},
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "Unschedulable", Message: "Insufficient cpu", Next: "kubectl get nodes"},
		},
		"volume": {
			"The storage class does not exist.", map[string]any{
				"command": python(sleeps), "volumeMounts": []any{map[string]any{"name": "doctor", "mountPath": "/mnt"}},
			},
			diagnosis.Cause{Object: "PersistentVolumeClaim/doctor", Reason: "VolumePending", Message: `"absent" not found`, Next: "kubectl get storageclasses"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inject(ctx, t, namespace, tc.container)
			text := ""
			if err := within(ctx, 5*time.Minute, func() (err error) {
				text, err = diagnosis.Run(ctx, r, claim, tc.want)
				return err
			}); err != nil {
				t.Errorf("%s\n%v\n%s", tc.reason, err, text)
			}
			t.Log(text)
		})
	}
	inject(ctx, t, namespace, nil)
	if err := cluster.WaitCondition(ctx, claim.GroupVersionKind(), client.ObjectKeyFromObject(claim), "Ready"); err != nil {
		t.Fatal(err)
	}
	testDelete(ctx, t, claim, namespace)
}

// inject adds a container with fields to the pods of Keystone, in place of the last one; nil adds none.
func inject(ctx context.Context, t *testing.T, namespace string, container map[string]any) {
	t.Helper()
	keystone := &appsv1.Deployment{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "keystone"}, keystone); err != nil {
		t.Fatal(err)
	}
	own := keystone.Spec.Template.Spec.Containers[0]
	pod := map[string]any{}
	if container != nil {
		security, err := runtime.DefaultUnstructuredConverter.ToUnstructured(own.SecurityContext)
		if err != nil {
			t.Fatal(err)
		}
		c := map[string]any{"name": "doctor", "image": own.Image, "securityContext": security}
		maps.Copy(c, container)
		pod["containers"] = []any{c}
		if _, mounts := container["volumeMounts"]; mounts {
			pod["volumes"] = []any{map[string]any{"name": "doctor", "persistentVolumeClaim": map[string]any{"claimName": "doctor"}}}
		}
	}
	manifest := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": "keystone"},
		"spec": map[string]any{"template": map[string]any{"spec": pod}},
	}}
	if container == nil {
		delete(manifest.Object, "spec")
	}
	if err := cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner("doctor")); err != nil {
		t.Fatal(err)
	}
}
