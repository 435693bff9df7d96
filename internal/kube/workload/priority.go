package workload

// Names of PriorityClasses that the chart creates in every cluster, so that nodes with too little room keep what the rest depends on. A
// database that waits for a node stops every service; an API that waits stops one. Pods on hypervisors and of Ceph have Kubernetes' own
// classes, because a node without them loses its servers' disks and networks. Tests (Tempest) have none.
// https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
const (
	// PriorityInfrastructure is of databases, queues, caches and locks, OVN's databases, and Keystone, which every request needs.
	PriorityInfrastructure = "cobaltcore-infrastructure"
	// PriorityService is of all other services, and of what the companion and Jobs do for them.
	PriorityService = "cobaltcore-service"
)
