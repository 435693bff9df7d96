// Package korc makes objects of K-ORC, the OpenStack resource controller: what there is in Keystone, as Kubernetes objects.
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

// Namespace is where K-ORC's own manifests install it.
const Namespace = "orc-system"

// Credentials name the Secret with the clouds.yaml that K-ORC logs in by, and the cloud in it.
type Credentials common.CloudCredentialsReference

// Import makes an object for what exists already; K-ORC neither changes nor deletes it.
func (c Credentials) Import(kind string, meta object.Meta, filter object.Map) *unstructured.Unstructured {
	return c.object(kind, meta, object.Map{
		"managementPolicy": "unmanaged",
		"import":           object.Map{"filter": filter},
	})
}

// Managed makes an object that K-ORC creates, and keeps in Keystone when the object is deleted: what else hangs on it is
// not K-ORC's to know.
func (c Credentials) Managed(kind string, meta object.Meta, resource object.Map) *unstructured.Unstructured {
	return c.managed(kind, meta, "detach", resource)
}

// Owned makes an object that K-ORC creates, and deletes from Keystone when the object is deleted.
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
