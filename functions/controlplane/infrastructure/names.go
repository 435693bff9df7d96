package infrastructure

// Names of components that are dependencies of others.
const (
	// PullComponent copies the pull secrets that pods need for their images.
	PullComponent      = "pull-secrets"
	StorageComponent   = "storage"
	CompanionComponent = "companion"
	DatabaseComponent  = "database"
	MessagingComponent = "messaging"
	LocksComponent     = "locks"
	CacheComponent     = "cache"
)

// Names of composed resources that other parts reference.
const (
	NamespaceResource = "namespace"
	// WorkloadNamespaceResource is the namespace in another cluster, for a control plane whose pods run there.
	WorkloadNamespaceResource = "workload-namespace"
	DatabaseResource          = "database"
	MessagingResource         = "messaging"
	LocksResource             = "locks"

	rootSecretResource    = "database-root-secret"
	rootGeneratorResource = "database-root-generator"
	proxyResource         = "database-proxy"
)
