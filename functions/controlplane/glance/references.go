package glance

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
)

// Secrets lists the fields of a spec that reference Secrets of the service.
func (Service) Secrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Glance == nil || !s.Glance.Enabled {
		return nil // A disabled service needs no Secret.
	}
	var out []claim.SecretReference
	for i := range s.Glance.Stores {
		add := func(name *common.ObjectName, field string, keys ...string) {
			out = append(out, claim.SecretReference{Name: name, Field: fmt.Sprintf("spec.services.glance.stores[%d].%s", i, field), Keys: keys})
		}
		authority := func(r *common.SecretKeyReference, field string) {
			if r != nil {
				add(&r.Name, field, string(r.Key))
			}
		}
		store := &s.Glance.Stores[i]
		if b := store.S3; b != nil {
			add(&b.CredentialsSecretRef.Name, "s3.credentialsSecretRef", glancev1.S3AccessKeyIDKey, glancev1.S3SecretAccessKeyKey)
			authority(b.CASecretRef, "s3.caSecretRef")
		}
		if r := store.RBD; r != nil {
			add(&r.SecretRef.Name, "rbd.secretRef", glancev1.RBDConfigKey, glancev1.RBDKeyringKey)
		}
		if w := store.Swift; w != nil {
			add(&w.CredentialsSecretRef.Name, "swift.credentialsSecretRef", glancev1.SwiftUsernameKey, glancev1.SwiftPasswordKey,
				glancev1.SwiftProjectKey, glancev1.SwiftUserDomainKey, glancev1.SwiftProjectDomainKey)
			authority(w.CASecretRef, "swift.caSecretRef")
		}
	}
	return out
}

// Pools lists the pools of stores.
func (Service) Pools(s *controlplanev1.Services) []infrastructure.PoolReference {
	if s.Glance == nil || !s.Glance.Enabled {
		return nil
	}
	var out []infrastructure.PoolReference
	for i, store := range s.Glance.Stores {
		if p := store.Ceph; p != nil {
			out = append(out, infrastructure.PoolReference{
				Place: glancev1.PlaceOf(store.Name), Field: fmt.Sprintf("spec.services.glance.stores[%d].ceph", i), Pool: *p,
				User: storagev1.ServiceGlance,
			})
		}
	}
	return out
}

// ExternalReferences lists the references to external systems in a value of the service's types.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case glancev1.FileStore:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case glancev1.Volume:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case glancev1.S3Store:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".endpoint", Value: v.Endpoint}}
	case glancev1.SwiftStore:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".authURL", Value: string(v.AuthURL)}}
	case glancev1.RBDStore:
		if len(v.Networks) == 0 {
			return []bounds.ExternalReference{{List: &bounds.StorageNetworks, Field: path + ".networks", Value: bounds.AnyNetwork}}
		}
		return bounds.ListEntries(&bounds.StorageNetworks, path+".networks", v.Networks)
	case glancev1.Import:
		if slices.Contains(v.Methods, "web-download") && len(ptr.Deref(v.WebDownload, glancev1.WebDownload{}).AllowedHosts) == 0 {
			return []bounds.ExternalReference{{List: &bounds.DownloadHosts, Field: path + ".webDownload.allowedHosts", Value: bounds.AnyHost}}
		}
	case glancev1.WebDownload:
		return bounds.ListEntries(&bounds.DownloadHosts, path+".allowedHosts", v.AllowedHosts)
	}
	return nil
}
