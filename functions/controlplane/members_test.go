package controlplane

import (
	stdcmp "cmp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// observedAs is a resource that is there with a spec.
func observedAs(t *testing.T, name, spec string) map[string]*structpb.Struct {
	t.Helper()
	if spec == "" {
		return nil
	}
	return map[string]*structpb.Struct{name: structOf(t, fields(t, "{apiVersion: a/v1, kind: A, metadata: {name: a}, spec: "+spec+"}"))}
}

// open is a platform of domain a.b that denies nothing.
func open(platform string) string {
	return strings.Replace(platform, "{domain: a.b", "{domain: a.b, limits: ["+limittest.Everything+"]", 1)
}

// TestQueueMembers: what RabbitMQ's operator does not do is kept where the claim does not name it, and refused where it does.
func TestQueueMembers(t *testing.T) {
	const three = `{replicas: 3, persistence: {storage: 10Gi, storageClassName: slow}}`
	for name, tc := range map[string]struct {
		reason, spec, platform, observed string
		want                             queueMembers
		field, words                     string
	}{
		"New":     {reason: "By the size and the platform.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", want: queueMembers{3, "10Gi", "fast"}},
		"Larger":  {reason: "Members and volumes grow.", spec: "{size: large}", observed: three, want: queueMembers{3, "50Gi", "slow"}},
		"Smaller": {reason: "They do not shrink.", spec: "{size: development}", observed: three, want: queueMembers{3, "10Gi", "slow"}},
		"NewClass": {
			reason: "The platform's new class is for new volumes.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: three,
			want: queueMembers{3, "10Gi", "slow"},
		},
		"DefaultClass": {
			reason: "Also of volumes that name none.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: "{replicas: 3, persistence: {storage: 10Gi}}",
			want: queueMembers{3, "10Gi", ""},
		},
		"FewerMembers": {
			reason: "The claim names them.", spec: "{infrastructure: {rabbitmq: {replicas: 1}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.replicas", words: "say 3 here",
		},
		"SmallerVolumes": {
			reason: "The claim names them.", spec: "{infrastructure: {rabbitmq: {storageSize: 9Gi}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.storageSize", words: "say 10Gi here",
		},
		"AnotherClass": {
			reason: "The claim names it.", spec: "{infrastructure: {rabbitmq: {storageClass: fast}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.storageClass", words: "class slow",
		},
		"Off": {reason: "What is off has none.", spec: "{size: development, infrastructure: {rabbitmq: {enabled: false}}}", observed: three, want: queueMembers{1, "5Gi", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, open(stdcmp.Or(tc.platform, bare)), observedAs(t, messagingResource, tc.observed)))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.words)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.queue, cmp.AllowUnexported(queueMembers{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStoreMembers: the same of Valkey's operator, which changes less.
func TestStoreMembers(t *testing.T) {
	const (
		three = `{replicas: 3, sentinel: {enabled: true}, persistence: {enabled: true, size: 2Gi, storageClass: slow}}`
		two   = `{replicas: 2, sentinel: {enabled: true}, persistence: {enabled: true, size: 2Gi}}`
		one   = `{replicas: 1, sentinel: {enabled: false}, persistence: {enabled: true, size: 1Gi}}`
		field = "spec.infrastructure.valkey."
	)
	for name, tc := range map[string]struct {
		reason, spec, platform, observed string
		want                             storeMembers
		field, words                     string
	}{
		"New":    {reason: "By the size and the platform.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", want: storeMembers{3, true, "2Gi", "fast"}},
		"NewOne": {reason: "One needs no sentinel.", spec: "{size: development}", want: storeMembers{1, false, "1Gi", ""}},
		"Larger": {reason: "Volumes stay.", spec: "{size: large}", observed: three, want: storeMembers{3, true, "2Gi", "slow"}},
		"Smaller": {
			reason: "Fewer members could not agree on a primary.", spec: "{size: development}", observed: three, want: storeMembers{3, true, "2Gi", "slow"},
		},
		"FromOne": {reason: "More members without sentinels would be of no use.", spec: "{}", observed: one, want: storeMembers{1, false, "1Gi", ""}},
		"More": {
			reason: "Members with sentinels may come.", spec: "{infrastructure: {valkey: {replicas: 5}}}", observed: three, want: storeMembers{5, true, "2Gi", "slow"},
		},
		"NewClass": {
			reason: "The platform's new class is for new volumes.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: three,
			want: storeMembers{3, true, "2Gi", "slow"},
		},
		"SameSize": {
			reason: "The operator compares letters.", spec: "{infrastructure: {valkey: {storageSize: 2048Mi}}}", observed: three, want: storeMembers{3, true, "2Gi", "slow"},
		},
		"Before": {reason: "What was accepted goes on.", spec: "{infrastructure: {valkey: {replicas: 2}}}", observed: two, want: storeMembers{2, true, "2Gi", ""}},
		"AnotherSize": {
			reason: "The claim names it.", spec: "{infrastructure: {valkey: {storageSize: 4Gi}}}", observed: three, field: field + "storageSize", words: "say 2Gi here",
		},
		"AnotherClass": {
			reason: "The claim names it.", spec: "{infrastructure: {valkey: {storageClass: fast}}}", observed: three, field: field + "storageClass", words: "class slow",
		},
		"WithoutSentinel": {
			reason: "The claim names it.", spec: "{infrastructure: {valkey: {sentinel: {enabled: false}}}}", observed: three,
			field: field + "sentinel.enabled", words: "say true here",
		},
		"FewerMembers": {
			reason: "The claim names them.", spec: "{infrastructure: {valkey: {replicas: 1}}}", observed: three, field: field + "replicas", words: "say 3 or more",
		},
		"MoreThanOne": {
			reason: "The claim names them.", spec: "{infrastructure: {valkey: {replicas: 3}}}", observed: one, field: field + "replicas", words: "say 1 here",
		},
		"Copies": {
			reason: "The claim knows that nobody fails over.", spec: "{infrastructure: {valkey: {replicas: 3, sentinel: {enabled: false}}}}", observed: one,
			want: storeMembers{3, false, "1Gi", ""},
		},
		"TwoSentinels": {
			reason: "Admission refuses it too.", spec: "{infrastructure: {valkey: {replicas: 2}}}", field: field + "replicas", words: "3 replicas",
		},
		"OneSentinel": {
			reason: "Only the size tells how many there are.", spec: "{size: development, infrastructure: {valkey: {sentinel: {enabled: true}}}}",
			field: field + "sentinel.enabled", words: "3 replicas",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, open(stdcmp.Or(tc.platform, bare)), observedAs(t, locksResource, tc.observed)))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.words)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.store, cmp.AllowUnexported(storeMembers{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
