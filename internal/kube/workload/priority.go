package workload

// Names of PriorityClasses that the chart creates in every cluster, so that nodes with insufficient capacity run the pods that most others
// depend on. A pending database stops every service; a pending API stops one. Pods on hypervisors and of Ceph have Kubernetes' own
// classes, because a node without them loses its servers' disks and networks. Tests (Tempest) have none.
// https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
const (
	// PriorityInfrastructure is for databases, queues, caches and locks, OVN's databases, and Keystone, which every request needs.
	PriorityInfrastructure = "cobaltcore-infrastructure"
	// PriorityService is for all other services, the companion, and Jobs.
	PriorityService = "cobaltcore-service"
)
