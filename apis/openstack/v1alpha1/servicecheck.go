package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A ServiceCheck lists the processes of a running OpenStack service, and removes the records of processes that have been deleted: such
// records count as old versions, and block upgrades. For hypervisors on removed nodes, it deletes their records in Nova, Placement and
// Neutron. For other hypervisors, it reports the capacity for virtual machines; for Cinder's backends, the capacity for volumes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Up",type=integer,JSONPath=`.status.up`
// +kubebuilder:printcolumn:name="Down",type=integer,JSONPath=`.status.down`
// +kubebuilder:printcolumn:name="Virtual machines",type=integer,JSONPath=`.status.capacity.virtualMachines`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type ServiceCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec ServiceCheckSpec `json:"spec"`
	// Observed state.
	// +optional
	Status ServiceCheckStatus `json:"status,omitempty"`
}

// ServiceCheckSpec is the desired state of a check.
// +kubebuilder:validation:XValidation:rule="self.service == 'block-storage' || !has(self.backends)",message="only Cinder has backends",fieldPath=".backends"
// +kubebuilder:validation:XValidation:rule="self.service == 'compute' || !has(self.nodes)",message="only Nova has hypervisors",fieldPath=".nodes"
type ServiceCheckSpec struct {
	// Credentials for the service, of a user who may list its processes.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// Type of the service in the catalog. Cinder (block-storage) has no request that removes a record, so none are removed.
	// +kubebuilder:validation:Enum=compute;block-storage
	Service string `json:"service"`
	// Processes with fixed hosts: pods of these StatefulSets. A record of such a process, on a host with the name of the StatefulSet and a
	// number that no pod has, is removed when it is down. No other records are removed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Processes []CheckedProcess `json:"processes,omitempty"`
	// Nodes of hypervisors. The records of a removed node in Nova, Placement and Neutron are deleted when it is down and has no virtual
	// machines. Records are never deleted of a node that has not had a pod, or that has a pod in this or another check of the namespace.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=daemonSet
	// +optional
	Nodes []CheckedNodes `json:"nodes,omitempty"`
	// Backends of Cinder whose capacity is reported.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CheckedBackend `json:"backends,omitempty"`
	// Interval between requests, in seconds.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300
	// +kubebuilder:default=60
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// CheckedProcess is a kind of process and its StatefulSet.
type CheckedProcess struct {
	// Program, as the service records it: nova-conductor.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Binary string `json:"binary"`
	// StatefulSet whose pods run it. A host has the name of its pod.
	StatefulSetName common.ObjectName `json:"statefulSetName"`
}

// CheckedNodes are the nodes of a DaemonSet. A hypervisor has the name of its node.
type CheckedNodes struct {
	// Namespace of the DaemonSet.
	Namespace common.NamespaceName `json:"namespace"`
	// Name of the DaemonSet.
	DaemonSet common.ObjectName `json:"daemonSet"`
	// Empty a cordoned node: it gets no new virtual machines, and running ones are live-migrated, one at a time. When it is uncordoned, it
	// gets new ones again.
	// +optional
	EvictOnCordon bool `json:"evictOnCordon,omitempty"`
}

// CheckedBackend is a backend of Cinder.
type CheckedBackend struct {
	// Name of the backend in its managers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`
	// Interval at which its managers measure the free capacity, in seconds. A manager that reports none for five intervals is silent.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +kubebuilder:default=60
	// +optional
	LooksEverySeconds int32 `json:"looksEverySeconds,omitempty"`
}

// ServiceCheckStatus is the observed state of a check.
type ServiceCheckStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (the service responds, and every known process is up); with nodes, RemovedNodesCleanedUp (no records of removed
	// nodes are left), Counted (the number of virtual machines includes all nodes) and, if they are evicted, CordonedNodesEvacuated (no
	// virtual machine is on a cordoned node, or can be moved to it).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every five
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Number of processes that report.
	// +optional
	Up int32 `json:"up,omitempty"`
	// Number of processes whose report is overdue.
	// +optional
	Down int32 `json:"down,omitempty"`
	// The same numbers by program.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=binary
	// +optional
	Binaries []BinaryState `json:"binaries,omitempty"`
	// Number of records that were removed.
	// +optional
	Removed int32 `json:"removed,omitempty"`
	// Nodes that had a pod and are registered in Nova, until all of their records are deleted.
	// +kubebuilder:validation:MaxItems=2048
	// +listType=map
	// +listMapKey=name
	// +optional
	Nodes []NodeRecord `json:"nodes,omitempty"`
	// Number of nodes with a pod of this check from which nova-compute does not report.
	// +optional
	MissingNodeCount int32 `json:"missingNodeCount,omitempty"`
	// Those of these nodes that have been missing longest.
	// +kubebuilder:validation:MaxItems=5
	// +listType=map
	// +listMapKey=name
	// +optional
	MissingNodes []MissingNode `json:"missingNodes,omitempty"`
	// Virtual machines on the nodes, and free capacity. It is kept while the service, Placement or the database of a cell does not respond,
	// which Counted reports.
	// Unset: it has not been reported yet, or there are no nodes to check.
	// +optional
	Capacity *ComputeCapacity `json:"capacity,omitempty"`
	// Last known state of the backends of Cinder.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CheckedBackendState `json:"backends,omitempty"`
}

// CheckedBackendState is the state of a backend. Numbers are from the last measurement of its managers.
type CheckedBackendState struct {
	// Name of the backend.
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`
	// Managers that report. After a successful start, they report even if they cannot reach their storage.
	// +optional
	Up int32 `json:"up,omitempty"`
	// Time of the last successful measurement of the capacity by a manager. Unset: there was none.
	// +optional
	Looked *metav1.Time `json:"looked,omitempty"`
	// The measurement of all managers is overdue: their storage does not respond, or they do not run.
	// +optional
	Silent bool `json:"silent,omitempty"`
	// Total capacity, in GiB. Unset: unknown, or unlimited.
	// +optional
	TotalGiB *int64 `json:"totalGiB,omitempty"`
	// Free capacity, in GiB. Unset: unknown, or unlimited.
	// +optional
	AvailableGiB *int64 `json:"availableGiB,omitempty"`
}

// ComputeCapacity is the capacity of hypervisors. Totals and free amounts include only hypervisors that accept virtual machines: that
// report, and are not disabled.
type ComputeCapacity struct {
	// Virtual machines on all of them, running or not.
	VirtualMachines int64 `json:"virtualMachines"`
	// Virtual CPUs, including overcommitted ones and without reserved ones.
	TotalVCPU int64 `json:"totalVCPU"`
	// Free virtual CPUs.
	AvailableVCPU int64 `json:"availableVCPU"`
	// Memory in MiB, including overcommitted memory and without reserved memory.
	TotalMemoryMiB int64 `json:"totalMemoryMiB"`
	// Free memory in MiB.
	AvailableMemoryMiB int64 `json:"availableMemoryMiB"`
}

// NodeRecord is the record of a node that is a hypervisor.
type NodeRecord struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Resource provider in Placement.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	Provider string `json:"provider,omitempty"`
	// IDs of its agents in Neutron, which no longer reports the node of agents after the first of them is removed.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Agents []string `json:"agents,omitempty"`
}

// MissingNode is a node with a pod from which nova-compute does not report.
type MissingNode struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Time of the last report. If nova-compute has not registered, the time at which its pod was created.
	Since metav1.Time `json:"since"`
	// Revision of the DaemonSet that its pod runs: the label controller-revision-hash. Unset: the pod has none yet.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Revision string `json:"revision,omitempty"`
}

// BinaryState counts the processes of one program.
type BinaryState struct {
	// Program.
	// +kubebuilder:validation:MaxLength=63
	Binary string `json:"binary"`
	// Number of processes that report.
	// +optional
	Up int32 `json:"up,omitempty"`
	// Number of processes whose report is overdue.
	// +optional
	Down int32 `json:"down,omitempty"`
}

// ServiceCheckList is a list of ServiceChecks.
// +kubebuilder:object:root=true
type ServiceCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceCheck `json:"items"`
}
