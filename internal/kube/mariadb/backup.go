package mariadb

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Keys of the Secret with a bucket's credentials.
const (
	accessKeyIDKey     = "access-key-id"
	secretAccessKeyKey = "secret-access-key"
	bucketCAKey        = "ca.crt"
)

// Bucket is where backups lie.
type Bucket struct {
	// Name, Endpoint (host and port), Region and Prefix of the bucket.
	Name, Endpoint, Region, Prefix string
	// Secret holds access-key-id and secret-access-key, and ca.crt where PrivateCA says so.
	Secret    string
	PrivateCA bool
}

// BucketKeys are the keys of the Secret with a bucket's credentials.
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

// Bootstrap is what a new server starts from: the backup of a bucket that is closest to a moment (RFC 3339), or the newest.
func Bootstrap(from Bucket, moment string) object.Map {
	return object.WithOptional(object.Map{"backupContentType": "Physical", "s3": from.s3()}, object.Map{"targetRecoveryTime": moment})
}

// Backup is regular physical backups of a server, each taken from a member that takes no writes, if there is one.
type Backup struct {
	Meta object.Meta
	// Server is the name of the MariaDB object.
	Server string
	// Cron is when one is made, besides the first, which is made at once. Days is how long each is kept.
	Cron   string
	Days   int32
	Bucket Bucket
	// Timeout is when one that has not come to its end is given up.
	Timeout time.Duration
	// StagingSize and StagingClass are of the volume in which a backup is put together. No size: the disk of the member's node.
	StagingSize, StagingClass string
	// Tolerations are those of the members, beside which it runs.
	Tolerations []common.Toleration
	Resources   *common.Resources
	// Restarts: a container that failed is started again in its pod, which Kubernetes removes with its logs when it gives up, as the
	// operator orders by itself and does not allow to change. Else there is another pod, and the failed ones stay.
	Restarts bool
}

// backoffLimit is how often a backup is tried again: for about an hour and a half, as Kubernetes waits longer and longer, up to minutes.
// The operator's five are over in as many. It matters because a Job that has failed keeps the operator from making another until someone
// deletes it (waitForRunningJobs in internal/controller/physicalbackup_controller_job.go of v25.10.4).
const backoffLimit = 20

// ImmutableFields is what the operator does not allow to change in a PhysicalBackup: a change needs another object.
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

// Object makes the PhysicalBackup object. Its pods run on the node of the member that they copy, and get MariaDB's pull secrets.
func (b Backup) Object() *unstructured.Unstructured {
	const hoursPerDay = 24
	fixed, restart := b.ImmutableFields(), "Never"
	if b.Restarts {
		restart = "" // the operator's own
	}
	return object.New(apiVersion, "PhysicalBackup", b.Meta, restrict(object.WithOptional(object.Map{
		"mariaDbRef":   object.Map{"name": b.Server},
		"schedule":     object.Map{"cron": fixed["cron"], "immediate": true},
		"storage":      fixed["storage"],
		"maxRetention": fmt.Sprintf("%dh", int(b.Days)*hoursPerDay),
		"target":       "PreferReplica",
		// It is done by one core, which is several times slower by bzip2.
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

// LongestGap is the longest time between two of a hundred consecutive times of a schedule, counted from a fixed day.
func LongestGap(schedule common.Cron) time.Duration {
	const samples = 100
	s, err := cron.ParseStandard(string(schedule))
	if err != nil {
		return 0
	}
	longest := time.Duration(0)
	for i, at := 0, s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); i < samples && !at.IsZero(); i++ {
		next := s.Next(at)
		longest, at = max(longest, next.Sub(at)), next
	}
	return longest
}
