package v1alpha1

// Names of objects that a control plane creates in Keystone and that the users of its services require. Objects of K-ORC in the control
// plane's namespace have the same names, except the domain.
const (
	// ServiceProject is the project of the services' users.
	ServiceProject = "service"
	// ServiceRole marks a user as a service; AdminRole grants administrator access.
	ServiceRole = "service"
	AdminRole   = "admin"
	// DefaultDomain is the initial domain of Keystone, DefaultDomainObject the K-ORC object for it.
	DefaultDomain       = "Default"
	DefaultDomainObject = "default"
)
