package volume

import (
	"cmp"
	"slices"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
)

// NovaZone is the availability zone of backends without one: the default of Cinder's storage_availability_zone.
const NovaZone = "nova"

// ZonesSpec is the property of a volume type that restricts its volumes to zones, and places volumes without a zone there
// (https://docs.openstack.org/cinder/latest/admin/availability-zone-type.html).
const ZonesSpec = "RESKEY:availability_zones"

// Zone returns the availability zone of a backend.
func Zone(b cinderv1.Backend) string { return cmp.Or(b.AvailabilityZone, NovaZone) }

// DefaultZone returns the zone of volumes with neither a zone nor a volume type: the zone of the default type's backend, or
// of the first backend if the default type has several. Otherwise Cinder would use NovaZone, and reject the volumes if it
// contains no backend.
func DefaultZone(s *cinderv1.Storage) string {
	for _, t := range s.VolumeTypes {
		if t.Name == s.DefaultVolumeType && t.Backend != "" {
			return ZoneOf(s, t.Backend)
		}
	}
	if len(s.Backends) > 0 {
		return Zone(s.Backends[0])
	}
	return NovaZone
}

// ZoneOf returns the zone of the backend with that name, or NovaZone if it does not exist.
func ZoneOf(s *cinderv1.Storage, backend string) string {
	for _, b := range s.Backends {
		if b.Name == backend {
			return Zone(b)
		}
	}
	return NovaZone
}

// Zones returns the zones of all backends, the default zone first, the others sorted. Each zone has its own backup service:
// Cinder selects only services of the zone of the volume (cinder.scheduler.host_manager.HostManager.get_backup_host).
func Zones(s *cinderv1.Storage) []string {
	first, others := DefaultZone(s), []string(nil)
	for _, b := range s.Backends {
		if z := Zone(b); z != first && !slices.Contains(others, z) {
			others = append(others, z)
		}
	}
	slices.Sort(others)
	return append([]string{first}, others...)
}
