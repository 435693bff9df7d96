// Package volume is what a Cinder's spec has to say beyond its schema, and what it means where it says nothing: for a claim, so that the
// claim reports it, and for a Cinder that someone makes by hand.
package volume

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// SetDefaults repeats the defaults of the schema, for callers that do not go through an API server, and adds those that no schema has.
func SetDefaults(s *cinderv1.Storage) {
	for i := range s.Backends {
		if r := s.Backends[i].RBD; r != nil {
			r.Pool, r.User = cmp.Or(r.Pool, "volumes"), cmp.Or(r.User, "cinder")
		}
	}
	if len(s.VolumeTypes) == 0 {
		for _, b := range s.Backends {
			s.VolumeTypes = append(s.VolumeTypes, cinderv1.VolumeType{Name: b.Name, Backend: b.Name})
		}
	}
	if s.DefaultVolumeType == "" && len(s.VolumeTypes) > 0 {
		s.DefaultVolumeType = s.VolumeTypes[0].Name
	}
	s.ConversionSize = cmp.Or(s.ConversionSize, "50Gi")
	if b := s.Backup; b != nil {
		if r := b.RBD; r != nil {
			r.Pool, r.User = cmp.Or(r.Pool, "backups"), cmp.Or(r.User, "cinder-backup")
		}
		if w := b.Swift; w != nil {
			w.Container = cmp.Or(w.Container, "volumebackups")
		}
		if f := b.File; f != nil {
			f.AccessMode = cmp.Or(f.AccessMode, ReadWriteMany)
		}
	}
}

// ReadWriteMany and ReadWriteOnce are the access modes of volumes: for all pods, and for a single one.
const (
	ReadWriteMany = "ReadWriteMany"
	ReadWriteOnce = "ReadWriteOnce"
)

// Drivers of backends, as the registry has their options.
const (
	RBD = "rbd"
	NFS = "nfs"
)

// Driver of a backend.
func Driver(b cinderv1.Backend) string {
	if b.NFS != nil {
		return NFS
	}
	return RBD
}

// Shares reports whether several managers can look after the volumes of a backend at once, given locks that hold across pods. The driver of
// NFS says of itself that it cannot (https://docs.openstack.org/cinder/latest/reference/support-matrix.html).
func Shares(b cinderv1.Backend) bool { return Driver(b) == RBD }

// Groups are the groups of options that are named by backends.
func Groups(backends []cinderv1.Backend) []registry.Group {
	var out []registry.Group
	for _, b := range backends {
		out = append(out, registry.Group{Name: b.Name, Template: Driver(b)})
	}
	return out
}

// Server is the host of a share, an address of IPv6 in brackets.
func Server(share cinderv1.NFSShare) string {
	return strings.TrimSuffix(string(share), ":"+Folder(share))
}

// Folder is what a server exports.
func Folder(share cinderv1.NFSShare) string {
	if at := strings.LastIndex(string(share), ":/"); at >= 0 {
		return string(share[at+1:])
	}
	return ""
}

func checkShares(field string, shares ...cinderv1.NFSShare) error {
	for _, s := range shares {
		if Server(s) == "" || Folder(s) == "" {
			return invalid.Field(field, "%q is no share; write one such as nfs.example.com:/volumes", s)
		}
	}
	return nil
}

// ObjectName is what objects of a backend are called, which take no underscores.
func ObjectName(backend string) string { return strings.ReplaceAll(backend, "_", "-") }

// ClientSecret is the Secret with what pods read of the Ceph of a backend, and Keyring the key there that has the keyring of its user.
func ClientSecret(cinder, backend string) string { return cinder + "-volume-" + ObjectName(backend) }

// Keyring is what the file of a user's keyring is called: of several backends, each has one of its own.
func Keyring(backend, user string) string { return fmt.Sprintf("%s.client.%s.keyring", backend, user) }

