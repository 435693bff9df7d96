package infrastructure

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
)

// backupResource is the composed resource of backups with the name of the database.
const backupResource = "database-backup"

// ComposeBackup composes the scheduled backups of the database. No component depends on it, so that an unavailable object store delays
// only the claim that uses it.
func (inf *Infrastructure) ComposeBackup() ([]compose.Stage, error) {
	b := inf.backups()
	resource := backupResource
	if suffix, ok := strings.CutPrefix(b.Meta.Name, mariaDBName+"-"); ok {
		resource += "-" + suffix
	}
	copied := inf.Secrets.Resource(string(inf.Spec.Infrastructure.MariaDB.Backup.S3.CredentialsSecretRef.Name))
	return []compose.Stage{{{Name: resource, Object: b.Object(), After: []string{copied}}}}, nil
}

// BacksUp reports whether the claim requests backups of the database.
func (inf *Infrastructure) BacksUp() bool { return inf.Spec.Infrastructure.MariaDB.Backup != nil }

// backups returns the scheduled backups of the database. The name contains a hash of the fields that the operator does not allow to change,
// so that a change creates a new object: the old object is removed in the same reconciliation, and the new one starts a backup immediately.
// If the bucket is unchanged, the new object also applies its retention to the backups of the old one. An object with the name of the
// database keeps that name until an immutable field changes.
func (inf *Infrastructure) backups() mariadb.Backup {
	want := inf.Spec.Infrastructure.MariaDB.Backup
	b := mariadb.Backup{
		Server: mariaDBName, Cron: string(want.Schedule), Days: want.RetentionDays, Bucket: bucket(want.S3),
		Timeout: inf.backupTimeout(), Tolerations: inf.Spec.Infrastructure.MariaDB.Tolerations,
		Resources: claim.Resources("100m", "256Mi", "2Gi"),
	}
	if v := want.StagingStorage; v != nil {
		b.StagingSize, b.StagingClass = string(v.StorageSize), string(cmp.Or(v.StorageClass, inf.Platform.StorageClass))
	}
	const digits = 8
	name := mariaDBName
	if b.Restarts = immutableFieldsEqual(inf.observedDatabase.backup, b.ImmutableFields()); !b.Restarts {
		name += "-" + names.HashOf(digits, b.ImmutableFields())
	}
	b.Meta = inf.Meta(name)
	return b
}

func (inf *Infrastructure) backupTimeout() time.Duration {
	return mariadb.BackupTimeout(quantity.Bytes(string(inf.DatabaseStorage())))
}

// immutableFieldsEqual reports whether the backup object exists and no immutable field has to change.
func immutableFieldsEqual(o *observe.Object, want object.Map) bool {
	if !o.Exists() {
		return false
	}
	is := object.WithOptional(object.Map{"cron": o.String("spec", "schedule", "cron"), "storage": o.Map("spec", "storage")},
		object.Map{"stagingStorage": o.Map("spec", "stagingStorage")})
	return reflect.DeepEqual(withoutEmpty(is), withoutEmpty(want))
}

// withoutEmpty returns a value without the empty strings that the operator writes for unset fields.
func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, e := range m {
		if e != "" {
			out[k] = withoutEmpty(e)
		}
	}
	return out
}
