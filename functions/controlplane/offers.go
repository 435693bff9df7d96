package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	devices "github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/extraspec"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// checkAggregates returns an error for a host in two availability zones: the compute service would add it to one and reject it in the other
// on every attempt.
func checkAggregates(s *services.State, all []common.HostAggregate) error {
	var errs []error
	zones, named := map[string]string{}, map[string]string{}
	for i, g := range all {
		if g.AvailabilityZone == "" {
			continue
		}
		for _, host := range g.Hosts {
			if zone := cmp.Or(zones[host], g.AvailabilityZone); zone != g.AvailabilityZone {
				errs = append(errs, invalid.Field(s.FieldPath(fmt.Sprintf(".aggregates[%d].hosts", i)),
					"%s is in availability zone %s of aggregate %s and cannot be in %s, too; remove it from one of them",
					host, zone, named[host], g.AvailabilityZone))
				continue
			}
			zones[host], named[host] = g.AvailabilityZone, g.Name
		}
	}
	return errors.Join(errs...)
}

// checkFlavors returns an error for two flavors with the same ID.
func checkFlavors(s *services.State, all []common.Flavor) error {
	var errs []error
	named := map[string]string{}
	for i, f := range all {
		if f.ID == "" {
			continue
		}
		if other, exists := named[f.ID]; exists {
			errs = append(errs, invalid.Field(s.FieldPath(fmt.Sprintf(".flavors[%d].id", i)),
				"flavor %s uses the same ID; set another one, or remove it", other))
		}
		named[f.ID] = f.Name
	}
	return errors.Join(errs...)
}

// aliasSpec is the extra spec by which a flavor requests PCI devices.
const aliasSpec = "pci_passthrough:alias"

// checkFlavorSpecs returns an error for an extra spec of a flavor that the compute API rejects, or that references devices without an
// alias. An invalid [pci] alias makes the API fail for every request, so it is checked even if no flavor requests devices.
func checkFlavorSpecs(s *services.State, flavors []common.Flavor, r release.Release) error {
	config, _ := override.Options(s.Name, string(r), s.CheckedSpec().Overrides, s.FieldPath("")) // Spec.Check returns its errors.
	option := s.FieldPath(".config.pci.alias")
	aliases, err := devices.DeviceAliases(option, config)
	errs := []error{err}
	for i, f := range flavors {
		for _, name := range slices.Sorted(maps.Keys(f.ExtraSpecs)) {
			field, value := s.FieldPath(fmt.Sprintf(".flavors[%d].extraSpecs", i)), string(f.ExtraSpecs[name])
			if specErr := extraspec.Check(string(r), name, value); specErr != nil {
				errs = append(errs, invalid.Field(field, "%s: %v", name, specErr))
			} else if name == aliasSpec && err == nil {
				errs = append(errs, checkAliases(field, option, value, aliases))
			}
		}
	}
	return errors.Join(errs...)
}

// checkAliases returns an error for a name of devices without an alias. The value is a comma-separated list of name:count.
func checkAliases(field, option, value string, aliases []string) error {
	var errs []error
	for item := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), ":")
		if !slices.Contains(aliases, name) {
			errs = append(errs, invalid.Field(field, "%s: alias %q does not exist, so each server would be rejected; add it to %s",
				aliasSpec, name, option))
		}
	}
	return errors.Join(errs...)
}
