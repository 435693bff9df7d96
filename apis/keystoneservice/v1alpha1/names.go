package v1alpha1

import "slices"

// Roles that an account may have.
const (
	RoleService Role = "service"
	RoleReader  Role = "reader"
	RoleAdmin   Role = "admin"
)

// reserved are the types of the services that control planes have, and those by which older clients look for them
// (https://specs.openstack.org/openstack/service-types-authority/). Whoever were in the catalog under one would be sent the tokens of
// everybody who asks for that service.
var reserved = []ServiceType{
	"identity", "image", "compute", "compute-legacy", "placement", "network", "block-storage", "block-store", "volume", "volumev2", "volumev3",
	"orchestration", "cloudformation", "orchestration-cfn", "key-manager", "dashboard",
}

// ReservedTypes are all of them.
func ReservedTypes() []ServiceType { return slices.Clone(reserved) }

// Reserved reports whether a type is that of a service of control planes.
func (t ServiceType) Reserved() bool { return slices.Contains(reserved, t) }

// SecretName is the Secret, in the namespace of a claim, with what its service logs in by.
func SecretName(claim string) string { return claim + "-keystone" }

// Keys of that Secret besides variables of the environment: a clouds.yaml with one cloud, which is called as said, and the authority of
// Keystone's address.
const (
	CloudsKey = "clouds.yaml"
	CloudName = "openstack"
	CAKey     = "cacert"
)

// Variables are the keys of that Secret that OpenStack's clients read from the environment.
// https://docs.openstack.org/python-openstackclient/latest/cli/man/openstack.html#environment-variables
func Variables() []string {
	return []string{
		"OS_AUTH_TYPE", "OS_AUTH_URL", "OS_IDENTITY_API_VERSION", "OS_INTERFACE", "OS_PASSWORD", "OS_PROJECT_DOMAIN_NAME", "OS_PROJECT_NAME",
		"OS_REGION_NAME", "OS_USERNAME", "OS_USER_DOMAIN_NAME",
	}
}
