// Package image validates a Glance spec beyond its schema and completes it. It is used for claims, so that the claim
// reports the errors, and for a Glance that is created manually.
package image

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Spec returns the parts of a Glance spec that all services have.
func Spec(s *glancev1.GlanceSpec) service.Spec {
	return service.Spec{
		ServiceSpec: &s.ServiceSpec, Workload: &s.Workload, Identity: &s.Identity, Groups: Groups(s.Stores),
		UWSGI: &common.UWSGI{Processes: s.UWSGI.Processes, Threads: s.UWSGI.Threads},
	}
}

// Complete sets the defaults that a schema cannot express: the default store, and the methods of imports with their filter.
func Complete(s *glancev1.Storage) {
	if s.DefaultStore == "" && len(s.Stores) > 0 {
		s.DefaultStore = s.Stores[0].Name
	}
	if s.Import == nil {
		s.Import = &glancev1.Import{}
	}
	if len(s.Import.Methods) == 0 {
		s.Import.Methods = []glancev1.ImportMethod{glancev1.GlanceDirect, glancev1.CopyImage}
	}
	if !slices.Contains(s.Import.Methods, glancev1.WebDownloadMethod) {
		s.Import.WebDownload = nil
		return
	}
	w := ptr.Deref(s.Import.WebDownload, glancev1.WebDownload{})
	if len(w.AllowedPorts) == 0 {
		w.AllowedPorts = []int32{443}
	}
	if len(w.AllowedSchemes) == 0 {
		w.AllowedSchemes = []string{"https"}
	}
	s.Import.WebDownload = &w
}

// Groups returns the option groups of the stores, which are named after them.
func Groups(stores []glancev1.Store) []registry.Group {
	var out []registry.Group
	for _, s := range stores {
		out = append(out, registry.Group{Name: string(s.Name), Template: Driver(s)})
	}
	return out
}

// Driver returns Glance's name of the driver of a store.
func Driver(s glancev1.Store) string {
	switch {
	case s.S3 != nil:
		return "s3"
	case s.RBD != nil, s.Ceph != nil:
		return "rbd"
	case s.Swift != nil:
		return "swift"
	}
	return "file"
}

// Check returns all errors in a spec for a release, as joined invalid.Spec errors. The defaults of the spec and the groups
// of the stores must be set. base is the path of the spec.
func Check(base string, r release.Release, s service.Spec, storage *glancev1.Storage) error {
	stores := checkStores(base, r, ptr.Deref(s.Workload.Replicas, 1), storage.Stores)
	if err := errors.Join(stores, checkSizes(base, storage)); err != nil {
		return err // Options of stores cannot be looked up if the stores are wrong.
	}
	return s.Check(base, glancev1.ServiceName, r)
}

// checkSizes returns an error for invalid quantities. They are not validated by a schema if the status of a Glance was
// modified, or if it is rendered without an API server.
func checkSizes(base string, storage *glancev1.Storage) error {
	sizes := map[string]glancev1.StorageSize{}
	for i, s := range storage.Stores {
		if s.File != nil {
			sizes[fmt.Sprintf("%s.stores[%d].file", base, i)] = s.File.StorageSize
		}
	}
	if i := storage.Import; i != nil && i.Staging != nil {
		sizes[base+".import.staging"] = i.Staging.StorageSize
	}
	if c := storage.ImageCache; c != nil {
		sizes[base+".imageCache"] = c.StorageSize
	}
	var errs []error
	for _, field := range slices.Sorted(maps.Keys(sizes)) {
		_, err := quantity.Parse(field+".storageSize", string(sizes[field]), "100Gi")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkStores(base string, r release.Release, replicas int32, stores []glancev1.Store) error {
	if len(stores) == 0 {
		return invalid.Field(base+".stores", "Glance needs a place for images; name a store, with file, s3, rbd, ceph or swift")
	}
	known, err := registry.For(glancev1.ServiceName, string(r))
	if err != nil {
		return err
	}
	var errs []error
	for i, s := range stores {
		field := fmt.Sprintf("%s.stores[%d]", base, i)
		if _, err := known.With(registry.Group{Name: string(s.Name), Template: Driver(s)}); err != nil {
			errs = append(errs, invalid.Field(field+".name", "%s", err))
		}
		if f := s.File; f != nil && f.AccessMode == glancev1.ReadWriteOnce && replicas > 1 {
			errs = append(errs, invalid.Field(field+".file.accessMode",
				"%s serves a single pod, and there are %d; choose ReadWriteMany, or set replicas to 1", f.AccessMode, replicas))
		}
	}
	return errors.Join(errs...)
}