// SecretUUID is that by which hypervisors know the key of a backend's user. It follows from what never changes, since each attachment
// records it.
func SecretUUID(namespace, cinder, backend string) string {
	const digits = 32
	h := names.Hash(digits, namespace, cinder, backend)
	// A UUID of version 8 is whoever's makes it: https://www.rfc-editor.org/rfc/rfc9562#section-5.8
	return fmt.Sprintf("%s-%s-8%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}

// Check returns everything that is wrong with a spec in a release, as invalid.Spec errors, all of them joined. The spec has its defaults
// and the groups of the backends; base is its path. The managers of a backend that says nothing of its own are those that are said of all.
func Check(base string, r release.Release, s service.Spec, storage *cinderv1.Storage, all *common.Process, locks bool) error {
	backends := checkBackends(base, r, storage.Backends, all, locks)
	if err := errors.Join(backends, checkTypes(base, storage), checkBackup(base, storage)); err != nil {
		return err // Options of backends cannot be looked up if the backends are wrong.
	}
	return s.Check(base, cinderv1.ServiceName, r)
}

func checkBackends(base string, r release.Release, backends []cinderv1.Backend, all *common.Process, locks bool) error {
	if len(backends) == 0 {
		return invalid.Field(base+".backends", "Cinder needs a place for volumes; name a backend, with ceph, rbd or nfs")
	}
	known, err := registry.For(cinderv1.ServiceName, string(r))
	if err != nil {
		return err
	}
	var errs []error
	called := map[string]string{}
	for i, b := range backends {
		field := fmt.Sprintf("%s.backends[%d]", base, i)
		if _, err := known.With(registry.Group{Name: b.Name, Template: Driver(b)}); err != nil {
			errs = append(errs, invalid.Field(field+".name", "%s", err))
		}
		if other := called[ObjectName(b.Name)]; other != "" {
			errs = append(errs, invalid.Field(field+".name", "%s and %s differ by a hyphen alone, which no object's name shows; "+
				"choose another name", b.Name, other))
		}
		called[ObjectName(b.Name)] = b.Name
		errs = append(errs, checkBackendStorage(field, b), checkManagers(base, field, b, all, locks))
	}
	return errors.Join(errs...)
}

// checkBackendStorage refuses a backend that keeps volumes nowhere.
func checkBackendStorage(field string, b cinderv1.Backend) error {
	switch {
	case count(b.Ceph != nil, b.RBD != nil, b.NFS != nil) != 1:
		return invalid.Field(field, "say where the backend keeps volumes: one of ceph, rbd and nfs")
	case b.NFS != nil:
		return checkShares(field+".nfs.shares", b.NFS.Shares...)
	}
	return nil
}

// count is how many of some things are there.
func count(existing ...bool) int {
	n := 0
	for _, t := range existing {
		if t {
			n++
		}
	}
	return n
}

// checkManagers refuses more managers of a backend than can look after its volumes, and those without room.
func checkManagers(base, field string, b cinderv1.Backend, all *common.Process, locks bool) error {
	requested, at := b.Volume, field+".volume"
	if requested == nil {
		requested, at = all, base+".volume"
	} else if err := service.CheckProcess(at, *requested); err != nil {
		return err
	}
	switch {
	case requested == nil || ptr.Deref(requested.Replicas, 1) == 1:
	case !Shares(b) && b.Volume != nil:
		return invalid.Field(at+".replicas", "volumes of nfs have one manager at a time; say 1")
	case Shares(b) && !locks:
		return invalid.Field(at+".replicas", "several managers of one backend keep their locks in Valkey, which is off; "+
			"switch infrastructure.valkey on, or say 1")
	}
	return nil
}

func checkTypes(base string, storage *cinderv1.Storage) error {
	var errs []error
	for i, t := range storage.VolumeTypes {
		if t.Backend != "" && !slices.ContainsFunc(storage.Backends, func(b cinderv1.Backend) bool { return b.Name == t.Backend }) {
			errs = append(errs, invalid.Field(fmt.Sprintf("%s.volumeTypes[%d].backend", base, i), "there is no backend %q", t.Backend))
		}
		if _, ok := t.ExtraSpecs[BackendSpec]; ok && t.Backend != "" {
			field := fmt.Sprintf("%s.volumeTypes[%d].extraSpecs", base, i)
			errs = append(errs, invalid.Field(field, "%s follows from backend; leave it out", BackendSpec))
		}
	}
	switch i := slices.IndexFunc(storage.VolumeTypes, func(t cinderv1.VolumeType) bool { return t.Name == storage.DefaultVolumeType }); {
	case i < 0:
		errs = append(errs, invalid.Field(base+".defaultVolumeType", "there is no volume type %q", storage.DefaultVolumeType))
	case storage.VolumeTypes[i].Private: // Cinder finds it for administrators only, and fails for everybody else.
		errs = append(errs, invalid.Field(base+".defaultVolumeType",
			"%q cannot be the default, which is the first type if none is set: it is private, "+
				"and volumes without a type would fail; set a public type", storage.DefaultVolumeType))
	}
	return errors.Join(errs...)
}

// BackendSpec is the property of a volume type by which the scheduler finds its backend.
const BackendSpec = "volume_backend_name"

// checkAddress refuses an address at a port that there is not.
func checkAddress(field, address string) error {
	if _, err := workload.PortOf(address); err != nil {
		return invalid.Field(field, "%s", err)
	}
	return nil
}

func checkBackup(base string, storage *cinderv1.Storage) error {
	b := storage.Backup
	if b == nil {
		return nil
	}
	errs := []error{service.CheckProcess(base+".backup", b.Process)}
	if b.NFS != nil {
		errs = append(errs, checkShares(base+".backup.nfs.share", b.NFS.Share))
	}
	if s := b.S3; s != nil {
		errs = append(errs, checkAddress(base+".backup.s3.endpoint", s.Endpoint))
	}
	if s := b.Swift; s != nil {
		errs = append(errs, checkAddress(base+".backup.swift.url", s.URL))
	}
	switch f := b.File; {
	case count(b.Ceph != nil, b.RBD != nil, b.S3 != nil, b.Swift != nil, b.NFS != nil, b.File != nil) != 1:
		errs = append(errs, invalid.Field(base+".backup", "say where backups go: one of ceph, rbd, s3, swift, nfs and file"))
	case f != nil:
		if _, err := resource.ParseQuantity(f.StorageSize); err != nil {
			errs = append(errs, invalid.Field(base+".backup.file.storageSize", "%q is no amount; write one such as 100Gi", f.StorageSize))
		}
		if zones := Zones(storage); f.AccessMode == ReadWriteOnce && len(zones) > 1 {
			errs = append(errs, invalid.Field(base+".backup.file.accessMode", "%s serves a single pod, and each availability zone of a backend "+
				"has one (%s); set ReadWriteMany, or give all backends the same availabilityZone", f.AccessMode, strings.Join(zones, ", ")))
		}
		if f.AccessMode == ReadWriteOnce && ptr.Deref(b.Replicas, 1) > 1 {
			errs = append(errs, invalid.Field(base+".backup.file.accessMode",
				"%s serves a single pod, and there are %d; choose ReadWriteMany, or set replicas to 1", f.AccessMode, *b.Replicas))
		}
	}
	return errors.Join(errs...)
}
