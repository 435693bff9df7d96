package v1alpha1

// Members configures the pods of a stateful server. All defaults are resolved.
type Members struct {
	// Number of members.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas int32 `json:"replicas"`
	// Size of each volume.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	StorageSize string `json:"storageSize"`
	// Storage class of the volumes. Defaults to the cluster's default.
	// +optional
	StorageClass ObjectName `json:"storageClass,omitempty"`
	// Resources of each member.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	Placement `json:",inline"`
	// Image of the members. Defaults to the image of the operator.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Image string `json:"image,omitempty"`
}

// ServerOption is the value of an option, as the server reads it.
// +kubebuilder:validation:MaxLength=64
type ServerOption string

// DatabaseServer is a MariaDB for one service: one server, or a Galera cluster.
type DatabaseServer struct {
	Members `json:",inline"`
	// Maximum number of connections.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Connections int64 `json:"connections"`
	// Options of the server.
	// +kubebuilder:validation:MaxProperties=128
	// +optional
	Config map[string]ServerOption `json:"config,omitempty"`
	// Serve Prometheus metrics.
	// +optional
	Metrics bool `json:"metrics,omitempty"`
	// Image of the metrics exporter. Defaults to the image of the operator.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ExporterImage string `json:"exporterImage,omitempty"`
	// Regular backups. Defaults to none.
	// +optional
	Backup *DatabaseBackup `json:"backup,omitempty"`
}

// DatabaseBackup configures the schedule and the destination of backups of a database.
type DatabaseBackup struct {
	// Schedule of full backups.
	Schedule Cron `json:"schedule"`
	// Retention of backups, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	RetentionDays int32 `json:"retentionDays"`
	// Name of the bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket"`
	// Host and port of the object store.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=260
	Endpoint string `json:"endpoint"`
	// Region of the bucket.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Region string `json:"region,omitempty"`
	// Path in the bucket. It must be unique.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=260
	Prefix string `json:"prefix"`
	// Secret with the keys access-key-id and secret-access-key, in the workload namespace.
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// The object store's certificate is signed by the authority in the Secret's key ca.crt.
	// +optional
	PrivateCA bool `json:"privateCA,omitempty"`
	// Size of the volume for staging a backup. Defaults to the disk of the member's node.
	// +kubebuilder:validation:MaxLength=20
	// +optional
	StagingSize string `json:"stagingSize,omitempty"`
	// Storage class of that volume. Defaults to the default class of the cluster.
	// +optional
	StagingClass ObjectName `json:"stagingClass,omitempty"`
}

// QueueServer is a RabbitMQ for one service.
type QueueServer struct {
	Members `json:",inline"`
	// Options of the server.
	// +kubebuilder:validation:MaxProperties=128
	// +optional
	Config map[string]ServerOption `json:"config,omitempty"`
	// Issuer of its certificate. The operator of virtual hosts must trust its authority.
	IssuerRef IssuerReference `json:"issuerRef"`
	// DNS domain of its cluster.
	ClusterDomain Hostname `json:"clusterDomain"`
	// Address family of the connections between members. It can be changed only while all members are stopped. Defaults to IPv4.
	// +optional
	IPFamily IPFamily `json:"ipFamily,omitempty"`
	// TLS between members. It can be changed only while all members are stopped.
	// +optional
	MemberTLS bool `json:"memberTLS,omitempty"`
}

// Neighbours are the namespaces that connect to servers, and the API server to which servers connect.
type Neighbours struct {
	// Namespaces of MariaDB's operator.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	MariaDBOperator []NamespaceName `json:"mariadbOperator,omitempty"`
	// Namespaces of RabbitMQ's operators.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	RabbitMQOperators []NamespaceName `json:"rabbitmqOperators,omitempty"`
	// Namespaces of Prometheus.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Monitoring []NamespaceName `json:"monitoring,omitempty"`
	// Ports that the API server listens on.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	// +optional
	APIServerPorts []int32 `json:"apiServerPorts,omitempty"`
}
