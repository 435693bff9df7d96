package cinder

import (
	"fmt"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// Secrets lists the Secrets of Ceph clients and of the object store for backups.
func (Service) Secrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil // A disabled service needs no Secret.
	}
	var out []claim.SecretReference
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, claim.SecretReference{Name: name, Field: "spec.services.cinder." + field, Keys: keys})
	}
	for i := range s.Cinder.Backends {
		if r := s.Cinder.Backends[i].RBD; r != nil {
			add(&r.SecretRef.Name, fmt.Sprintf("backends[%d].rbd.secretRef", i), cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
		}
	}
	if b := s.Cinder.Backup; b != nil && b.RBD != nil {
		add(&b.RBD.SecretRef.Name, "backup.rbd.secretRef", cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
	}
	if b := s.Cinder.Backup; b != nil && b.S3 != nil {
		add(&b.S3.CredentialsSecretRef.Name, "backup.s3.credentialsSecretRef", cinderv1.S3AccessKeyIDKey, cinderv1.S3SecretAccessKeyKey)
		if ca := b.S3.CASecretRef; ca != nil {
			add(&ca.Name, "backup.s3.caSecretRef", string(ca.Key))
		}
	}
	if b := s.Cinder.Backup; b != nil && b.Swift != nil {
		if ca := b.Swift.CASecretRef; ca != nil {
			add(&ca.Name, "backup.swift.caSecretRef", string(ca.Key))
		}
	}
	return out
}

// Pools lists the pools of backends and of backups.
func (Service) Pools(s *controlplanev1.Services) []infrastructure.PoolReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil
	}
	var out []infrastructure.PoolReference
	for i, b := range s.Cinder.Backends {
		if p := b.Ceph; p != nil {
			out = append(out, infrastructure.PoolReference{
				Place: cinderv1.PlaceOf(b.Name), Field: fmt.Sprintf("spec.services.cinder.backends[%d].ceph", i), Pool: *p,
				User: storagev1.ServiceCinder,
			})
		}
	}
	if b := s.Cinder.Backup; b != nil && b.Ceph != nil {
		out = append(out, infrastructure.PoolReference{
			Place: cinderv1.BackupPlace, Field: "spec.services.cinder.backup.ceph", Pool: *b.Ceph, User: storagev1.ServiceCinderBackup,
		})
	}
	return out
}

// ExternalReferences lists the references to external systems in a value of the service's types.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	networks := func(list []common.CIDR) []bounds.ExternalReference {
		if len(list) == 0 {
			return []bounds.ExternalReference{{List: &bounds.StorageNetworks, Field: path + ".networks", Value: bounds.AnyNetwork}}
		}
		return bounds.ListEntries(&bounds.StorageNetworks, path+".networks", list)
	}
	switch v := value.(type) {
	case cinderv1.RBD:
		return networks(v.Networks)
	case cinderv1.BackupRBD:
		return networks(v.Networks)
	case cinderv1.NFS:
		// The node mounts the share, so the server's address counts.
		var out []bounds.ExternalReference
		for _, share := range v.Shares {
			out = append(out, bounds.ExternalReference{List: &bounds.NFSServers, Field: path + ".shares", Value: volume.Server(share)})
		}
		return out
	case cinderv1.BackupNFS:
		return []bounds.ExternalReference{{List: &bounds.NFSServers, Field: path + ".share", Value: volume.Server(v.Share)}}
	case cinderv1.BackupFile:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case cinderv1.S3:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".endpoint", Value: v.Endpoint}}
	case cinderv1.Swift:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".url", Value: v.URL}}
	}
	return nil
}
