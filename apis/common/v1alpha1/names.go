package v1alpha1

// What a control plane makes in Keystone, and the users of its services build on. The names are those in Keystone and, but for that of the
// domain, of K-ORC's objects in the control plane's namespace.
const (
	// ServiceProject is the project of the services' users.
	ServiceProject = "service"
	// ServiceRole marks a user as a service's, AdminRole lets it do what an administrator does.
	ServiceRole = "service"
	AdminRole   = "admin"
	// DefaultDomain is the domain that Keystone begins with, DefaultDomainObject its object.
	DefaultDomain       = "Default"
	DefaultDomainObject = "default"
)
