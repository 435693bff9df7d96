package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutron "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
)

// Neutron is the network service.
// +kubebuilder:validation:XValidation:rule="self.mechanism == oldSelf.mechanism",message="mechanism cannot be changed: ports stay bound as they are; claim another control plane",fieldPath=".mechanism"
// +kubebuilder:validation:XValidation:rule="(has(self.ovn) && has(self.ovn.external)) == (has(oldSelf.ovn) && has(oldSelf.ovn.external))",message="external cannot be set or removed: networks do not move from one OVN to another; claim another control plane",fieldPath=".ovn.external"
// +kubebuilder:validation:XValidation:rule="!has(self.ovn) || self.mechanism == 'OVN'",message="with mechanism OVS there is no OVN; leave ovn out",fieldPath=".ovn"
type Neutron struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	neutron.Networks `json:",inline"`
	// What makes the virtual networks: OVN, or Open vSwitch with an agent for each task on each node.
	// +kubebuilder:default=OVN
	// +optional
	Mechanism neutron.Mechanism `json:"mechanism,omitempty"`
	// OVN's databases.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Workers that keep OVN as the database says. With OVS: what the agents talk to.
	// +optional
	Workers *common.Process `json:"workers,omitempty"`
	// Processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// OVN describes what the virtual networks are kept in.
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.northbound) || has(self.southbound) || has(self.northd) || has(self.relay) || has(self.ovnImage) || has(self.electionTimerSeconds) || has(self.inactivityProbeSeconds) || has(self.backup) || has(self.restoreFrom))",message="whoever has the external databases says how they run; leave out everything but external and sync",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.sync) || self.sync.mode != 'Repair'",message="external databases are not repaired: what others keep in them would be removed; say Log",fieldPath=".sync.mode"
type OVN struct {
	// Database of what is wanted.
	// +optional
	Northbound *Members `json:"northbound,omitempty"`
	// Database of how it is done, which every node reads.
	// +optional
	Southbound *Southbound `json:"southbound,omitempty"`
	// What makes the one of the other.
	// +optional
	Northd *common.Process `json:"northd,omitempty"`
	// Copies of the southbound database, which nodes read in place of its members: for hundreds of nodes. Absent: none.
	// +optional
	Relay *common.Process `json:"relay,omitempty"`
	// Image of OVN and of the server of its databases. Absent: as this version says.
	// +optional
	OVNImage *common.InfrastructureImage `json:"ovnImage,omitempty"`
	// After how many seconds without a word from the leader of a database another one is elected. More for slow disks; writes wait for as long
	// when it is lost. It changes while the databases run. Absent: 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	ElectionTimerSeconds int32 `json:"electionTimerSeconds,omitempty"`
	// After how many seconds of silence a client of a database is asked whether it is there, and given up if it does not say so for as long
	// again. More for many nodes; it changes while the databases run. Absent: 60.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=600
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
	// Regular copies of both databases. Absent: none. Neutron can write the northbound one again, and the southbound one follows from it; with
	// many networks that takes long.
	// +optional
	Backup *OVNBackup `json:"backup,omitempty"`
	// Copies that databases are created of, which do not exist yet. What is there is never replaced.
	// +optional
	RestoreFrom *OVNRestoreFrom `json:"restoreFrom,omitempty"`
	// Databases that somebody else has, in place of those of this control plane. Absent: it has its own.
	// +optional
	External *ExternalOVN `json:"external,omitempty"`
	// Compare what Neutron's database says with what OVN has. The answer is in status.ovn.sync. Absent: nobody has asked.
	// +optional
	Sync *common.OVNSyncRequest `json:"sync,omitempty"`
}

// ExternalOVN are databases that somebody else has, such as those of a Kubernetes network. They are only used: northd and whatever else
// runs there, and who may write to them, is up to whoever has them.
type ExternalOVN struct {
	// Addresses of all members of the northbound database: ssl:…,ssl:….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`
	// +kubebuilder:example="ssl:10.20.0.11:6641,ssl:10.20.0.12:6641,ssl:10.20.0.13:6641"
	Northbound string `json:"northbound"`
	// Addresses of all members of the southbound database, or of relays of it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`
	// +kubebuilder:example="ssl:10.20.0.11:6642,ssl:10.20.0.12:6642,ssl:10.20.0.13:6642"
	Southbound string `json:"southbound"`
	// Where they are: 10.20.0.0/24. Neutron reaches no others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Networks []common.CIDR `json:"networks"`
	// Secret with a client's certificate that both databases take, its key, and their authority: tls.crt, tls.key and ca.crt.
	ClientSecretRef common.SecretReference `json:"clientSecretRef"`
}

// OVNBackup says when OVN's databases are copied, and where to.
type OVNBackup struct {
	// When copies are made.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// How long copies are kept, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	// Bucket that copies go to, with a prefix that nothing else has.
	S3 S3 `json:"s3"`
}

// OVNRestoreFrom names copies of OVN's databases.
type OVNRestoreFrom struct {
	// Bucket of the copies.
	S3 S3 `json:"s3"`
	// Take the newest copies that are no later than this moment (RFC 3339, UTC): 2026-05-01T03:00:00Z. Absent: the newest.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	// +kubebuilder:example="2026-05-01T03:00:00Z"
	// +optional
	TargetRecoveryTime string `json:"targetRecoveryTime,omitempty"`
}

// Southbound is the database that nodes read.
type Southbound struct {
	Members `json:",inline"`
	// How nodes of other clusters reach each member.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
}
