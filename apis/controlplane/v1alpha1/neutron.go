package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutron "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
)

// Neutron is the network service.
// +kubebuilder:validation:XValidation:rule="self.mechanism == oldSelf.mechanism",message="mechanism is immutable: existing ports stay bound to it; create another control plane",fieldPath=".mechanism"
// +kubebuilder:validation:XValidation:rule="(has(self.ovn) && has(self.ovn.external)) == (has(oldSelf.ovn) && has(oldSelf.ovn.external))",message="external cannot be added or removed: networks cannot be moved to another OVN; create another control plane",fieldPath=".ovn.external"
// +kubebuilder:validation:XValidation:rule="!has(self.ovn) || self.mechanism == 'OVN'",message="ovn cannot be set with mechanism OVS; remove ovn",fieldPath=".ovn"
type Neutron struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	neutron.Networks `json:",inline"`
	// Mechanism of the virtual networks: OVN, or Open vSwitch with one Neutron agent for each task on each node.
	// +kubebuilder:default=OVN
	// +optional
	Mechanism neutron.Mechanism `json:"mechanism,omitempty"`
	// Databases of OVN.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
	// API processes.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Workers that synchronize OVN with the database. With OVS: RPC servers of the agents.
	// +optional
	Workers *common.Process `json:"workers,omitempty"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// OVN configures the databases of the virtual networks.
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.northbound) || has(self.southbound) || has(self.northd) || has(self.relay) || has(self.ovnImage) || has(self.electionTimerSeconds) || has(self.inactivityProbeSeconds) || has(self.backup) || has(self.restoreFrom))",message="only external and sync can be set for external OVN databases",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.sync) || self.sync.mode != 'Repair'",message="sync.mode must be Log for external OVN databases: a repair would delete entries of their other users",fieldPath=".sync.mode"
type OVN struct {
	// Northbound database: the logical networks.
	// +optional
	Northbound *Members `json:"northbound,omitempty"`
	// Southbound database: the flows and bindings, which every node reads.
	// +optional
	Southbound *Southbound `json:"southbound,omitempty"`
	// Daemon that translates the northbound database into the southbound one.
	// +optional
	Northd *common.Process `json:"northd,omitempty"`
	// Relays of the southbound database, to which nodes connect instead of its members: for hundreds of nodes. Defaults to none.
	// +optional
	Relay *common.Process `json:"relay,omitempty"`
	// Image of OVN and of the server of its databases. Defaults to the image of this version.
	// +optional
	OVNImage *common.InfrastructureImage `json:"ovnImage,omitempty"`
	// Time without a message from the leader of a database until another one is elected, in seconds. Increase it for slow disks; writes are
	// blocked for this time after the loss of the leader. It is applied without a restart. Defaults to 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	ElectionTimerSeconds int32 `json:"electionTimerSeconds,omitempty"`
	// Idle time after which databases and their clients probe a connection, in seconds. It is closed without a reply within the same time.
	// Increase it for many nodes; clients restart. Defaults to 60.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=600
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
	// Regular backups of both databases. Defaults to none. Neutron can rebuild the northbound database, and the southbound one is derived
	// from it; this takes long with many networks.
	// +optional
	Backup *OVNBackup `json:"backup,omitempty"`
	// Backups from which new databases are restored. Existing databases are never replaced.
	// +optional
	RestoreFrom *OVNRestoreFrom `json:"restoreFrom,omitempty"`
	// External databases, instead of databases of this control plane. Defaults to none.
	// +optional
	External *ExternalOVN `json:"external,omitempty"`
	// Comparison of Neutron's database with OVN. The result is in status.ovn.sync. Defaults to none.
	// +optional
	Sync *common.OVNSyncRequest `json:"sync,omitempty"`
}

// ExternalOVN are OVN databases outside of the control plane, such as those of a Kubernetes network. Their operator is responsible for
// northd, other daemons and write access.
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
	// Networks of the databases: 10.20.0.0/24. Network policies allow Neutron to connect to no others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Networks []common.CIDR `json:"networks"`
	// Secret with a client certificate that both databases accept, its key, and their authority: tls.crt, tls.key and ca.crt.
	ClientSecretRef common.SecretReference `json:"clientSecretRef"`
}

// OVNBackup configures the schedule and the destination of backups of OVN's databases.
type OVNBackup struct {
	// Schedule of the backups.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Retention of backups, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	// Bucket of the backups, with a prefix that is not used for anything else.
	S3 S3 `json:"s3"`
}

// OVNRestoreFrom selects backups of OVN's databases.
type OVNRestoreFrom struct {
	// Bucket of the backups.
	S3 S3 `json:"s3"`
	// Restore the newest backups that are not later than this time (RFC 3339, UTC): 2026-05-01T03:00:00Z. Defaults to the newest.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	// +kubebuilder:example="2026-05-01T03:00:00Z"
	// +optional
	TargetRecoveryTime string `json:"targetRecoveryTime,omitempty"`
}

// Southbound is the database that nodes connect to.
type Southbound struct {
	Members `json:",inline"`
	// External access to each member for nodes of other clusters.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
}
