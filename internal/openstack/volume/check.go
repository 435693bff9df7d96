// Package volume validates a Cinder spec beyond its schema and sets its defaults. It is used for claims, so that the claim
// reports the errors, and for a Cinder that is created manually.
package volume

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Complete sets the volume types if the spec has none: one for each backend, and the first as the default.
func Complete(s *cinderv1.Storage) {
	if len(s.VolumeTypes) == 0 {
		for _, b := range s.Backends {
			s.VolumeTypes = append(s.VolumeTypes, cinderv1.VolumeType{Name: b.Name, Backend: b.Name})
		}
	}
	if s.DefaultVolumeType == "" && len(s.VolumeTypes) > 0 {
		s.DefaultVolumeType = s.VolumeTypes[0].Name
	}
}

// ReadWriteMany and ReadWriteOnce are the access modes of volumes, for all pods and for a single pod.
const (
	ReadWriteMany = "ReadWriteMany"
	ReadWriteOnce = "ReadWriteOnce"
)

// Drivers of backends, as named in the registry of options.
const (
	RBD = "rbd"
	NFS = "nfs"
)

// Driver returns the driver of a backend.
func Driver(b cinderv1.Backend) string {
	if b.NFS != nil {
		return NFS
	}
	return RBD
}

// Shares reports whether several managers can manage the volumes of a backend at the same time, given distributed locks.
// The NFS driver declares that it does not support this
// (https://docs.openstack.org/cinder/latest/reference/support-matrix.html).
func Shares(b cinderv1.Backend) bool { return Driver(b) == RBD }

// Groups returns the option groups of the backends, which are named after them.
func Groups(backends []cinderv1.Backend) []registry.Group {
	var out []registry.Group
	for _, b := range backends {
		out = append(out, registry.Group{Name: b.Name, Template: Driver(b)})
	}
	return out
}

// Server returns the host of a share. IPv6 addresses are in brackets.
func Server(share cinderv1.NFSShare) string {
	return strings.TrimSuffix(string(share), ":"+Folder(share))
}

// Folder returns the exported path of a share.
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

// ObjectName returns the name of a backend in object names, which cannot contain underscores.
func ObjectName(backend string) string { return strings.ReplaceAll(backend, "_", "-") }

// ClientSecret returns the name of the Secret with the Ceph client configuration of a backend. Keyring returns the key of
// the user's keyring.
func ClientSecret(cinder, backend string) string { return cinder + "-volume-" + ObjectName(backend) }

// Keyring returns the file name of a user's keyring. Each backend has its own file.
func Keyring(backend, user string) string { return fmt.Sprintf("%s.client.%s.keyring", backend, user) }

