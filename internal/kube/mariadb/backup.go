package mariadb

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// Keys of the Secret with a bucket's credentials.
const (
	accessKeyIDKey     = "access-key-id"
	secretAccessKeyKey = "secret-access-key"
	bucketCAKey        = "ca.crt"
)

// Bucket is the location of backups.
type Bucket struct {
	// Name, Endpoint (host and port), Region and Prefix of the bucket.
	Name, Endpoint, Region, Prefix string
	// Secret has the keys access-key-id and secret-access-key, and ca.crt if PrivateCA is set.
	Secret    string
	PrivateCA bool
}

// BucketKeys returns the keys of the Secret with a bucket's credentials.
func BucketKeys(privateCA bool) []string {
	if privateCA {
		return []string{accessKeyIDKey, secretAccessKeyKey, bucketCAKey}
	}
	return []string{accessKeyIDKey, secretAccessKeyKey}
}

func (b Bucket) s3() object.Map {
	tls := object.Map{"enabled": true}
	if b.PrivateCA {
		tls["caSecretKeyRef"] = object.Map{"name": b.Secret, "key": bucketCAKey}
	}
	return object.WithOptional(object.Map{
		"bucket":                      b.Name,
		"endpoint":                    b.Endpoint,
		"accessKeyIdSecretKeyRef":     object.Map{"name": b.Secret, "key": accessKeyIDKey},
		"secretAccessKeySecretKeyRef": object.Map{"name": b.Secret, "key": secretAccessKeyKey},
		"tls":                         tls,
	}, object.Map{"region": b.Region, "prefix": b.Prefix})
}

// Bootstrap returns the source of a new server's data: the backup in a bucket closest to a moment (RFC 3339), or the latest.
func Bootstrap(from Bucket, moment string) object.Map {
	return object.WithOptional(object.Map{"backupContentType": "Physical", "s3": from.s3()}, object.Map{"targetRecoveryTime": moment})
}

// Backup builds regular physical backups of a server, preferably from a member without writes.
type Backup struct {
	Meta object.Meta
	// Server is the name of the MariaDB object.
	Server string
	// Cron is the schedule; the first backup is made at once. Days is the retention of each backup.
	Cron   string
	Days   int32
	Bucket Bucket
	// Timeout is the maximum duration of a backup.
	Timeout time.Duration
	// StagingSize and StagingClass of the volume for temporary files. Empty StagingSize: the disk of the member's node.
	StagingSize, StagingClass string
	// Tolerations of the members, because a backup runs on their nodes.
	Tolerations []common.Toleration
	Resources   *common.Resources
	// Restarts: a failed container is restarted in its pod, which Kubernetes deletes with its logs at the backoff limit. This is the
	// default of the operator, which does not allow changes. If false, another pod is created, and failed pods are kept.
	Restarts bool
}

// backoffLimit is the number of retries of a backup. With Kubernetes' increasing delays they take about an hour and a half; the operator's
// default of five takes minutes. A failed Job prevents further backups until it is deleted
// (waitForRunningJobs in internal/controller/physicalbackup_controller_job.go of v25.10.4).
const backoffLimit = 20

// ImmutableFields returns the fields of a PhysicalBackup that the operator does not allow to change: a change requires another object.
func (b Backup) ImmutableFields() object.Map {
	fixed := object.Map{"cron": b.Cron, "storage": object.Map{"s3": b.Bucket.s3()}}
	if b.StagingSize != "" {
		fixed["stagingStorage"] = object.Map{"persistentVolumeClaim": object.WithOptional(object.Map{
			"accessModes": object.List{"ReadWriteOnce"},
			"resources":   object.Map{"requests": object.Map{"storage": b.StagingSize}},
		}, object.Map{"storageClassName": b.StagingClass})}
	}
	return fixed
}

// Object builds the PhysicalBackup. Its pods run on the node of the member that they copy, and use the pull secrets of the MariaDB object.
func (b Backup) Object() *unstructured.Unstructured {
	const hoursPerDay = 24
	fixed, restart := b.ImmutableFields(), "Never"
	if b.Restarts {
		restart = "" // the default of the operator
	}
	return object.New(apiVersion, "PhysicalBackup", b.Meta, restrict(object.WithOptional(object.Map{
		"mariaDbRef":   object.Map{"name": b.Server},
		"schedule":     object.Map{"cron": fixed["cron"], "immediate": true},
		"storage":      fixed["storage"],
		"maxRetention": fmt.Sprintf("%dh", int(b.Days)*hoursPerDay),
		"target":       "PreferReplica",
		// One core compresses; bzip2 is several times slower.
		"compression":  "gzip",
		"timeout":      b.Timeout.String(),
		"backoffLimit": int64(backoffLimit),
	}, object.Map{
		"stagingStorage": fixed["stagingStorage"],
		"restartPolicy":  restart,
		"tolerations":    object.Tolerations(b.Tolerations),
		"resources":      object.Resources(b.Resources),
	}), serverUser))
}

// MaxBackupAge returns the maximum age of the last backup: the longest interval of the schedule, and the time that a backup may take.
func MaxBackupAge(cron common.Cron, timeout time.Duration) (time.Duration, error) {
	s, err := schedule.Parse(string(cron))
	return s.Longest() + timeout, err
}
