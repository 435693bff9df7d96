package rook

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// NFSApp is the app name of NFS servers.
const NFSApp = "rook-ceph-nfs"

// NFSName returns the name of the Service and Deployment of a server: Rook numbers servers with letters.
func NFSName(name string, server int32) string {
	return NFSApp + "-" + name + "-" + string('a'+server)
}

// NFS builds a CephNFS. Its name in Ceph is the name of the object, and its exports are in a RADOS namespace with that name in the pool
// .nfs, regardless of the spec (nfs/controller.go of v1.18.8).
func NFS(meta object.Meta, servers int32, resources *common.Resources, placement object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephNFS", meta, object.Map{"server": object.WithOptional(object.Map{"active": int64(servers)}, object.Map{
		"resources": object.Resources(resources), "placement": placement,
	})})
}
