package infrastructure

import (
	"cmp"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
)

// queueMembers are the members of RabbitMQ.
type queueMembers struct {
	replicas       int32
	storage, class string
	// tls is used between members.
	tls bool
	// family is the address family of the connections between members.
	family common.IPFamily
}

// memberTLS returns whether members use TLS, by the claim's mode and by the mode of an existing queue. Members with and without TLS cannot
// connect, so only the claim changes the mode of an existing queue.
func memberTLS(requested controlplanev1.MemberTLS, exists, previous bool) bool {
	if requested == "" && exists {
		return previous
	}
	return requested != controlplanev1.MemberTLSDisabled
}

// memberFamily returns the address family of the connections between members. Members of different families cannot connect, so an existing
// queue keeps its own.
func memberFamily(platform common.IPFamily, exists bool, previous common.IPFamily) common.IPFamily {
	if exists {
		return previous
	}
	return platform
}

// deriveQueueMembers derives the members of RabbitMQ.
func deriveQueueMembers(c *claim.Claim) (queueMembers, error) {
	r := c.Spec.Infrastructure.RabbitMQ
	desired := queueMembers{
		replicas: ptr.Deref(r.Replicas, c.Size.Messaging),
		storage:  string(ptr.Deref(r.StorageSize, StorageSize(c.Size.MessagingStorage))),
		class:    string(cmp.Or(r.StorageClass, c.Platform.StorageClass)),
	}
	observedState, _ := c.Observed.Get(MessagingResource)
	environment := observedState.String("spec", "rabbitmq", "envConfig")
	desired.tls = memberTLS(r.MemberTLS, observedState.Exists(), rabbitmq.HasMemberTLS(environment))
	desired.family = memberFamily(c.OtherFamily(), observedState.Exists(), rabbitmq.MemberFamily(environment))
	if !c.RunsQueue() || !observedState.Exists() {
		return desired, nil
	}
	is, _ := observedState.Int("spec", "replicas")
	return desired.keep("spec.infrastructure.rabbitmq", r.Replicas, r.Storage, queueMembers{
		replicas: int32(is), //nolint:gosec // at most nine
		storage:  observedState.String("spec", "persistence", "storage"),
		class:    observedState.Keep(desired.class, "spec", "persistence", "storageClassName"),
	})
}

// keep returns the members with the values that the operator does not change: it neither removes members nor shrinks volumes nor moves them
// to another class (https://github.com/rabbitmq/cluster-operator, internal/controller/reconcile_scale_down.go,
// internal/scaling/scaling.go).
func (q queueMembers) keep(field string, replicas *int32, requested controlplanev1.Storage, previous queueMembers) (queueMembers, error) {
	if q.replicas < previous.replicas {
		if replicas != nil {
			return q, invalid.Field(field+".replicas", "the message queue has %d members and cannot be scaled down; set it to %d",
				previous.replicas, previous.replicas)
		}
		q.replicas = previous.replicas
	}
	if quantity.Bytes(q.storage) < quantity.Bytes(previous.storage) {
		if requested.StorageSize != nil {
			return q, invalid.Field(field+".storageSize", "the queue volumes have %s and cannot be reduced; set it to %s",
				previous.storage, previous.storage)
		}
		q.storage = previous.storage
	}
	if requested.StorageClass != "" && string(requested.StorageClass) != previous.class {
		return q, CheckStorageClassUnchanged(field, previous.class)
	}
	q.class = previous.class
	return q, nil
}

// storeMembers are the members of Valkey.
type storeMembers struct {
	replicas       int32
	Sentinel       bool
	storage, class string
}

// quorum is the number of sentinels that have to agree that the primary is lost. A majority of all sentinels has to be available to elect
// another primary (https://valkey.io/topics/sentinel/): with two, the loss of either prevents both.
const quorum = 3

