// Package korc builds objects of K-ORC, the OpenStack resource controller, which represent Keystone resources as Kubernetes
// objects.
//
// K-ORC logs in to delete its objects, even imported ones, so Keystone must outlive all of them.
package korc

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// APIVersion of K-ORC's objects.
const APIVersion = "openstack.k-orc.cloud/v1alpha1"

// Namespace is the namespace in which K-ORC's manifests install it.
const Namespace = "orc-system"

// Credentials reference the Secret with K-ORC's clouds.yaml, and the cloud in it.
type Credentials common.CloudCredentialsReference

// Import returns an object for an existing resource, which K-ORC neither changes nor deletes.
func (c Credentials) Import(kind string, meta object.Meta, filter object.Map) *unstructured.Unstructured {
	return c.object(kind, meta, object.Map{
		"managementPolicy": "unmanaged",
		"import":           object.Map{"filter": filter},
	})
}

// Managed returns an object whose resource K-ORC creates. Deletion of the object retains the resource in Keystone, because
// K-ORC cannot know its dependents.
func (c Credentials) Managed(kind string, meta object.Meta, resource object.Map) *unstructured.Unstructured {
	return c.managed(kind, meta, "detach", resource)
}

// Owned returns an object whose resource K-ORC creates, and deletes from Keystone together with the object.
func (c Credentials) Owned(kind string, meta object.Meta, resource object.Map) *unstructured.Unstructured {
	return c.managed(kind, meta, "delete", resource)
}

func (c Credentials) managed(kind string, meta object.Meta, onDelete string, resource object.Map) *unstructured.Unstructured {
	return c.object(kind, meta, object.Map{
		"managementPolicy": "managed",
		"managedOptions":   object.Map{"onDelete": onDelete},
		"resource":         resource,
	})
}

func (c Credentials) object(kind string, meta object.Meta, spec object.Map) *unstructured.Unstructured {
	spec["cloudCredentialsRef"] = object.Map{"secretName": string(c.SecretName), "cloudName": c.CloudName}
	return object.New(APIVersion, kind, meta, spec)
}
