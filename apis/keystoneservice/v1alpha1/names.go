package v1alpha1

import "slices"

// Roles that an account may have.
const (
	RoleService Role = "service"
	RoleReader  Role = "reader"
	RoleAdmin   Role = "admin"
)

// reserved are the types of the services of control planes, and aliases that older clients use for them
// (https://specs.openstack.org/openstack/service-types-authority/). A custom service with one of these types would receive the tokens of
// all users who request that service.
var reserved = []ServiceType{
	"identity", "image", "compute", "compute-legacy", "placement", "network", "block-storage", "block-store", "volume", "volumev2", "volumev3",
	"orchestration", "cloudformation", "orchestration-cfn", "key-manager", "dashboard",
}

// ReservedTypes returns all of them.
func ReservedTypes() []ServiceType { return slices.Clone(reserved) }

// Reserved reports whether a type belongs to a service of control planes.
func (t ServiceType) Reserved() bool { return slices.Contains(reserved, t) }

// SecretName returns the name of the Secret, in the namespace of a claim, with the credentials of its service.
func SecretName(claim string) string { return claim + "-keystone" }

// Keys of that Secret in addition to environment variables: a clouds.yaml with one cloud, CloudName, and the authority of Keystone's
// address.
const (
	CloudsKey = "clouds.yaml"
	CloudName = "openstack"
	CAKey     = "cacert"
)

// Variables returns the keys of that Secret that OpenStack's clients read from the environment.
// https://docs.openstack.org/python-openstackclient/latest/cli/man/openstack.html#environment-variables
func Variables() []string {
	return []string{
		"OS_AUTH_TYPE", "OS_AUTH_URL", "OS_IDENTITY_API_VERSION", "OS_INTERFACE", "OS_PASSWORD", "OS_PROJECT_DOMAIN_NAME", "OS_PROJECT_NAME",
		"OS_REGION_NAME", "OS_USERNAME", "OS_USER_DOMAIN_NAME",
	}
}
