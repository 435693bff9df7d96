package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A ServiceCheck asks a running OpenStack service which of its processes are there, and removes the records of those that will not come
// back: they count as old versions, and hold upgrades up. Of hypervisors whose nodes have gone it removes what Nova, Placement and Neutron
// keep. Of others it says what virtual machines have, and can have; of Cinder's backends, how much room there is for volumes.
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
	// How the service is reached, as a user who may list its processes.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// Type of the service in the catalog. Cinder, which is block-storage there, has no request that removes a record: of it none is.
	// +kubebuilder:validation:Enum=compute;block-storage
	Service string `json:"service"`
	// Processes whose hosts are known: pods of these StatefulSets. A record of one of their kind, on a host with one of these names and a
	// number that no pod has, is removed when it is down. No others are.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Processes []CheckedProcess `json:"processes,omitempty"`
	// Nodes of hypervisors. What Nova, Placement and Neutron keep of one that has left is removed when it is down and no virtual machine is
	// there. Of one that has never had a pod, and of one that has, here or in another check of the namespace, nothing is.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=daemonSet
	// +optional
	Nodes []CheckedNodes `json:"nodes,omitempty"`
	// Backends of Cinder, whose room is asked for.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CheckedBackend `json:"backends,omitempty"`
	// How often it asks, in seconds.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=60
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// CheckedProcess is a kind of process and where it runs.
type CheckedProcess struct {
	// Program, as the service records it: nova-conductor.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Binary string `json:"binary"`
	// StatefulSet whose pods run it. A host is called as its pod.
	StatefulSetName common.ObjectName `json:"statefulSetName"`
}

// CheckedNodes are those that a DaemonSet is for. A hypervisor is called as its node.
type CheckedNodes struct {
	// Namespace of the DaemonSet.
	Namespace common.NamespaceName `json:"namespace"`
	// Name of the DaemonSet.
	DaemonSet common.ObjectName `json:"daemonSet"`
	// Empty a node that is cordoned: it gets no new virtual machines, and those that run are live-migrated, one by one. When it is uncordoned
	// it gets new ones again.
	// +optional
	EvictOnCordon bool `json:"evictOnCordon,omitempty"`
}

// CheckedBackend is a place for volumes.
type CheckedBackend struct {
	// Name of the backend, as its managers have it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`
	// How often its managers look how much room there is, in seconds. Who says nothing for five times as long is silent.
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
	// Conditions: Ready (the service answers, and every process that is known is up); with nodes Cleared (nothing is left of those that have
	// gone) and, if they are evicted, Evicted (no virtual machine is on one that is cordoned).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Processes that report, and that do not.
	// +optional
	Up int32 `json:"up,omitempty"`
	// Processes that have not reported for longer than they should.
	// +optional
	Down int32 `json:"down,omitempty"`
	// The same by program.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=binary
	// +optional
	Binaries []BinaryState `json:"binaries,omitempty"`
	// Records that were removed.
	// +optional
	Removed int32 `json:"removed,omitempty"`
	// Nodes that had a pod and are known to Nova, until nothing is left of them.
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=name
	// +optional
	Nodes []NodeRecord `json:"nodes,omitempty"`
	// Virtual machines on the nodes, and what there is for more. It holds while the service or Placement does not answer, of which Ready
	// tells. Absent: it was never known, or there are no nodes to check.
	// +optional
	Capacity *ComputeCapacity `json:"capacity,omitempty"`
	// Backends of Cinder, as they were last known.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CheckedBackendState `json:"backends,omitempty"`
}

// CheckedBackendState is what is known of a backend. Numbers are those of its managers' last look at it: they hold while there is no newer.
type CheckedBackendState struct {
	// Name of the backend.
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`
	// Managers that report. They do so whether they reach what they keep volumes in or not, once they have reached it as they started.
	// +optional
	Up int32 `json:"up,omitempty"`
	// When one of them has last looked how much room there is, and got an answer. Absent: it was never heard of.
	// +optional
	Looked *metav1.Time `json:"looked,omitempty"`
	// None of them has for longer than it should: what they keep volumes in does not answer, or they are not there.
	// +optional
	Silent bool `json:"silent,omitempty"`
	// Room in it, in GiB. Absent: it was never known, or has no end.
	// +optional
	TotalGiB *int64 `json:"totalGiB,omitempty"`
	// Room that is left in it, in GiB, as the total.
	// +optional
	AvailableGiB *int64 `json:"availableGiB,omitempty"`
}

// ComputeCapacity is what hypervisors have. Room is that of those that take virtual machines: that report, and are not disabled.
type ComputeCapacity struct {
	// Virtual machines on all of them, whether they run or not.
	VirtualMachines int64 `json:"virtualMachines"`
	// Virtual CPUs, with processors that are promised more than once and without those that are reserved.
	TotalVCPU int64 `json:"totalVCPU"`
	// Virtual CPUs that are left.
	AvailableVCPU int64 `json:"availableVCPU"`
	// Memory in MiB, as the CPUs.
	TotalMemoryMiB int64 `json:"totalMemoryMiB"`
	// Memory that is left, in MiB.
	AvailableMemoryMiB int64 `json:"availableMemoryMiB"`
}

// NodeRecord is what is known of a node that is a hypervisor.
type NodeRecord struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Resource provider in Placement.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	Provider string `json:"provider,omitempty"`
	// IDs of its agents in Neutron, which does not say any more whose they are when the first of them is removed.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Agents []string `json:"agents,omitempty"`
}

// BinaryState counts the processes of one program.
type BinaryState struct {
	// Program.
	// +kubebuilder:validation:MaxLength=63
	Binary string `json:"binary"`
	// Processes that report.
	// +optional
	Up int32 `json:"up,omitempty"`
	// Processes that have not reported for longer than they should.
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
