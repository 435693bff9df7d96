package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A HypervisorRecovery recovers the servers of failed nodes of a pool. It has the name of the pool's ServiceCheck, so that a pool has at
// most one. A node is powered off after independent witnesses have agreed that it failed. Its servers are evacuated after its power is off.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodeCount`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failedCount`
// +kubebuilder:printcolumn:name="Unblocked",type=string,JSONPath=`.status.conditions[?(@.type=='Unblocked')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Unblocked')].message`,priority=1
type HypervisorRecovery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec HypervisorRecoverySpec `json:"spec"`
	// Observed state.
	// +optional
	Status HypervisorRecoveryStatus `json:"status,omitempty"`
}

// RecoveryMode is the extent of a HypervisorRecovery.
type RecoveryMode string

const (
	// RecoveryDryRun observes and reports, and changes nothing.
	RecoveryDryRun RecoveryMode = "DryRun"
	// RecoveryRecover powers failed nodes off, and evacuates their servers.
	RecoveryRecover RecoveryMode = "Recover"
)

// ImageDisks is the location of disks that are not volumes.
type ImageDisks string

const (
	// ImageDisksLocal means that they are on their node.
	ImageDisksLocal ImageDisks = "Local"
	// ImageDisksShared means that all nodes of the pool have access to them.
	ImageDisksShared ImageDisks = "Shared"
)

// LocalDisks determines what happens to servers with disks on a failed node.
type LocalDisks string

const (
	// KeepLocalDisks means that the servers stay.
	KeepLocalDisks LocalDisks = "Keep"
	// RebuildWithConsent means that they are rebuilt with new disks if their owners consent.
	RebuildWithConsent LocalDisks = "RebuildWithConsent"
)

// HypervisorRecoverySpec is the desired state of the recovery of a pool.
type HypervisorRecoverySpec struct {
	// Extent. DryRun: failed nodes are reported, and nothing is changed. Recover: they are powered off, and their servers are evacuated.
	// +kubebuilder:validation:Enum=DryRun;Recover
	// +kubebuilder:default=DryRun
	// +optional
	Mode RecoveryMode `json:"mode,omitempty"`
	// Time for which the witnesses must agree before a node is powered off, in seconds.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=30
	// +optional
	DelaySeconds int32 `json:"delaySeconds,omitempty"`
	// Maximum share of the pool's nodes that may have failed, in percent. While more have failed, no node is powered off, and nodes without
	// power are not accepted as failed. Nodes in maintenance do not count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +kubebuilder:default=34
	// +optional
	MaxFailedPercent int32 `json:"maxFailedPercent,omitempty"`
	// Maximum number of servers of the pool that are evacuated at the same time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=8
	// +optional
	ParallelServers int32 `json:"parallelServers,omitempty"`
	// Effect of the metadata recovery and recovery_local_disk of servers, which their owners set. Honor: they select the priority, and consent
	// to a rebuild. Ignore: they have no effect, and no server is rebuilt.
	// +kubebuilder:validation:Enum=Honor;Ignore
	// +kubebuilder:default=Honor
	// +optional
	ServerMetadata ServerMetadata `json:"serverMetadata,omitempty"`
	// Location of disks that are not volumes. Shared requires that nova-compute of all nodes stores them in the same Ceph pool (images_type
	// rbd): otherwise Nova replaces local disks by new ones, without the consent of their owners.
	// +kubebuilder:validation:Enum=Local;Shared
	// +kubebuilder:default=Local
	// +optional
	ImageDisks ImageDisks `json:"imageDisks,omitempty"`
	// Treatment of servers with local disks. Keep: they stay until their node is back. RebuildWithConsent: servers with the metadata
	// recovery_local_disk=rebuild get new disks, made from their images; the data of their local disks is lost.
	// +kubebuilder:validation:Enum=Keep;RebuildWithConsent
	// +kubebuilder:default=Keep
	// +optional
	LocalDisks LocalDisks `json:"localDisks,omitempty"`
	// Nodes of the pool that can be powered off. Other nodes are observed only.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=name
	// +optional
	Nodes []RecoveryNode `json:"nodes,omitempty"`
}

