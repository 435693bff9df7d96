package infrastructure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/controlplanetest"
)

// Short names of the test kit.
const (
	bare     = controlplanetest.Platform
	instance = controlplanetest.Instance
)

var (
	observedAs        = controlplanetest.Observed
	open              = controlplanetest.Unlimited
	requireFieldError = controlplanetest.RequireFieldError
	at                = controlplanetest.At
	toMap             = controlplanetest.Map
)

// derive derives the infrastructure of a claim whose services do not use it.
func derive(t *testing.T, spec, platform string, observed map[string]*structpb.Struct) (*Infrastructure, error) {
	t.Helper()
	in := controlplanetest.Input(t, spec, platform, observed)
	c, err := claim.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	noSecrets := func(*controlplanev1.ControlPlaneClusterSpec) []claim.SecretReference { return nil }
	return Derive(c, Demand{Secrets: noSecrets}, in.Required)
}

func derived(t *testing.T, spec, platform string) *Infrastructure {
	t.Helper()
	inf, err := derive(t, spec, platform, nil)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// TestDiskFreeLimitEqualsQueueMemory checks that the disk limit of a queue is, in each size, the memory limit of its members.
func TestDiskFreeLimitEqualsQueueMemory(t *testing.T) {
	for _, name := range []string{
		controlplanev1.SizeDevelopment, controlplanev1.SizeSmall, controlplanev1.SizeMedium, controlplanev1.SizeLarge,
	} {
		m := derived(t, "{size: "+name+"}", bare)
		want := fmt.Sprintf("disk_free_limit.absolute = %d\n", m.Size.MessagingResources.Limits.Memory.Value())
		if got, _ := at(m.Cluster("").Object().Object, "spec", "rabbitmq", "additionalConfig").(string); !strings.Contains(got, "\n"+want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestCacheMemory checks that a server has memory in addition to that for items, and that the cache of one service has half of it.
func TestCacheMemory(t *testing.T) {
	for memory, want := range map[string][2]string{
		"32Mi": {"100Mi", "100Mi"}, "64Mi": {"136Mi", "100Mi"}, "1Gi": {"1216Mi", "640Mi"}, "4Gi": {"4672Mi", "2368Mi"},
	} {
		inf := derived(t, "{infrastructure: {memcached: {memory: "+memory+", cpu: 200m}}}", bare)
		for i, cache := range []Cache{inf.SharedCache(), inf.ServiceCache("b")} {
			stage, err := inf.ComposeCache(cache, []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			c := stage[0].Object.(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Resources
			if c.Limits.Memory().String() != want[i] || c.Requests.Memory().String() != want[i] || c.Requests.Cpu().String() != "200m" {
				t.Errorf("%s: got %v, want %s", memory, c, want[i])
			}
		}
	}
}

// TestQueue checks that members prefer different nodes, that one is disrupted at a time, and that queues are replicated.
func TestQueue(t *testing.T) {
	stages, err := derived(t, "{infrastructure: {rabbitmq: {nodeSelector: {disk: fast}}}}", bare).ComposeMessaging()
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
	queue := all[MessagingResource]
	if c, _ := at(queue, "spec", "rabbitmq", "additionalConfig").(string); !strings.Contains(c, "default_queue_type = quorum\n") {
		t.Errorf("configuration %q", c)
	}
	antiAffinity := at(queue, "spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution").([]any)
	if len(antiAffinity) != 2 || at(queue, "spec", "affinity", "nodeAffinity") == nil {
		t.Errorf("affinity %v", at(queue, "spec", "affinity"))
	}
	if diff := cmp.Diff(map[string]any{"app.kubernetes.io/name": "rabbitmq"},
		at(all["messaging-disruption-budget"], "spec", "selector", "matchLabels")); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
}
