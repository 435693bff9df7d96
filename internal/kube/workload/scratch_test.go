package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestScratch tests that the scratch directory of every pod has a size limit, and that a pod requests a tenth of its directories on the
// node's disk, unless it has a request or a limit.
func TestScratch(t *testing.T) {
	amount := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(text)}
	}
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	for name, tc := range map[string]struct {
		reason    string
		scratch   *resource.Quantity
		volumes   []corev1.Volume
		resources corev1.ResourceRequirements
		size      string
		requests  corev1.ResourceList
	}{
		"Default": {reason: "Sockets and locks.", size: "1Gi", requests: amount("102Mi")},
		"Larger": {
			reason: "A program that writes more.", scratch: new(resource.MustParse("20Gi")), size: "20Gi", requests: amount("2Gi"),
		},
		"Volumes": {
			reason: "All directories on the disk count, and none in memory or on a volume.",
			volumes: []corev1.Volume{
				Scratch("images", resource.MustParse("50Gi")), MemoryScratch("keys", resource.MustParse("100Gi")), ConfigVolume("config", "c"),
			},
			size: "1Gi", requests: amount("5222Mi"),
		},
		"Others": {
			reason: "Requests of memory stay.", resources: corev1.ResourceRequirements{Requests: memory}, size: "1Gi",
			requests: corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceEphemeralStorage: resource.MustParse("102Mi"),
			},
		},
		"Request": {
			reason: "The tenant's.", resources: corev1.ResourceRequirements{Requests: amount("1Mi")}, size: "1Gi", requests: amount("1Mi"),
		},
		"Limit": {
			reason:    "A request above the limit is refused; without one the limit is the request.",
			resources: corev1.ResourceRequirements{Limits: amount("1Mi")}, size: "1Gi",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := Workload{}.Template(Pod{
				Containers: []corev1.Container{{Name: "main", Resources: tc.resources}}, Volumes: tc.volumes, Scratch: tc.scratch,
			})
			if got := pod.Spec.Volumes[0]; got.Name != "tmp" || got.EmptyDir.SizeLimit.String() != tc.size {
				t.Errorf("%s the directory is %s, want %s", tc.reason, got.EmptyDir.SizeLimit, tc.size)
			}
			if diff := cmp.Diff(tc.requests, pod.Spec.Containers[0].Resources.Requests); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if len(memory) != 1 {
		t.Errorf("the caller's requests were changed: %v", memory)
	}
}
