package rook

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// NFSApp is what servers of NFS are called.
const NFSApp = "rook-ceph-nfs"

// NFSName is the Service, and the Deployment, of a server: Rook counts them by letters.
func NFSName(name string, server int32) string {
	return NFSApp + "-" + name + "-" + string('a'+server)
}

// NFS makes a CephNFS. It is called in Ceph as the object is, and what it exports is in a namespace of that name in the pool .nfs, whatever
// the spec says (nfs/controller.go of v1.18.8).
func NFS(meta object.Meta, servers int32, resources *common.Resources, placement object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephNFS", meta, object.Map{"server": object.WithOptional(object.Map{"active": int64(servers)}, object.Map{
		"resources": object.Resources(resources), "placement": placement,
	})})
}
