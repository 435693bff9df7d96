// Package image is what a Glance's spec has to say beyond its schema, and what it means where it says nothing: for a claim, so that the
// claim reports it, and for a Glance that someone makes by hand.
package image

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// defaultThreads is the schema's: more than elsewhere, because threads wait for clients that upload and download.
const defaultThreads = 4

// Spec are the parts of a Glance's spec that are every service's.
func Spec(s *glancev1.GlanceSpec) service.Spec {
	return service.Spec{
		ServiceSpec: &s.ServiceSpec, Workload: &s.Workload, Identity: &s.Identity, Groups: Groups(s.Stores),
		UWSGI: &common.UWSGI{Processes: s.UWSGI.Processes, Threads: cmp.Or(s.UWSGI.Threads, defaultThreads)},
	}
}

// SetDefaults repeats the defaults of the schema, for callers that do not go through an API server, and adds those that no schema has.
func SetDefaults(s *glancev1.Storage) {
	for i := range s.Stores {
		if f := s.Stores[i].File; f != nil {
			f.AccessMode = cmp.Or(f.AccessMode, glancev1.ReadWriteMany)
		}
		if r := s.Stores[i].RBD; r != nil {
			r.Pool, r.User = cmp.Or(r.Pool, "images"), cmp.Or(r.User, glancev1.ServiceName)
		}
		if w := s.Stores[i].Swift; w != nil {
			w.Container = cmp.Or(w.Container, glancev1.ServiceName)
		}
	}
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

// Groups are the groups of options that are named by stores.
func Groups(stores []glancev1.Store) []registry.Group {
	var out []registry.Group
	for _, s := range stores {
		out = append(out, registry.Group{Name: string(s.Name), Template: Driver(s)})
	}
	return out
}

// Driver of a store, as Glance calls it.
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

// Check returns everything that is wrong with a spec in a release, as invalid.Spec errors, all of them joined. The spec has its defaults
// and the groups of the stores; base is its path.
func Check(base string, r release.Release, s service.Spec, storage *glancev1.Storage) error {
	stores := checkStores(base, r, ptr.Deref(s.Workload.Replicas, 1), storage.Stores)
	if err := errors.Join(stores, checkSizes(base, storage)); err != nil {
		return err // Options of stores cannot be looked up if the stores are wrong.
	}
	return s.Check(base, glancev1.ServiceName, r)
}

// checkSizes refuses what is no amount: a Glance that someone makes by hand, and one whose status was tampered with, went by no schema.
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
		if _, err := resource.ParseQuantity(string(sizes[field])); err != nil {
			errs = append(errs, invalid.Field(field+".storageSize", "%q is no amount; write one such as 100Gi", sizes[field]))
		}
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
