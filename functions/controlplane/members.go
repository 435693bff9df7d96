package controlplane

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// An operator refuses some changes of what it runs, or does nothing about them. What the claim does not name itself stays then as it is:
// neither another size nor another platform default may stop a claim that runs. What the claim does name is refused.

// queueMembers are the members of RabbitMQ.
type queueMembers struct {
	replicas       int32
	storage, class string
}

// queueMembers finds the members of RabbitMQ.
func (m *model) queueMembers() error {
	r := m.spec.Infrastructure.RabbitMQ
	m.queue = queueMembers{
		replicas: ptr.Deref(r.Replicas, m.size.messaging),
		storage:  string(ptr.Deref(r.StorageSize, storageSize(m.size.messagingStorage))),
		class:    string(cmp.Or(r.StorageClass, m.platform.StorageClass)),
	}
	observedState, _ := m.seen.Get(messagingResource)
	if !m.runsQueue() || !observedState.Exists() {
		return nil
	}
	is, _ := observedState.Int("spec", "replicas")
	previous := queueMembers{
		replicas: int32(is), //nolint:gosec // nine at most
		storage:  observedState.String("spec", "persistence", "storage"), class: observedState.Keep(m.queue.class, "spec", "persistence", "storageClassName"),
	}
	var err error
	m.queue, err = m.queue.keep("spec.infrastructure.rabbitmq", r.Replicas, r.Storage, previous)
	return err
}

// keep what its operator does not change: it neither takes members away nor shrinks volumes nor moves them to another class
// (https://github.com/rabbitmq/cluster-operator, internal/controller/reconcile_scale_down.go, internal/scaling/scaling.go).
func (q queueMembers) keep(field string, replicas *int32, requested controlplanev1.Storage, previous queueMembers) (queueMembers, error) {
	if q.replicas < previous.replicas {
		if replicas != nil {
			return q, invalid.Field(field+".replicas", "the queue has %d members, and its operator takes none away; say %d here",
				previous.replicas, previous.replicas)
		}
		q.replicas = previous.replicas
	}
	if isSmaller(q.storage, previous.storage) {
		if requested.StorageSize != nil {
			return q, invalid.Field(field+".storageSize", "the queue's volumes have %s and cannot shrink; say %s here", previous.storage, previous.storage)
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

// quorum of sentinels has to agree that the primary is lost, and most of all have to be there to make another the primary
// (https://valkey.io/topics/sentinel/): with two, the loss of either stops both.
const quorum = 3

// storeMembers finds the members of Valkey. Its operator changes neither volumes nor whether there are sentinels
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
	observedState, _ := m.seen.Get(locksResource)
	switch {
	case !m.locks():
		return nil
	case !observedState.Exists() && m.otherDomain() != "":
		// It writes the domain into the addresses that it publishes (SAP/valkey-operator, pkg/operator/binding.go).
		return invalid.Field(field+".enabled", "valkey-operator supports only clusters whose DNS domain is %s, and the platform's is %s; "+
			"set it to false", defaultDomain, m.otherDomain())
	case !observedState.Exists():
		return m.checkQuorum(v, false)
	}
	if is := observedState.Keep("", "spec", "persistence", "size"); v.StorageSize != nil && !same(m.store.storage, is) {
		return invalid.Field(field+".storageSize",
			"the store's volumes have %s, and its operator does not change them; say %s here, or leave it out", is, is)
	}
	m.store.storage = observedState.Keep(m.store.storage, "spec", "persistence", "size")
	class := observedState.Keep(m.store.class, "spec", "persistence", "storageClass")
	if v.StorageClass != "" && string(v.StorageClass) != class {
		return checkStorageClassUnchanged(field, class)
	}
	m.store.class = class
	return m.preserveSentinel(v)
}

// preserveSentinel keeps sentinels where they are, or away. Members come and go with the size only where they may: without sentinels nobody
// would fail over to more members, and fewer than a quorum of sentinels would fail over to none.
func (m *model) preserveSentinel(v controlplanev1.Valkey) error {
	const field = "spec.infrastructure.valkey"
	observedState, _ := m.seen.Get(locksResource)
	is, _ := observedState.Bool("spec", "sentinel", "enabled")
	replicas, _ := observedState.Int("spec", "replicas")
	switch {
	case is == m.store.sentinel:
	case v.Sentinel.Enabled != nil:
		return invalid.Field(field+".sentinel.enabled", "the store runs %s sentinels, which its operator does not change; say %t here",
			map[bool]string{true: "with", false: "without"}[is], is)
	case v.Replicas != nil && is:
		return invalid.Field(field+".replicas", "the store runs with sentinels, which its operator does not change and of which %d are needed; "+
			"say %d or more here", quorum, quorum)
	case v.Replicas != nil:
		return invalid.Field(field+".replicas", "the store runs without sentinels, which its operator does not change: nothing fails over to "+
			"more members; say 1 here, or sentinel.enabled false besides")
	default:
		m.store.sentinel, m.store.replicas = is, int32(replicas) //nolint:gosec // nine at most
	}
	return m.checkQuorum(v, is && replicas < quorum)
}

// checkQuorum refuses sentinels that cannot fail over. A store that was made so before that was refused goes on.
func (m *model) checkQuorum(v controlplanev1.Valkey, before bool) error {
	if !m.store.sentinel || m.store.replicas >= quorum || before {
		return nil
	}
	field := "spec.infrastructure.valkey.replicas"
	if v.Replicas == nil {
		field = "spec.infrastructure.valkey.sentinel.enabled"
	}
	return invalid.Field(field, "%d sentinels cannot fail over: most of three or more have to agree; use 3 replicas or more, "+
		"or 1 without sentinel", m.store.replicas)
}

func checkStorageClassUnchanged(field, class string) error {
	is := "the cluster's default class"
	if class != "" {
		is = "class " + class
	}
	return invalid.Field(field+".storageClass", "the volumes are of %s, and volumes do not move between classes; leave it out", is)
}

// isSmaller reports whether one size is less than another. What is not a size is not.
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
