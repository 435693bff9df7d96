package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A NodeMaintenance orders the maintenance of a node of a pool. The plan comes first: it lists the servers of the node with the method that
// moves each of them, and the reasons for which one cannot be moved. Then the node is drained, and put back into service after its
// reboot. The deletion of the object cancels the maintenance: the node accepts servers again.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Servers",type=integer,JSONPath=`.status.plan.serverCount`
// +kubebuilder:printcolumn:name="Blocked",type=integer,JSONPath=`.status.plan.blockedCount`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Unblocked')].message`,priority=1
type NodeMaintenance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec NodeMaintenanceSpec `json:"spec"`
	// Observed state.
	// +optional
	Status NodeMaintenanceStatus `json:"status,omitempty"`
}

// MaintenanceMode is the extent of a NodeMaintenance.
type MaintenanceMode string

const (
	// MaintenancePlan plans and changes nothing.
	MaintenancePlan MaintenanceMode = "Plan"
	// MaintenanceDrain plans, empties the node, and puts it back into service after its reboot.
	MaintenanceDrain MaintenanceMode = "Drain"
	// MaintenanceReturn puts the node back into service without a reboot.
	MaintenanceReturn MaintenanceMode = "Return"
)

// MaintenanceOrder is the order in which servers are moved.
type MaintenanceOrder string

// Orders of servers, by their memory.
const (
	SmallestFirst MaintenanceOrder = "SmallestFirst"
	LargestFirst  MaintenanceOrder = "LargestFirst"
)

// ServerMetadata determines the effect of the metadata maintenance of servers.
type ServerMetadata string

const (
	// HonorMetadata means that owners of servers select the method.
	HonorMetadata ServerMetadata = "Honor"
	// IgnoreMetadata means that their metadata has no effect.
	IgnoreMetadata ServerMetadata = "Ignore"
)

// NodeMaintenanceSpec is the desired state of a maintenance.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mode) || oldSelf.mode == 'Plan' || has(self.mode) && self.mode != 'Plan'",message="cannot be set to Plan after Drain; set it to Return, or delete the object to cancel the maintenance",fieldPath=".mode"
type NodeMaintenanceSpec struct {
	// Name of the node, which is also its host in Nova.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="is immutable; create another NodeMaintenance for another node"
	NodeName common.ObjectName `json:"nodeName"`
	// ServiceCheck of the node's pool. It has the name of the pool's namespace.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="is immutable; create another NodeMaintenance for a node of another pool"
	ServiceCheckName common.ObjectName `json:"serviceCheckName"`
	// Extent. Plan: the status has the plan, and nothing is changed. Drain: the servers leave the node if none of them blocks the maintenance,
	// and the node returns to service after its reboot. Return: the node returns to service without a reboot.
	// +kubebuilder:validation:Enum=Plan;Drain;Return
	// +kubebuilder:default=Plan
	// +optional
	Mode MaintenanceMode `json:"mode,omitempty"`
	// Maximum number of servers that are moved at the same time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +kubebuilder:default=1
	// +optional
	ParallelServers int32 `json:"parallelServers,omitempty"`
	// Maximum number of nodes of the pool that NodeMaintenances drain, or keep out of service, at the same time. Others wait. The
	// smallest value of the running orders of the pool applies.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=1
	// +optional
	MaxNodes int32 `json:"maxNodes,omitempty"`
	// Duration of a migration after which its server is reported, in seconds. The migration continues.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	// +kubebuilder:default=3600
	// +optional
	ServerTimeoutSeconds int32 `json:"serverTimeoutSeconds,omitempty"`
	// Order in which servers are moved, by their memory.
	// +kubebuilder:validation:Enum=SmallestFirst;LargestFirst
	// +kubebuilder:default=SmallestFirst
	// +optional
	Order MaintenanceOrder `json:"order,omitempty"`
	// Effect of the metadata maintenance of servers, which their owners set to live, cold, stop, notify or never. Honor: it selects the
	// method. Ignore: it has no effect.
	// +kubebuilder:validation:Enum=Honor;Ignore
	// +kubebuilder:default=Honor
	// +optional
	ServerMetadata ServerMetadata `json:"serverMetadata,omitempty"`
}

// MaintenanceState is the state of a NodeMaintenance.
type MaintenanceState string

