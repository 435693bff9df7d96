package infrastructure

import (
	stdcmp "cmp"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestQueueMembers checks that changes that RabbitMQ's operator ignores are rejected if the claim sets them, and that the observed values
// are kept otherwise.
func TestQueueMembers(t *testing.T) {
	const three = `{replicas: 3, persistence: {storage: 10Gi, storageClassName: slow}}`
	for name, tc := range map[string]struct {
		reason, spec, platform, observed string
		want                             queueMembers
		field, message                   string
	}{
		"New": {reason: "Size and platform set the defaults.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", want: queueMembers{3, "10Gi", "fast", true, ""}},
		"NewWithIPv6": {
			reason: "Members of a new queue connect in the address family of the platform.", spec: "{}",
			platform: "{domain: a.b, storageClass: fast, ipFamily: IPv6}", want: queueMembers{3, "10Gi", "fast", true, common.IPv6},
		},
		"OtherFamily": {
			reason: "Members of different families cannot connect, so an existing queue keeps its own.", spec: "{}",
			platform: "{domain: a.b, storageClass: fast, ipFamily: IPv6}", observed: three, want: queueMembers{3, "10Gi", "slow", false, ""},
		},
		"KeptFamily": {
			reason: "The platform no longer sets the family.", spec: "{}", want: queueMembers{3, "10Gi", "slow", true, common.IPv6},
			observed: three[:len(three)-1] + `, rabbitmq: {envConfig: "x -proto_dist inet6_tls"}}`,
		},
		"Larger":  {reason: "Members and volumes can grow.", spec: "{size: large}", observed: three, want: queueMembers{3, "50Gi", "slow", false, ""}},
		"Smaller": {reason: "Defaults do not shrink members and volumes.", spec: "{size: development}", observed: three, want: queueMembers{3, "10Gi", "slow", false, ""}},
		"NewClass": {
			reason: "The platform's new class applies to new volumes.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: three,
			want: queueMembers{3, "10Gi", "slow", false, ""},
		},
		"DefaultClass": {
			reason: "The same for volumes with the cluster's default class.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: "{replicas: 3, persistence: {storage: 10Gi}}",
			want: queueMembers{3, "10Gi", "", false, ""},
		},
		"FewerMembers": {
			reason: "The claim sets fewer members.", spec: "{infrastructure: {rabbitmq: {replicas: 1}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.replicas", message: "set it to 3",
		},
		"SmallerVolumes": {
			reason: "The claim sets a smaller volume.", spec: "{infrastructure: {rabbitmq: {storageSize: 9Gi}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.storageSize", message: "set it to 10Gi",
		},
		"AnotherClass": {
			reason: "The claim sets another class.", spec: "{infrastructure: {rabbitmq: {storageClass: fast}}}", observed: three,
			field: "spec.infrastructure.rabbitmq.storageClass", message: "class slow",
		},
		"TLS": {
			reason: "An existing queue keeps TLS between its members.", spec: "{}", want: queueMembers{3, "10Gi", "slow", true, ""},
			observed: `{replicas: 3, persistence: {storage: 10Gi, storageClassName: slow}, rabbitmq: {envConfig: -proto_dist inet_tls}}`,
		},
		"AddedTLS": {
			reason: "Only the claim adds it.", spec: "{infrastructure: {rabbitmq: {memberTLS: Required}}}", observed: three,
			want: queueMembers{3, "10Gi", "slow", true, ""},
		},
		"WithoutTLS": {
			reason: "Only the claim disables it.", spec: "{infrastructure: {rabbitmq: {memberTLS: Disabled}}}", want: queueMembers{3, "10Gi", "", false, ""},
		},
		"Off": {reason: "A disabled queue has no members.", spec: "{size: development, infrastructure: {rabbitmq: {enabled: false}}}", observed: three, want: queueMembers{1, "5Gi", "", false, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(t, tc.spec, open(stdcmp.Or(tc.platform, bare)), observedAs(t, MessagingResource, tc.observed))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.message)
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

// TestStoreMembers checks the same for Valkey's operator, which supports fewer changes.
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
		field, message                   string
	}{
		"New":    {reason: "Size and platform set the defaults.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", want: storeMembers{3, true, "2Gi", "fast"}},
		"NewOne": {reason: "A single member needs no sentinel.", spec: "{size: development}", want: storeMembers{1, false, "1Gi", ""}},
		"Larger": {reason: "Volumes keep their size.", spec: "{size: large}", observed: three, want: storeMembers{3, true, "2Gi", "slow"}},
		"Smaller": {
			reason: "Fewer members could not elect a primary.", spec: "{size: development}", observed: three, want: storeMembers{3, true, "2Gi", "slow"},
		},
		"FromOne": {reason: "Additional members without sentinels would have no failover.", spec: "{}", observed: one, want: storeMembers{1, false, "1Gi", ""}},
		"More": {
			reason: "With sentinels, members can be added.", spec: "{infrastructure: {valkey: {replicas: 5}}}", observed: three, want: storeMembers{5, true, "2Gi", "slow"},
		},
		"NewClass": {
			reason: "The platform's new class applies to new volumes.", spec: "{}", platform: "{domain: a.b, storageClass: fast}", observed: three,
			want: storeMembers{3, true, "2Gi", "slow"},
		},
		"SameSize": {
			reason: "The operator compares the text of the size.", spec: "{infrastructure: {valkey: {storageSize: 2048Mi}}}", observed: three, want: storeMembers{3, true, "2Gi", "slow"},
		},
		"Before": {reason: "A store that was accepted before is valid.", spec: "{infrastructure: {valkey: {replicas: 2}}}", observed: two, want: storeMembers{2, true, "2Gi", ""}},
		"AnotherSize": {
			reason: "The claim sets the size.", spec: "{infrastructure: {valkey: {storageSize: 4Gi}}}", observed: three, field: field + "storageSize", message: "set it to 2Gi",
		},
		"AnotherClass": {
			reason: "The claim sets the class.", spec: "{infrastructure: {valkey: {storageClass: fast}}}", observed: three, field: field + "storageClass", message: "class slow",
		},
		"WithoutSentinel": {
			reason: "The claim sets the field.", spec: "{infrastructure: {valkey: {sentinel: {enabled: false}}}}", observed: three,
			field: field + "sentinel.enabled", message: "set it to true",
		},
		"FewerMembers": {
			reason: "The claim sets the replicas.", spec: "{infrastructure: {valkey: {replicas: 1}}}", observed: three, field: field + "replicas", message: "set it to 3 or more",
		},
		"MoreThanOne": {
			reason: "The claim sets the replicas.", spec: "{infrastructure: {valkey: {replicas: 3}}}", observed: one, field: field + "replicas", message: "set it to 1",
		},
		"Copies": {
			reason: "The claim disables failover explicitly.", spec: "{infrastructure: {valkey: {replicas: 3, sentinel: {enabled: false}}}}", observed: one,
			want: storeMembers{3, false, "1Gi", ""},
		},
		"TwoSentinels": {
			reason: "Admission rejects it, too.", spec: "{infrastructure: {valkey: {replicas: 2}}}", field: field + "replicas", message: "3 replicas",
		},
		"OneSentinel": {
			reason: "The number comes from the size.", spec: "{size: development, infrastructure: {valkey: {sentinel: {enabled: true}}}}",
			field: field + "sentinel.enabled", message: "3 replicas",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(t, tc.spec, open(stdcmp.Or(tc.platform, bare)), observedAs(t, LocksResource, tc.observed))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.message)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.Store, cmp.AllowUnexported(storeMembers{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
