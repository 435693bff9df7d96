package cinder

import (
	"k8s.io/apimachinery/pkg/api/resource"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Sizes of the backup service's data in memory. Cinder's defaults assume a large server: 15 concurrent backups, and objects of 1.9 GiB for
// files and shares, 50 MiB for buckets and Swift, and 128 MiB for Ceph, each held in memory completely.
const (
	mib = 1 << 20
	// idleBytes is the memory of the process without a backup: Python, Cinder, and librbd.
	idleBytes = 192 * mib
	// operationBytes is the minimum of memory per concurrent backup or restoration.
	operationBytes = 128 * mib
	// mostOperations is Cinder's own limit (backup_max_operations).
	mostOperations = 15
	// objectShare is the fraction of an operation's memory for one object. Four copies exist at a time: as read, compressed, and for an object
	// store in the writer and in the request (cinder.backup.chunkeddriver, cinder.backup.drivers.s3). The other half is for hashes.
	objectShare = 8
	// Objects below the minimum are too many for a large volume; above the maximum, the number of requests hardly decreases.
	leastObject, mostObject = 1 * mib, 48 * mib
	// blockBytes is the block size of hashes, by which an incremental backup finds changes. An object lists all hashes; the list is in memory,
	// and once more as JSON. With Cinder's default of 32 KiB it has 9 MiB for each GiB of the volume, with this one 0.3 MiB. The object size
	// must be a multiple of it.
	blockBytes = 1 * mib
)

// backupOptions returns options that fit the backup service into the memory of its pods. They are in the file instead of the environment,
// so that a tenant can override them.
func backupOptions(b *cinderv1.Backup) oslo.Options {
	var limit *resource.Quantity
	if r := service.Resources(b.Process); r.Limits != nil {
		limit = r.Limits.Memory
	}
	operations, object := backupSizes(limit)
	out := oslo.Options{"backup_max_operations": operations}
	switch {
	case b.S3 != nil:
		out["backup_s3_object_size"], out["backup_s3_block_size"] = object, blockBytes
	case b.Swift != nil:
		out["backup_swift_object_size"], out["backup_swift_block_size"] = object, blockBytes
	case b.Ceph != nil, b.RBD != nil: // The driver compares no hashes.
		out["backup_ceph_chunk_size"] = object
	default:
		out["backup_file_size"], out["backup_sha_block_size_bytes"] = object, blockBytes
	}
	return out
}

// backupSizes returns the number of concurrent backups of a pod with a memory limit, which may be nil, and the object size in bytes.
func backupSizes(limit *resource.Quantity) (operations, object int64) {
	if limit == nil {
		limit = new(resource.MustParse("512Mi")) // The default of the smallest size; without a limit, the pod may use the node's memory.
	}
	available := limit.Value() - idleBytes
	operations = min(max(available/operationBytes, 1), mostOperations)
	object = available / operations / objectShare / mib * mib
	return operations, min(max(object, leastObject), mostObject)
}
