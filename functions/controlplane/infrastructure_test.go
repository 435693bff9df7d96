package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestDiskLimit: the operator's own number would hold a queue on a small volume back from its first message on, and a share of the memory
// does not count beside it.
func TestDiskLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		res     *common.Resources
		storage string
		want    string
	}{
		"Memory": {"What is in memory has to find room on the disk.", resources("1", "1Gi", "2Gi"), "10Gi", "disk_free_limit.absolute = 2147483648\n"},
		"Volume": {"A limit beyond the volume holds everything back.", resources("1", "4Gi", "4Gi"), "1Gi", "disk_free_limit.absolute = 357913941\n"},
		"NoLimit": {
			"Nobody knows how much that is: the operator's own holds.", &common.Resources{}, "10Gi", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diskLimit(tc.res, tc.storage); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	for name, s := range sizes {
		want := fmt.Sprintf("disk_free_limit.absolute = %d\n", s.messagingResources.Limits.Memory.Value())
		if got := diskLimit(s.messagingResources, s.messagingStorage); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestGuaranteed: a member is given all the memory that it reckons with.
func TestGuaranteed(t *testing.T) {
	given := resources("1", "1Gi", "2Gi")
	got := guaranteed(given)
	if got.Requests.Memory.String() != "2Gi" || got.Requests.CPU.String() != "1" || given.Requests.Memory.String() != "1Gi" {
		t.Errorf("got %v of %v", got.Requests, given.Requests)
	}
	if got := guaranteed(&common.Resources{Limits: given.Limits}); got.Requests.Memory.String() != "2Gi" {
		t.Errorf("without requests: %v", got.Requests)
	}
	if none := (&common.Resources{}); guaranteed(none) != none {
		t.Error("without a limit there is nothing to set aside")
	}
}

// TestCacheMemory: a server has room for what it needs besides its items.
func TestCacheMemory(t *testing.T) {
	for memory, want := range map[string]string{"64Mi": "136Mi", "1Gi": "1216Mi", "4Gi": "4672Mi"} {
		stages, err := cache(derived(t, "{infrastructure: {memcached: {memory: "+memory+", cpu: 200m}}}", bare))
		if err != nil {
			t.Fatal(err)
		}
		c := stages[0][0].Object.(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Resources
		if c.Limits.Memory().String() != want || c.Requests.Memory().String() != want || c.Requests.Cpu().String() != "200m" {
			t.Errorf("%s: got %v, want %s", memory, c, want)
		}
	}
}

// TestQueue: members stay apart where they can, one goes at a time, and queues outlive a member.
func TestQueue(t *testing.T) {
	stages, err := messaging(derived(t, "{infrastructure: {rabbitmq: {nodeSelector: {disk: fast}}}}", bare))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, r := range slices.Concat(stages...) {
		o, err := toMap(r.Object)
		if err != nil {
			t.Fatal(err)
		}
		all[r.Name] = o
	}
	queue := all[messagingResource]
	if c, _ := at(queue, "spec", "rabbitmq", "additionalConfig").(string); !strings.Contains(c, "default_queue_type = quorum\n") {
		t.Errorf("configuration %q", c)
	}
	apart := at(queue, "spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution").([]any)
	if len(apart) != 2 || at(queue, "spec", "affinity", "nodeAffinity") == nil {
		t.Errorf("affinity %v", at(queue, "spec", "affinity"))
	}
	if diff := cmp.Diff(map[string]any{"app.kubernetes.io/name": "rabbitmq"},
		at(all["messaging-disruption-budget"], "spec", "selector", "matchLabels")); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
}
