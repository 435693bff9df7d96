package v1alpha1

import (
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// GroupVersionKind of an IdentityCatalog. It is in the group of Keystone.
var GroupVersionKind = keystonev1.GroupVersion.WithKind("IdentityCatalog")

// Kinds of resources that Keystone's bootstrap creates.
const (
	Domains  BootstrapResource = "domains"
	Projects BootstrapResource = "projects"
	Roles    BootstrapResource = "roles"
	Users    BootstrapResource = "users"
	Entries  BootstrapResource = "catalog"
)

// BootstrapResources returns all of them.
func BootstrapResources() []BootstrapResource {
	return []BootstrapResource{Domains, Projects, Roles, Users, Entries}
}
