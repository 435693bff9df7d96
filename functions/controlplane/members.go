package controlplane

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// Operators reject or ignore some changes of their objects. Values that the claim does not set itself keep the observed value then: neither
// another size nor another platform default may block an existing claim. Values that the claim sets are rejected.

// queueMembers are the members of RabbitMQ.
type queueMembers struct {
	replicas       int32
	storage, class string
}

// queueMembers derives the members of RabbitMQ.
func (m *model) queueMembers() error {
	r := m.spec.Infrastructure.RabbitMQ
	m.queue = queueMembers{
		replicas: ptr.Deref(r.Replicas, m.size.messaging),
		storage:  string(ptr.Deref(r.StorageSize, storageSize(m.size.messagingStorage))),
		class:    string(cmp.Or(r.StorageClass, m.platform.StorageClass)),
	}
	observedState, _ := m.observed.Get(messagingResource)
	if !m.runsQueue() || !observedState.Exists() {
		return nil
	}
	is, _ := observedState.Int("spec", "replicas")
	previous := queueMembers{
		replicas: int32(is), //nolint:gosec // at most nine
		storage:  observedState.String("spec", "persistence", "storage"),
		class:    observedState.Keep(m.queue.class, "spec", "persistence", "storageClassName"),
	}
	var err error
	m.queue, err = m.queue.keep("spec.infrastructure.rabbitmq", r.Replicas, r.Storage, previous)
	return err
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
	if isSmaller(q.storage, previous.storage) {
		if requested.StorageSize != nil {
			return q, invalid.Field(field+".storageSize", "the queue volumes have %s and cannot be reduced; set it to %s",
				previous.storage, previous.storage)
		}
		q.storage = previous.storage
	}
	if requested.StorageClass != "" && string(requested.StorageClass) != previous.class {
		return q, checkStorageClassUnchanged(field, previous.class)
	}
	q.class = previous.class
	return q, nil
}

// storeMembers are the members of Valkey.
type storeMembers struct {
	replicas       int32
	sentinel       bool
	storage, class string
}

// quorum is the number of sentinels that have to agree that the primary is lost. A majority of all sentinels has to be available to elect
// another primary (https://valkey.io/topics/sentinel/): with two, the loss of either prevents both.
const quorum = 3

// storeMembers derives the members of Valkey. Its operator changes neither volumes nor whether there are sentinels
// (https://github.com/SAP/valkey-operator/blob/v0.1.10/api/v1alpha1/webhook.go).
func (m *model) storeMembers() error {
	const field = "spec.infrastructure.valkey"
	v := m.spec.Infrastructure.Valkey
	m.store = storeMembers{
		replicas: ptr.Deref(v.Replicas, m.size.locks),
		storage:  string(ptr.Deref(v.StorageSize, storageSize(m.size.locksStorage))),
		class:    string(cmp.Or(v.StorageClass, m.platform.StorageClass)),
	}
	m.store.sentinel = ptr.Deref(v.Sentinel.Enabled, m.store.replicas > 1)
	observedState, _ := m.observed.Get(locksResource)
	switch {
	case !m.locks():
		return nil
	case !observedState.Exists() && m.otherDomain() != "":
		// valkey-operator writes the domain into the addresses that it publishes (SAP/valkey-operator, pkg/operator/binding.go).
		return invalid.Field(field+".enabled", "valkey-operator supports only clusters whose DNS domain is %s, and the platform's is %s; "+
			"set it to false", defaultDomain, m.otherDomain())
	case !observedState.Exists():
		return m.checkQuorum(v, false)
	}
	if is := observedState.Keep("", "spec", "persistence", "size"); v.StorageSize != nil && !same(m.store.storage, is) {
		return invalid.Field(field+".storageSize",
			"the store volumes have %s and cannot be resized; set it to %s, or remove it", is, is)
	}
	m.store.storage = observedState.Keep(m.store.storage, "spec", "persistence", "size")
	class := observedState.Keep(m.store.class, "spec", "persistence", "storageClass")
	if v.StorageClass != "" && string(v.StorageClass) != class {
		return checkStorageClassUnchanged(field, class)
	}
	m.store.class = class
	return m.preserveSentinel(v)
}

// preserveSentinel keeps the observed sentinel mode. The number of members follows the size only where that is safe: without sentinels
// there is no failover to additional members, and fewer than a quorum of sentinels cannot fail over.
func (m *model) preserveSentinel(v controlplanev1.Valkey) error {
	const field = "spec.infrastructure.valkey"
	observedState, _ := m.observed.Get(locksResource)
	is, _ := observedState.Bool("spec", "sentinel", "enabled")
	replicas, _ := observedState.Int("spec", "replicas")
	switch {
	case is == m.store.sentinel:
	case v.Sentinel.Enabled != nil:
		return invalid.Field(field+".sentinel.enabled", "is immutable: the store runs %s sentinels; set it to %t",
			map[bool]string{true: "with", false: "without"}[is], is)
	case v.Replicas != nil && is:
		return invalid.Field(field+".replicas", "the store runs with sentinels, which its operator does not change and which require "+
			"%d members; set it to %d or more", quorum, quorum)
	case v.Replicas != nil:
		return invalid.Field(field+".replicas", "the store runs without sentinels, which its operator does not change: there is no failover to "+
			"more members; set it to 1, or set sentinel.enabled to false")
	default:
		m.store.sentinel, m.store.replicas = is, int32(replicas) //nolint:gosec // at most nine
	}
	return m.checkQuorum(v, is && replicas < quorum)
}

// checkQuorum returns an error for sentinels that cannot fail over. An existing store from before this check is accepted.
func (m *model) checkQuorum(v controlplanev1.Valkey, before bool) error {
	if !m.store.sentinel || m.store.replicas >= quorum || before {
		return nil
	}
	field := "spec.infrastructure.valkey.replicas"
	if v.Replicas == nil {
		field = "spec.infrastructure.valkey.sentinel.enabled"
	}
	return invalid.Field(field, "%d sentinels cannot fail over: a majority of three or more is required; set 3 replicas or more, "+
		"or 1 without sentinels", m.store.replicas)
}

func checkStorageClassUnchanged(field, class string) error {
	is := "the cluster's default class"
	if class != "" {
		is = "class " + class
	}
	return invalid.Field(field+".storageClass", "is immutable: the volumes use %s; remove it", is)
}

// isSmaller reports whether one size is less than another. It returns false for invalid sizes.
func isSmaller(a, b string) bool { c, ok := compare(a, b); return ok && c < 0 }

func same(a, b string) bool { c, ok := compare(a, b); return ok && c == 0 }

func compare(a, b string) (int, bool) {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return 0, false
	}
	y, err := resource.ParseQuantity(b)
	return x.Cmp(y), err == nil
}
