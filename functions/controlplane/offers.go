package controlplane

import (
	"cmp"
	"errors"
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkAggregates refuses a host in two availability zones: it would come into one of them, and be refused in the other for ever.
func checkAggregates(s *serviceState, all []common.HostAggregate) error {
	var errs []error
	zones, named := map[string]string{}, map[string]string{}
	for i, g := range all {
		if g.AvailabilityZone == "" {
			continue
		}
		for _, host := range g.Hosts {
			if zone := cmp.Or(zones[host], g.AvailabilityZone); zone != g.AvailabilityZone {
				errs = append(errs, invalid.Field(s.field(fmt.Sprintf(".aggregates[%d].hosts", i)),
					"%s is in availability zone %s by aggregate %s, and cannot be in %s as well; name it in one of them",
					host, zone, named[host], g.AvailabilityZone))
				continue
			}
			zones[host], named[host] = g.AvailabilityZone, g.Name
		}
	}
	return errors.Join(errs...)
}

// checkFlavors refuses two flavors of one ID.
func checkFlavors(s *serviceState, all []common.Flavor) error {
	var errs []error
	named := map[string]string{}
	for i, f := range all {
		if f.ID == "" {
			continue
		}
		if other, taken := named[f.ID]; taken {
			errs = append(errs, invalid.Field(s.field(fmt.Sprintf(".flavors[%d].id", i)),
				"flavor %s has the same; choose another, or leave it out", other))
		}
		named[f.ID] = f.Name
	}
	return errors.Join(errs...)
}
