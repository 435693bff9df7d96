package cinder

import (
	"errors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// Check returns an error for settings that Cinder rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	c := m.Spec.Services.Cinder
	spec, storage := s.CheckedSpec().WithAPI(m.Process(c.API), c.Placement), *c.Storage.DeepCopy()
	volume.Complete(&storage)
	spec.Groups = volume.Groups(storage.Backends)
	errs := []error{m.CheckQueue(s), volume.Check(s.FieldPath(""), r, spec, &storage, c.Volume, m.Locks())}
	if s.Observed.Map("spec", "coordination") != nil && !m.Locks() {
		errs = append(errs, invalid.Field("spec.infrastructure.valkey.enabled",
			"cannot be disabled, because volume managers share its locks; keep it enabled"))
	}
	for field, requested := range map[string]*common.Process{".scheduler": c.Scheduler, ".volume": c.Volume} {
		if requested != nil {
			errs = append(errs, openstack.CheckProcess(s.FieldPath(field), *requested))
		}
	}
	if b := c.Backup; b != nil && b.S3 != nil {
		errs = append(errs, claim.CheckObjectStore(s.FieldPath(".backup.s3"), b.S3.Endpoint, "", b.S3.Bucket, b.S3.CASecretRef != nil))
	}
	errs = append(errs, minimum.CheckStorage(s.FieldPath(".conversionSize"), minimum.ImageConversion, c.ConversionSize))
	return errors.Join(errs...)
}
