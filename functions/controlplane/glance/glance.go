// Package glance derives the composite resource of Glance from a claim.
package glance

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/image"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Glance, the image service.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: glancev1.ServiceName, Kind: glancev1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent},
		PublicPath: "/image", Internal: glancev1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	g := s.Glance
	if g == nil || !g.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: g.Service, Workload: g.Workload, UWSGI: withDefaultThreads(g.UWSGI)}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Glance.
type model struct{ services.Common }

// Object returns the composite resource of the image service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	u := s.Processes()
	out := &glancev1.Glance{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: glancev1.GlanceSpec{
			ServiceSpec: m.ServiceSpec(s), Workload: s.Workload, Identity: m.IdentitySpec(), KeyManager: m.KeyManager(), Storage: imageStorage(m, s),
			StorageClients: m.StorageClients(s.Name), Archive: ptr.Deref(m.Spec.Services.Glance.Archive, glancev1.Archive{}),
			UWSGI: glancev1.UWSGI{Processes: u.Processes, Threads: u.Threads},
		},
	}
	return out, nil
}

// Check returns an error for settings that Glance rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	spec, storage := s.CheckedSpec(), m.Spec.Services.Glance.Storage
	spec.Groups = image.Groups(storage.Stores)
	errs := []error{image.Check(s.FieldPath(""), r, spec, &storage)}
	for i, store := range storage.Stores {
		if o := store.S3; o != nil {
			field := s.FieldPath(fmt.Sprintf(".stores[%d].s3", i))
			errs = append(errs, claim.CheckObjectStore(field, o.Endpoint, o.URLFormat, o.Bucket, o.CASecretRef != nil))
		}
	}
	return errors.Join(errs...)
}

// withDefaultThreads returns Glance's uWSGI settings in the common form. Its default has more threads than other services, because threads
// wait for clients.
func withDefaultThreads(u *glancev1.UWSGI) *common.UWSGI {
	xr := glancev1.Glance{Spec: glancev1.GlanceSpec{UWSGI: ptr.Deref(u, glancev1.UWSGI{})}}
	function.SetDefaults(&xr)
	return &common.UWSGI{Processes: xr.Spec.UWSGI.Processes, Threads: xr.Spec.UWSGI.Threads}
}

// imageStorage returns the storage settings of images, with the platform's storage class where the claim sets none. An existing volume
// keeps its class.
func imageStorage(m *services.Cloud, s *services.State) glancev1.Storage {
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

// Volumes returns the costs of one volume for each file store, and of two volumes in each pod.
func (x model) Volumes() []cost.Item {
	m, s := x.Cloud, x.State
	g := m.Spec.Services.Glance
	var out []cost.Item
	for i, store := range g.Stores {
		if f := store.File; f != nil {
			out = append(out, cost.Item{
				Field: s.FieldPath(fmt.Sprintf(".stores[%d].file", i)), Replicas: 1, Storage: string(f.StorageSize), Program: minimum.ImageStore,
			})
		}
	}
	if g.Import != nil && g.Import.Staging != nil {
		out = append(out, cost.Item{
			Field: s.FieldPath(".import.staging"), Replicas: *s.Workload.Replicas, Storage: string(g.Import.Staging.StorageSize),
			Program: minimum.ImageStaging,
		})
	}
	if c := g.ImageCache; c != nil {
		out = append(out, cost.Item{
			Field: s.FieldPath(".imageCache"), Replicas: *s.Workload.Replicas, Storage: string(c.StorageSize), Program: minimum.ImageCache,
		})
	}
	return out
}

// Locations lists where stores keep images.
func (x model) Locations() []bounds.Location {
	m, s := x.Cloud, x.State
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
				store.Swift.Container, store.Swift.CredentialsSecretRef.Name, bounds.HostOf(string(store.Swift.AuthURL)))})
		}
	}
	return out
}