// RecoveryNode describes how a node is observed and powered off.
type RecoveryNode struct {
	// Name of the node.
	Name common.ObjectName `json:"name"`
	// TCP addresses of the node, as IP:port, in other networks than the kubelet uses, such as the networks of tenants or of storage. A
	// node that accepts or refuses a connection has not failed. Silence is a report only after an address has responded while the node was
	// healthy. Without one, a node is recovered only if its power is off already. Otherwise, a partition of the kubelet's network cannot be
	// distinguished from a failure.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Probes []ProbeAddress `json:"probes,omitempty"`
	// Management controller with Redfish.
	Redfish RedfishSystem `json:"redfish"`
}

// ProbeAddress is an IP address and a TCP port. Names are not permitted: an address that changes, or that is the one of the kubelet, proves
// nothing.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9.]+|[[][0-9A-Fa-f:.]+[]]):[0-9]{1,5}$') && isIP(self.startsWith('[') ? self.substring(1, self.lastIndexOf(']')) : self.substring(0, self.lastIndexOf(':')))",message="must be an IP address and a port, such as 198.51.100.1:22 or [2001:db8::1]:22"
type ProbeAddress string

// RedfishSystem is a computer system of a Redfish service.
type RedfishSystem struct {
	// Address of the system, such as https://192.0.2.7/redfish/v1/Systems/1. Nodes with the same address cannot be powered off.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https://[^/?#@]+/redfish/v1/Systems/[^?#]+$`
	URL string `json:"url"`
	// Secret of the type openstack.c5c3.io/redfish with the keys host, username, password and ca.crt. The key host has the hosts to which the
	// login may be sent, separated by white space, as in the address of the system. The key ca.crt has the authority of their certificates.
	SecretName common.ObjectName `json:"secretName"`
	// UUID of the system, as a comparison: the controller must report the systemUUID of the Node, which must be unique in the pool. With
	// another UUID here, the node cannot be powered off.
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '03000200-0400-0500-0006-000700080009', '00020003-0004-0005-0006-000700080009'])",message="is a placeholder of the firmware, which other systems have, too; set a unique UUID in the firmware"
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
}

// RecoveryState is the state of the recovery of a node.
type RecoveryState string

const (
	// RecoverySuspected means that the witnesses agree that the node failed, and nothing has been changed.
	RecoverySuspected RecoveryState = "Suspected"
	// RecoveryFencing means that the node is being powered off.
	RecoveryFencing RecoveryState = "Fencing"
	// RecoveryEvacuating means that its power is off, and that its servers are being evacuated.
	RecoveryEvacuating RecoveryState = "Evacuating"
	// RecoveryEvacuated means that each server has been evacuated, or has a reason to stay.
	RecoveryEvacuated RecoveryState = "Evacuated"
	// RecoveryReturning means that the node is back, and that its agents are verified.
	RecoveryReturning RecoveryState = "Returning"
)

// HypervisorRecoveryStatus is the observed state of the recovery of a pool.
type HypervisorRecoveryStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Observed (the witnesses report), Unblocked (nothing prevents the recovery of failed nodes), Recovered (no node is being
	// recovered), Fenceable (healthy nodes could be powered off, and each was verified).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Number of nodes of the pool that are not in maintenance.
	// +optional
	NodeCount int32 `json:"nodeCount,omitempty"`
	// Number of these nodes of which a witness reports a failure.
	// +optional
	FailedCount int32 `json:"failedCount,omitempty"`
	// Healthy nodes that could not be powered off, with the reasons: at most 32 of them. One is verified in each pass, and is listed after two
	// failures. Nodes of the pool without an entry in the spec, and entries without a node, are listed, too.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	UnfenceableNodes []UnfenceableNode `json:"unfenceableNodes,omitempty"`
	// Results of the last verification of healthy nodes. The condition Fenceable is Unknown until each node of the pool was verified once.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	VerifiedNodes []VerifiedNode `json:"verifiedNodes,omitempty"`
	// Nodes that have failed, and have not returned to service.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=nodeName
	// +optional
	Recoveries []NodeRecovery `json:"recoveries,omitempty"`
	// Servers that do not run because of a failure: at most 256 of them. They are in ERROR after failed evacuations, or ran before the failure
	// of a node that is back. Nova does not start them. A server is listed until it has another status, or has left its node.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=id
	// +optional
	FailedServers []FailedServer `json:"failedServers,omitempty"`
}

