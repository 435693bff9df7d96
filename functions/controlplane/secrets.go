package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
)

// secretsNamed lists all fields of a spec that reference a Secret, except pull secrets. Only these Secrets are available to workloads: a
// test compares the list with the types.
func secretsNamed(s *controlplanev1.ControlPlaneClusterSpec) []claim.SecretReference {
	var out []claim.SecretReference
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, claim.SecretReference{Name: name, Field: field, Keys: keys})
	}
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			add(&r.Name, field, string(r.Key))
		}
	}
	db := &s.Infrastructure.MariaDB
	const mariaDB = "spec.infrastructure.mariadb."
	if e := db.External; e != nil {
		add(&e.SecretRef.Name, mariaDB+"external.secretRef", mariadb.ExternalKeys()...)
	}
	if b := db.Backup; b != nil {
		add(&b.S3.CredentialsSecretRef.Name, mariaDB+"backup.s3.credentialsSecretRef", mariadb.BucketKeys(b.S3.PrivateCA)...)
	}
	if r := db.RestoreFrom; r != nil {
		add(&r.S3.CredentialsSecretRef.Name, mariaDB+"restoreFrom.s3.credentialsSecretRef", mariadb.BucketKeys(r.S3.PrivateCA)...)
		key(r.RootPasswordSecretRef, mariaDB+"restoreFrom.rootPasswordSecretRef")
	}
	if q := s.Infrastructure.RabbitMQ.External; q != nil {
		key(&q.CASecretRef, "spec.infrastructure.rabbitmq.external.caSecretRef")
		key(&q.PasswordSecretRef, "spec.infrastructure.rabbitmq.external.passwordSecretRef")
	}
	for _, service := range serviceTable {
		out = append(out, service.Secrets(&s.Services)...)
	}
	return out
}