// deriveStoreMembers derives the members of Valkey. Its operator changes neither volumes nor whether there are sentinels
// (https://github.com/SAP/valkey-operator/blob/v0.1.10/api/v1alpha1/webhook.go).
func deriveStoreMembers(c *claim.Claim) (storeMembers, error) {
	const field = "spec.infrastructure.valkey"
	v := c.Spec.Infrastructure.Valkey
	desired := storeMembers{
		replicas: ptr.Deref(v.Replicas, c.Size.Locks),
		storage:  string(ptr.Deref(v.StorageSize, StorageSize(c.Size.LocksStorage))),
		class:    string(cmp.Or(v.StorageClass, c.Platform.StorageClass)),
	}
	desired.Sentinel = ptr.Deref(v.Sentinel.Enabled, desired.replicas > 1)
	observedState, _ := c.Observed.Get(LocksResource)
	switch {
	case !c.Locks():
		return desired, nil
	case !observedState.Exists() && c.OtherDomain() != "":
		// valkey-operator writes the domain into the addresses that it publishes (SAP/valkey-operator, pkg/operator/binding.go).
		return desired, invalid.Field(field+".enabled", "valkey-operator supports only clusters whose DNS domain is %s, and the platform's is "+
			"%s; set it to false", claim.DefaultClusterDomain, c.OtherDomain())
	case !observedState.Exists():
		return desired, desired.checkQuorum(v, false)
	}
	is := observedState.Keep("", "spec", "persistence", "size")
	if v.StorageSize != nil && quantity.Bytes(desired.storage) != quantity.Bytes(is) {
		return desired, invalid.Field(field+".storageSize",
			"the store volumes have %s and cannot be resized; set it to %s, or remove it", is, is)
	}
	desired.storage = observedState.Keep(desired.storage, "spec", "persistence", "size")
	class := observedState.Keep(desired.class, "spec", "persistence", "storageClass")
	if v.StorageClass != "" && string(v.StorageClass) != class {
		return desired, CheckStorageClassUnchanged(field, class)
	}
	desired.class = class
	return desired.preserveSentinel(v, observedState)
}

// preserveSentinel keeps the observed sentinel mode. The number of members follows the size only where that is safe: without sentinels
// there is no failover to additional members, and fewer than a quorum of sentinels cannot fail over.
func (s storeMembers) preserveSentinel(v controlplanev1.Valkey, observedState *observe.Object) (storeMembers, error) {
	const field = "spec.infrastructure.valkey"
	is, _ := observedState.Bool("spec", "sentinel", "enabled")
	replicas, _ := observedState.Int("spec", "replicas")
	switch {
	case is == s.Sentinel:
	case v.Sentinel.Enabled != nil:
		return s, invalid.Field(field+".sentinel.enabled", "is immutable: the store runs %s sentinels; set it to %t",
			map[bool]string{true: "with", false: "without"}[is], is)
	case v.Replicas != nil && is:
		return s, invalid.Field(field+".replicas", "the store runs with sentinels, which its operator does not change and which require "+
			"%d members; set it to %d or more", quorum, quorum)
	case v.Replicas != nil:
		return s, invalid.Field(field+".replicas", "the store runs without sentinels, which its operator does not change: there is no failover "+
			"to more members; set it to 1, or set sentinel.enabled to false")
	default:
		s.Sentinel, s.replicas = is, int32(replicas) //nolint:gosec // at most nine
	}
	return s, s.checkQuorum(v, is && replicas < quorum)
}

// checkQuorum returns an error for sentinels that cannot fail over. An existing store from before this check is accepted.
func (s storeMembers) checkQuorum(v controlplanev1.Valkey, before bool) error {
	if !s.Sentinel || s.replicas >= quorum || before {
		return nil
	}
	field := "spec.infrastructure.valkey.replicas"
	if v.Replicas == nil {
		field = "spec.infrastructure.valkey.sentinel.enabled"
	}
	return invalid.Field(field, "%d sentinels cannot fail over: a majority of three or more is required; set 3 replicas or more, "+
		"or 1 without sentinels", s.replicas)
}

// CheckStorageClassUnchanged returns the error for a storage class other than the one of existing volumes.
func CheckStorageClassUnchanged(field, class string) error {
	is := "the cluster's default class"
	if class != "" {
		is = "class " + class
	}
	return invalid.Field(field+".storageClass", "is immutable: the volumes use %s; remove it", is)
}
