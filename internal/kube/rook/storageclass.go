package rook

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// BlockDriver returns the CSI driver of block devices. Its prefix is configured in Rook; the default is the namespace of its operator.
func BlockDriver(prefix string) string { return prefix + ".rbd.csi.ceph.com" }

// StorageClass builds a StorageClass of a pool. It uses the CSI users that Rook creates for every cluster, whose Secrets are in its
// namespace (https://github.com/rook/rook/blob/v1.18.8/deploy/examples/csi/rbd/storageclass.yaml). A cluster has the name of its namespace.
func StorageClass(meta object.Meta, driver, cluster, pool, reclaim string) *storagev1.StorageClass {
	policy, grows := corev1.PersistentVolumeReclaimPolicy(reclaim), true
	parameters := map[string]string{
		"clusterID": cluster, "pool": pool, "imageFormat": "2", "imageFeatures": "layering", "csi.storage.k8s.io/fstype": "ext4",
	}
	for step, secret := range map[string]string{
		"provisioner": "rook-csi-rbd-provisioner", "controller-expand": "rook-csi-rbd-provisioner",
		"controller-publish": "rook-csi-rbd-provisioner", "node-stage": "rook-csi-rbd-node",
	} {
		parameters["csi.storage.k8s.io/"+step+"-secret-name"] = secret
		parameters["csi.storage.k8s.io/"+step+"-secret-namespace"] = cluster
	}
	return &storagev1.StorageClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(), Kind: "StorageClass"},
		ObjectMeta:  metav1.ObjectMeta{Name: meta.Name, Labels: meta.Labels},
		Provisioner: driver, Parameters: parameters, ReclaimPolicy: &policy, AllowVolumeExpansion: &grows,
	}
}
