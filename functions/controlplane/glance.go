package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/image"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// glance builds the composite resource of the image service.
func glance(m *model, s *services.State) runtime.Object {
	u := s.Processes()
	return &glancev1.Glance{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: glancev1.GlanceSpec{
			ServiceSpec: m.ServiceSpec(s), Workload: s.Workload, Identity: m.IdentitySpec(), KeyManager: m.KeyManager(), Storage: m.imageStorage(s),
			StorageClients: m.StorageClients(s.Name), Archive: ptr.Deref(m.Spec.Services.Glance.Archive, glancev1.Archive{}),
			UWSGI: glancev1.UWSGI{Processes: u.Processes, Threads: u.Threads},
		},
	}
}

func checkGlance(m *model, s *services.State, r release.Release) error {
	spec, storage := s.CheckedSpec(), m.Spec.Services.Glance.Storage
	spec.Groups = image.Groups(storage.Stores)
	errs := []error{image.Check(s.FieldPath(""), r, spec, &storage)}
	for i, store := range storage.Stores {
		if o := store.S3; o != nil {
			field := s.FieldPath(fmt.Sprintf(".stores[%d].s3", i))
			errs = append(errs, claim.CheckObjectStore(field, o.Endpoint, o.URLFormat, o.Bucket, o.CASecretRef != nil))
		}
	}
	if a := m.Spec.Services.Glance.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.FieldPath(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// glanceProcesses returns Glance's uWSGI settings in the common form. Its default has more threads than other services, because threads
// wait for clients.
func glanceProcesses(u *glancev1.UWSGI) *common.UWSGI {
	const threads = 4
	requested := ptr.Deref(u, glancev1.UWSGI{})
	return &common.UWSGI{Processes: requested.Processes, Threads: cmp.Or(requested.Threads, threads)}
}

// imageStorage returns the storage settings of images, with the platform's storage class where the claim sets none. An existing volume
// keeps its class.
func (m *model) imageStorage(s *services.State) glancev1.Storage {
	out := *m.Spec.Services.Glance.Storage.DeepCopy()
	for i := range out.Stores {
		if f := out.Stores[i].File; f != nil {
			f.StorageClass = cmp.Or(f.StorageClass, common.ObjectName(storeClass(s.Observed, out.Stores[i].Name, string(m.Platform.StorageClass))))
		}
	}
	class := func(v *glancev1.Volume, path ...string) {
		storageClass := string(m.Platform.StorageClass)
		if s.Observed.Map(path...) != nil {
			storageClass = s.Observed.String(append(path, "storageClass")...)
		}
		v.StorageClass = cmp.Or(v.StorageClass, common.ObjectName(storageClass))
	}
	if i := out.Import; i != nil && i.Staging != nil {
		class(i.Staging, "spec", "import", "staging")
	}
	if c := out.ImageCache; c != nil {
		class(&c.Volume, "spec", "imageCache")
	}
	return out
}

// storeClass returns the storage class of an existing store, or the default for a new one.
func storeClass(observedState *observe.Object, name glancev1.StoreName, storageClass string) string {
	for _, store := range observedState.List("spec", "stores") {
		previous, _ := store.(map[string]any)
		if file, ok := previous["file"].(map[string]any); ok && previous["name"] == string(name) {
			class, _ := file["storageClass"].(string)
			return class
		}
	}
	return storageClass
}

func glanceSecrets(s *controlplanev1.Services) []claim.SecretReference {
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

// glancePools lists the pools of stores.
func glancePools(s *controlplanev1.Services) []infrastructure.PoolReference {
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

func glanceReferences(path string, value any) []bounds.ExternalReference {
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

// glanceVolumes returns the costs of one volume for each file store, and of two volumes in each pod.
func glanceVolumes(m *model, s *services.State) []bounds.CostItem {
	g := m.Spec.Services.Glance
	var out []bounds.CostItem
	for i, store := range g.Stores {
		if f := store.File; f != nil {
			out = append(out, bounds.CostItem{
				Field: s.FieldPath(fmt.Sprintf(".stores[%d].file", i)), Replicas: 1, Storage: string(f.StorageSize), Program: minimum.ImageStore,
			})
		}
	}
	if g.Import != nil && g.Import.Staging != nil {
		out = append(out, bounds.CostItem{
			Field: s.FieldPath(".import.staging"), Replicas: *s.Workload.Replicas, Storage: string(g.Import.Staging.StorageSize),
			Program: minimum.ImageStaging,
		})
	}
	if c := g.ImageCache; c != nil {
		out = append(out, bounds.CostItem{
			Field: s.FieldPath(".imageCache"), Replicas: *s.Workload.Replicas, Storage: string(c.StorageSize), Program: minimum.ImageCache,
		})
	}
	return out
}

// glanceLocations lists where stores keep images.
func glanceLocations(m *model, s *services.State) []bounds.Location {
	var out []bounds.Location
	for i, store := range m.Spec.Services.Glance.Stores {
		field := s.FieldPath(fmt.Sprintf(".stores[%d]", i))
		switch {
		case store.S3 != nil:
			out = append(out, bounds.BucketLocation(field+".s3", store.S3.Endpoint, store.S3.Bucket, ""))
		case store.RBD != nil:
			out = append(out, bounds.CephLocation(field+".rbd", store.RBD.Pool, "images", store.RBD.SecretRef))
		case store.Ceph != nil:
			out = append(out, bounds.PoolLocation(field+".ceph", store.Ceph))
		case store.Swift != nil:
			out = append(out, bounds.Location{Field: field + ".swift", Name: fmt.Sprintf("container %s of the account of Secret %s at %s",
				cmp.Or(store.Swift.Container, "glance"), store.Swift.CredentialsSecretRef.Name, bounds.HostOf(string(store.Swift.AuthURL)))})
		}
	}
	return out
}
