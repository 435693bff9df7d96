package cinder

import (
	"k8s.io/apimachinery/pkg/api/resource"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Sizes of what the backup service has in memory. Cinder's defaults assume a server: 15 backups at once, and objects of 1.9 GiB for files
// and shares, 50 MiB for buckets and Swift, and 128 MiB for Ceph, each read into memory as a whole.
const (
	mib = 1 << 20
	// idleBytes is the memory of the process without a backup: Python, Cinder, and librbd.
	idleBytes = 192 * mib
	// operationBytes is the least memory for which the service begins one more backup or restoration.
	operationBytes = 128 * mib
	// mostOperations is Cinder's own limit (backup_max_operations).
	mostOperations = 15
	// objectShare is the part of an operation's memory that an object takes. It is there four times: as it was read, compressed, and where
	// it is sent to an object store, in the writer and in the request (cinder.backup.chunkeddriver, cinder.backup.drivers.s3). The other
	// half is for hashes.
	objectShare = 8
	// Objects smaller than the least are too many for a large volume, and larger ones than the most need no fewer requests.
	leastObject, mostObject = 1 * mib, 48 * mib
	// blockBytes is how much of a volume has one hash in an object that lists all of them, by which an incremental backup finds what has
	// changed. The list is in memory, and once more as JSON. By Cinder's default of 32 KiB it has 9 MiB for each GiB of the volume, by this
	// one 0.3 MiB. An object has to be a multiple of it.
	blockBytes = 1 * mib
)

// backupOptions fit the backup service into the memory of its pods. They are in the file, and not in the environment of its pods: a tenant
// can set them otherwise.
func backupOptions(b *cinderv1.Backup) oslo.Options {
	operations, object := backupSizes(string(b.Memory))
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

// backupSizes returns how many backups a pod with a limit of memory makes at once, and the bytes of each object of one.
func backupSizes(memory string) (operations, object int64) {
	limit, err := resource.ParseQuantity(memory)
	if err != nil {
		limit = resource.MustParse("512Mi") // That of the smallest size: without a limit, memory is the node's.
	}
	room := limit.Value() - idleBytes
	operations = min(max(room/operationBytes, 1), mostOperations)
	object = room / operations / objectShare / mib * mib
	return operations, min(max(object, leastObject), mostObject)
}
