package controlplane

import (
	"errors"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
)

// checkValues returns an error for each value that prevents a part of the cloud from starting, or that would be ignored, after applying the
// defaults of the schema, of the size and of the platform. The schema compares only values of the claim. Values of a single service are
// checked by its own check.
func (m *model) checkValues() error {
	return errors.Join(
		m.CheckValues(), m.checkMinima(), m.checkLocations(), m.checkUnexposed(), m.CheckQueueSettings(),
	)
}

// checkMinima returns an error for memory and volumes below the minimum of a program.
func (m *model) checkMinima() error {
	var errs []error
	for _, p := range m.parts() {
		if p.Program == "" || p.Replicas == 0 {
			continue
		}
		if p.Short {
			limits := ptr.Deref(ptr.Deref(p.Resources, common.Resources{}).Limits, common.ResourceAmounts{})
			errs = append(errs, minimum.CheckMemory(p.Field+".memory", p.Program, limits.Memory))
		} else {
			errs = append(errs, minimum.CheckLimits(p.ResourcesField(), p.Program, p.Resources))
		}
		errs = append(errs, minimum.CheckStorage(p.Field+".storageSize", p.Program, p.Storage))
	}
	items := m.CacheMemory()
	return errors.Join(append(errs, minimum.CheckMemory("spec.infrastructure.memcached.memory", minimum.Memcached, &items))...)
}

// checkLocations returns an error for a location that two parts of the cloud use: one would delete or overwrite data of the other. A backup
// to restore from is only read.
func (m *model) checkLocations() error {
	var all []bounds.Location
	for _, s := range m.Services {
		all = append(all, s.Model.Locations()...)
	}
	if b := m.Spec.Infrastructure.MariaDB.Backup; b != nil {
		all = append(all, bounds.BucketLocation("spec.infrastructure.mariadb.backup.s3", b.S3.Endpoint, b.S3.Bucket, b.S3.Prefix))
	}
	var errs []error
	fields := map[string]string{}
	for _, l := range all {
		if other, ok := fields[l.Name]; ok {
			errs = append(errs, invalid.Field(l.Field, "%s already stores data of %s; set another location for one of them", l.Name, other))
			continue
		}
		fields[l.Name] = l.Field
	}
	return errors.Join(errs...)
}

// checkUnexposed returns an error for public host names if neither the claim nor the platform sets an exposure.
func (m *model) checkUnexposed() error {
	var errs []error
	for _, s := range m.Services {
		errs = append(errs, m.CheckExposed(s.FieldPath(".hostname"), s.Basics.Hostname))
	}
	return errors.Join(errs...)
}