const (
	// MaintenanceRequested means that there is no plan yet.
	MaintenanceRequested MaintenanceState = "Requested"
	// MaintenancePlanned means that the plan is complete, and nothing has been changed.
	MaintenancePlanned MaintenanceState = "Planned"
	// MaintenanceDraining means that servers leave the node.
	MaintenanceDraining MaintenanceState = "Draining"
	// MaintenanceDrained means that the node accepts no servers, and that none runs on it.
	MaintenanceDrained MaintenanceState = "Drained"
	// MaintenanceInMaintenance means that the drained node is cordoned, is not ready, or does not report to Nova.
	MaintenanceInMaintenance MaintenanceState = "InMaintenance"
	// MaintenanceReturning means that the node is back, and that its agents are verified.
	MaintenanceReturning MaintenanceState = "Returning"
	// MaintenanceInService means that the node accepts servers again. The order has ended.
	MaintenanceInService MaintenanceState = "InService"
	// MaintenanceBlocked means that the maintenance cannot continue, for the reason in the condition Unblocked.
	MaintenanceBlocked MaintenanceState = "Blocked"
)

// MoveMethod is the way in which a server leaves its node, or does not.
type MoveMethod string

const (
	// MoveLive is a live migration: the server runs.
	MoveLive MoveMethod = "Live"
	// MoveCold is a cold migration: the server is stopped during the move, if it runs.
	MoveCold MoveMethod = "Cold"
	// MoveStop stops the server, which stays on the node, and starts it after the maintenance.
	MoveStop MoveMethod = "Stop"
	// MoveStay leaves the server on the node.
	MoveStay MoveMethod = "Stay"
)

// NodeMaintenanceStatus is the observed state of a maintenance.
type NodeMaintenanceStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Planned (the plan describes the servers on the node), Unblocked (nothing prevents the maintenance), and with a mode
	// other than Plan, Drained (the node accepts no servers, and none runs on it).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// State of the maintenance. Requested: there is no plan yet. Planned: the plan is complete, and nothing has been changed. Draining:
	// servers leave the node. Drained: the node accepts no servers, and none runs on it. InMaintenance: the drained node is cordoned, not
	// ready, or does not report to Nova. Returning: it is back, and its agents are verified. InService: it accepts servers, and the order
	// has ended. Blocked: an operator has to act; the condition Unblocked has the reason.
	// +kubebuilder:validation:Enum=Requested;Planned;Draining;Drained;InMaintenance;Returning;InService;Blocked
	// +optional
	State MaintenanceState `json:"state,omitempty"`
	// Servers on the node, with the method that moves each of them.
	// +optional
	Plan *NodeMaintenancePlan `json:"plan,omitempty"`
	// Time at which the draining started. Unset: it has not.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// Time at which the node was drained. Unset: it has not been, or it has servers again.
	// +optional
	DrainedTime *metav1.Time `json:"drainedTime,omitempty"`
	// ID of the boot of the drained node (status.nodeInfo.bootID of the Node). Another one shows a reboot.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootID string `json:"bootID,omitempty"`
	// Time since which the node is back.
	// +optional
	ReturnTime *metav1.Time `json:"returnTime,omitempty"`
	// IDs of servers that were stopped, and that are started when the node is back.
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=36
	// +listType=set
	// +optional
	StoppedServers []string `json:"stoppedServers,omitempty"`
}

// NodeMaintenancePlan lists the servers on a node.
type NodeMaintenancePlan struct {
	// Number of servers on the node.
	ServerCount int32 `json:"serverCount"`
	// Number of servers with a blocker.
	BlockedCount int32 `json:"blockedCount"`
	// Number of servers that the list does not have, because it has at most 100.
	// +optional
	OmittedCount int32 `json:"omittedCount,omitempty"`
	// Estimated duration of all moves, in seconds.
	// +optional
	EstimatedSeconds int64 `json:"estimatedSeconds,omitempty"`
	// Servers with a blocker, then the others in the order in which they are moved.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=id
	// +optional
	Servers []PlannedServer `json:"servers,omitempty"`
}

// PlannedServer is a server of a plan.
type PlannedServer struct {
	// ID of the server.
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id"`
	// Name of the server.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// Status in Nova, such as ACTIVE.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Status string `json:"status,omitempty"`
	// Way in which the server leaves the node. Live: live migration. Cold: cold migration, during which it does not run. Stop: it is
	// stopped on the node, and started after the maintenance. Stay: it stays on the node.
	// +kubebuilder:validation:Enum=Live;Cold;Stop;Stay
	Method MoveMethod `json:"method"`
	// Node to which the server is being moved. Unset: Nova's scheduler has not selected one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Target string `json:"target,omitempty"`
	// Estimated duration of the move, in seconds, for 100 MiB of memory and local disks per second.
	// +optional
	EstimatedSeconds int64 `json:"estimatedSeconds,omitempty"`
	// Reason for which the server blocks the maintenance, and the remedy. Unset: it does not.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Blocker string `json:"blocker,omitempty"`
}

// NodeMaintenanceList is a list of NodeMaintenances.
// +kubebuilder:object:root=true
type NodeMaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeMaintenance `json:"items"`
}
