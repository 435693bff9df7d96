package ovn

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// snapshot is the CronJob's component, and its name suffix.
const snapshot = "snapshot"

// bucketFolder is the folder of an object store's CA.
const bucketFolder = "/etc/ovn/bucket"

// Keys of the Secret with a bucket's credentials.
const (
	accessKeyIDKey     = "access-key-id"
	secretAccessKeyKey = "secret-access-key"
	bucketCAKey        = "ca.crt"
)

// snapshots copies both databases into a bucket periodically. The snapshots of the two databases may be from different times: northd
// updates the southbound one from the northbound one after a restore.
func (m *model) snapshots() ([]compose.Stage, error) {
	b := m.spec.Backup
	w := m.workload(snapshot)
	r, err := resources("spec.backup", common.Process{})
	if err != nil {
		return nil, err
	}
	w.Resources = r
	store, err := bucketFlow("spec.backup", b.Bucket)
	if err != nil {
		return nil, err
	}
	p := m.pod("snapshot.sh", m.secret(client))
	if p.Scratch, err = m.copySize(); err != nil {
		return nil, err
	}
	c := &p.Containers[0]
	c.StartupProbe, c.LivenessProbe, c.ReadinessProbe = nil, nil, nil // it runs to its end
	addBucketAccess(&p, b.Bucket)
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "DATABASES", Value: m.north.schema + "=" + m.north.endpoint() + " " + m.south.schema + "=" + m.south.endpoint()},
		corev1.EnvVar{Name: "DAYS", Value: strconv.Itoa(int(b.RetentionDays))},
		corev1.EnvVar{Name: "TLS", Value: tlsFolder}, corev1.EnvVar{Name: "INSTANCE", Value: m.namespace + "/" + m.name})
	members := []workload.Flow{
		{Pods: m.north.workload.Selector(), Ports: []int32{m.north.port}},
		{Pods: m.south.workload.Selector(), Ports: []int32{m.south.port}}, store,
	}
	return []compose.Stage{{
		{Name: snapshot + "-network-policy", Object: w.NetworkPolicy(nil, members)},
		{Name: snapshot, Object: w.CronJob(p, string(m.spec.Backup.Schedule), false)},
	}}, nil
}

// copySize returns the size of a directory for the copy of one database and its compressed form: the size of the larger volume, which holds
// a database, its log, and a second database during compaction.
func (m *model) copySize() (*resource.Quantity, error) {
	north, err := m.north.claims()
	if err != nil {
		return nil, err
	}
	south, err := m.south.claims()
	if err != nil {
		return nil, err
	}
	size := workload.DefaultScratch
	for _, c := range append(north, south...) {
		if c.Size.Cmp(size) > 0 {
			size = c.Size
		}
	}
	return &size, nil
}

// bucketFlow returns egress to an object store.
func bucketFlow(field string, b ovnv1.Bucket) (workload.Flow, error) {
	f, err := workload.ExternalEgress("https://" + b.Endpoint)
	if err != nil {
		return f, invalid.Field(field+".endpoint", "%s", err)
	}
	return f, nil
}

// addBucketAccess gives a pod's script access to a bucket.
func addBucketAccess(p *workload.Pod, b ovnv1.Bucket) {
	name, prefix := string(b.CredentialsSecretRef.Name), strings.Trim(b.Prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	c := &p.Containers[0]
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "BUCKET", Value: b.Bucket}, corev1.EnvVar{Name: "ENDPOINT", Value: b.Endpoint},
		corev1.EnvVar{Name: "REGION", Value: b.Region}, corev1.EnvVar{Name: "PREFIX", Value: prefix},
		workload.SecretEnv("ACCESS_KEY_ID", name, accessKeyIDKey), workload.SecretEnv("SECRET_ACCESS_KEY", name, secretAccessKeyKey))
	if b.PrivateCA {
		p.Volumes = append(p.Volumes, workload.SecretVolume("bucket", name, bucketCAKey))
		c.VolumeMounts = append(c.VolumeMounts, workload.Mount("bucket", bucketFolder))
		c.Env = append(c.Env, corev1.EnvVar{Name: "BUCKET_CA", Value: bucketFolder + "/" + bucketCAKey})
	}
}

// withoutSecret makes a Secret optional for a pod whose script may not need it: a member with an existing database does not read the
// bucket.
func withoutSecret(p *workload.Pod, name string) {
	for _, e := range p.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == name {
			e.ValueFrom.SecretKeyRef.Optional = new(true)
		}
	}
	for _, v := range p.Volumes {
		if v.Secret != nil && v.Secret.SecretName == name {
			v.Secret.Optional = new(true)
		}
	}
}

// snapshotTimestamp converts a time to the format in names of snapshots.
func snapshotTimestamp(t string) string { return strings.NewReplacer("-", "", ":", "").Replace(t) }

// restoring returns the progress message of a database that is created from a snapshot. Empty: it is not restored.
func (m *model) restoring() string {
	from := m.spec.RestoreFrom
	if from == nil {
		return ""
	}
	return fmt.Sprintf("restoring from bucket %s; see the log of its first pod for progress", from.Bucket.Bucket)
}