// FailedServer is a server that does not run because of a failure.
type FailedServer struct {
	// ID of the server.
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id"`
	// Name of the server.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// Name of its node.
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`
	// Reason for which it does not run, and the remedy after the return of its node.
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
	// Time since which its node is back, for a server that ran before the failure. Nova sets its status to SHUTOFF later.
	// +optional
	ReturnTime *metav1.Time `json:"returnTime,omitempty"`
}

// UnfenceableNode is a node that could not be powered off.
type UnfenceableNode struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`
	// Reason, and the remedy.
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// VerifiedNode is a node that was verified while it was healthy.
type VerifiedNode struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`
	// Address of spec.nodes[].probes that responded. Unset: none has responded, so that the silence of the node proves nothing.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Probe string `json:"probe,omitempty"`
	// UUID of the system of the Node. Two nodes with the same one cannot be powered off.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
	// IP addresses of the Node. A probe of another node must not have one of them.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	Addresses []string `json:"addresses,omitempty"`
	// Set if the probes and the management controller of the node were verified, with any result. Unset: only the Node was read.
	// +optional
	Verified bool `json:"verified,omitempty"`
}

// NodeRecovery is the recovery of a node.
type NodeRecovery struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`
	// State. Suspected: the witnesses agree that the node failed, and nothing has been changed. Fencing: it is being powered off. Evacuating:
	// its power is off, and its servers are being evacuated. Evacuated: each server has been evacuated, or has a reason to stay. Returning:
	// the node is back, and its agents are verified.
	// +kubebuilder:validation:Enum=Suspected;Fencing;Evacuating;Evacuated;Returning
	State RecoveryState `json:"state"`
	// Start of the recovery. Evacuations that failed before are not of this failure.
	StartTime metav1.Time `json:"startTime"`
	// Time since which the witnesses agree. It is later than the start if the power was on again.
	SuspectTime metav1.Time `json:"suspectTime"`
	// Reports of the witnesses when they agreed.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Witnesses []string `json:"witnesses,omitempty"`
	// Time of the first request to power the node off. Unset: no request was sent.
	// +optional
	FenceTime *metav1.Time `json:"fenceTime,omitempty"`
	// Time of the last request to power the node off.
	// +optional
	LastFenceTime *metav1.Time `json:"lastFenceTime,omitempty"`
	// Time at which its power was off.
	// +optional
	PowerOffTime *metav1.Time `json:"powerOffTime,omitempty"`
	// Set if this recovery sets forced_down in Nova, and clears it when the node is back. After the deletion of the object, an operator
	// clears it.
	// +optional
	ForcedDown bool `json:"forcedDown,omitempty"`
	// ID of the boot of the failed node (status.nodeInfo.bootID of the Node). Another one shows that it has started again.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootID string `json:"bootID,omitempty"`
	// Time since which the node is back.
	// +optional
	ReturnTime *metav1.Time `json:"returnTime,omitempty"`
	// Number of servers that were evacuated from the node.
	// +optional
	EvacuatedCount int32 `json:"evacuatedCount,omitempty"`
	// Number of servers on the node.
	// +optional
	ServerCount int32 `json:"serverCount,omitempty"`
	// Servers that stay on the node, with the reasons: at most 20 of them.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=id
	// +optional
	RemainingServers []RemainingServer `json:"remainingServers,omitempty"`
	// IDs of stopped servers that are being evacuated. They are stopped again if Nova starts them.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=36
	// +listType=set
	// +optional
	StoppedServers []string `json:"stoppedServers,omitempty"`
	// Servers whose evacuation was requested, and has no result yet. Nova accepts a second request, and starts the server twice. Therefore
	// none is sent before Nova has a result of the first one, or ten minutes have passed.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=id
	// +optional
	RequestedServers []RequestedServer `json:"requestedServers,omitempty"`
	// IDs of the servers that ran before the failure, and are on the node: at most 256 of them. Nova does not start them when the node
	// returns.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=36
	// +listType=set
	// +optional
	RunningServers []string `json:"runningServers,omitempty"`
}

// RequestedServer is a server whose evacuation was requested.
type RequestedServer struct {
	// ID of the server.
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id"`
	// Time of the request. Only migrations that started later are its result.
	Time metav1.Time `json:"time"`
}

// RemainingServer is a server that is not evacuated.
type RemainingServer struct {
	// ID of the server.
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id"`
	// Name of the server.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// Reason for which it stays, and the remedy.
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// HypervisorRecoveryList is a list of HypervisorRecoveries.
// +kubebuilder:object:root=true
type HypervisorRecoveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HypervisorRecovery `json:"items"`
}