// SecretUUID returns the UUID of the libvirt secret with the key of a backend's user. It is derived from immutable values,
// because each attachment records it.
func SecretUUID(namespace, cinder, backend string) string {
	const digits = 32
	h := names.Hash(digits, namespace, cinder, backend)
	// The content of a UUID of version 8 is defined by its creator: https://www.rfc-editor.org/rfc/rfc9562#section-5.8
	return fmt.Sprintf("%s-%s-8%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}

// Check returns all errors in a spec for a release, as joined invalid.Spec errors. The defaults of the spec and the groups
// of the backends must be set. base is the path of the spec. all contains the managers of backends that do not set their
// own. locks is true if distributed locks are available.
func Check(base string, r release.Release, s service.Spec, storage *cinderv1.Storage, all *common.Process, locks bool) error {
	backends := checkBackends(base, r, storage.Backends, all, locks)
	if err := errors.Join(backends, checkTypes(base, storage), checkBackup(base, storage)); err != nil {
		return errors.Join(err, s.CheckAPI(base)) // Options of backends cannot be looked up if the backends are wrong.
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

// checkBackendStorage returns an error unless a backend has exactly one storage.
func checkBackendStorage(field string, b cinderv1.Backend) error {
	switch {
	case count(b.Ceph != nil, b.RBD != nil, b.NFS != nil) != 1:
		return invalid.Field(field, "set exactly one of ceph, rbd and nfs")
	case b.NFS != nil:
		return checkShares(field+".nfs.shares", b.NFS.Shares...)
	}
	return nil
}

// count returns how many values are true.
func count(existing ...bool) int {
	n := 0
	for _, t := range existing {
		if t {
			n++
		}
	}
	return n
}

// checkManagers returns an error for more managers of a backend than its driver supports, and for managers with too little
// memory.
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
		return invalid.Field(at+".replicas", "NFS backends support only one manager; set it to 1")
	case Shares(b) && !locks:
		return invalid.Field(at+".replicas", "several managers of one backend require Valkey for their locks; "+
			"enable infrastructure.valkey, or set it to 1")
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
			errs = append(errs, invalid.Field(field, "%s is derived from backend; remove it", BackendSpec))
		}
		errs = append(errs, checkPlace(fmt.Sprintf("%s.volumeTypes[%d].extraSpecs", base, i), t, storage.Backends))
	}
	switch i := slices.IndexFunc(storage.VolumeTypes, func(t cinderv1.VolumeType) bool { return t.Name == storage.DefaultVolumeType }); {
	case i < 0:
		errs = append(errs, invalid.Field(base+".defaultVolumeType", "%q is not in volumeTypes or, if volumeTypes is empty, in backends; "+
			"add it, or set the name of an entry", storage.DefaultVolumeType))
	case storage.VolumeTypes[i].Private: // Only administrators can use it; requests of other users fail.
		errs = append(errs, invalid.Field(base+".defaultVolumeType",
			"%q cannot be the default, which is the first type if none is set: it is private, "+
				"and volumes without a type would fail; set a public type", storage.DefaultVolumeType))
	}
	return errors.Join(errs...)
}

// multiattachSpec is the property of a volume type whose volumes several servers may attach at once. Cinder compares its text
// (cinder.volume.volume_utils, cinder.scheduler.filters.capabilities_filter).
const multiattachSpec, multiattach = "multiattach", "<is> True"

// checkPlace returns an error for properties of a type that exclude all of its backends: the scheduler would find none for any volume. The
// NFS driver supports no multiattach.
func checkPlace(field string, t cinderv1.VolumeType, backends []cinderv1.Backend) error {
	candidates := slices.DeleteFunc(slices.Clone(backends), func(b cinderv1.Backend) bool { return t.Backend != "" && b.Name != t.Backend })
	if len(candidates) == 0 {
		return nil // checkTypes reports the missing backend.
	}
	var errs []error
	switch value, ok := t.ExtraSpecs[multiattachSpec]; {
	case !ok || value == "<is> False":
	case value != multiattach:
		errs = append(errs, invalid.Field(field+"."+multiattachSpec, "%q matches no backend; set %q, or remove it", value, multiattach))
	case !slices.ContainsFunc(candidates, func(b cinderv1.Backend) bool { return Driver(b) != NFS }):
		errs = append(errs, invalid.Field(field+"."+multiattachSpec, "requires a backend in Ceph: volumes on NFS can be attached to one server "+
			"only; remove it, or set such a backend"))
	}
	if value, ok := t.ExtraSpecs[ZonesSpec]; ok {
		for zone := range strings.SplitSeq(string(value), ",") {
			zone = strings.TrimSpace(zone)
			if !slices.ContainsFunc(candidates, func(b cinderv1.Backend) bool { return Zone(b) == zone }) {
				errs = append(errs, invalid.Field(field+"."+ZonesSpec, "no backend of this type is in the availability zone %q; set the "+
					"availabilityZone of a backend, or remove it", zone))
			}
		}
	}
	return errors.Join(errs...)
}

// BackendSpec is the property of a volume type with which the scheduler selects its backend.
const BackendSpec = "volume_backend_name"

// checkAddress returns an error for a URL with an invalid port.
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
		errs = append(errs, invalid.Field(base+".backup", "set exactly one of ceph, rbd, s3, swift, nfs and file"))
	case f != nil:
		_, err := quantity.Parse(base+".backup.file.storageSize", f.StorageSize, "100Gi")
		errs = append(errs, err)
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
