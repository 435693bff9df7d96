package storage

import (
	"cmp"
	"errors"

	"k8s.io/utils/ptr"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// classPrefix is the prefix of composed resource names of StorageClasses.
const classPrefix = "storage-class-"

// csi returns the CSI drivers of the platform. Nil: it has none.
func (m *model) csi() *platformv1.RookCSI { return ptr.Deref(m.platform.Rook, platformv1.Rook{}).CSI }

// classed returns the pools with a StorageClass.
func (m *model) classed() []pool {
	var out []pool
	for _, p := range m.pools {
		if p.StorageClass != nil {
			out = append(out, p)
		}
	}
	return out
}

func (m *model) hasClasses() bool { return len(m.classed()) > 0 }

// className returns the name of a StorageClass, unique in the cluster: StorageClasses have no namespace.
func (m *model) className(p pool) string { return m.instance + "-" + p.name }

// checkClasses rejects StorageClasses that no driver would serve, and pools that other services write to.
func (m *model) checkClasses() error {
	var errs []error
	for _, p := range m.classed() {
		field := p.field + ".storageClass"
		switch {
		case m.isExternal():
			errs = append(errs, invalid.Field(field, "Rook creates CSI users only in Ceph clusters that it runs; remove it"))
		case p.Application != blockDevices:
			errs = append(errs, invalid.Field(field, "volumes of Kubernetes require a pool of application rbd; remove it"))
		case p.Purpose != "":
			errs = append(errs, invalid.Field(field, "cannot be set on a pool with purpose %s, in which OpenStack stores its data; remove it, "+
				"or set it on a pool without purpose", p.Purpose))
		case m.csi() == nil:
			errs = append(errs, invalid.Field(field, "the platform has no CSI driver for it; remove it, or ask the platform team to install the "+
				"driver (rook.csi of the PlatformConfig)"))
		}
	}
	return errors.Join(errs...)
}

// storageClasses follow the pools. They outlive the claim, as volumes do.
func storageClasses(m *model) ([]compose.Stage, error) {
	driver := rook.BlockDriver(cmp.Or(m.csi().DriverNamePrefix, string(platform.Rook(m.platform).Namespace)))
	var stage compose.Stage
	for _, p := range m.classed() {
		o, _ := m.observed.Get(classPrefix + p.name)
		meta := m.meta(p.name)
		meta.Name = m.className(p)
		// StorageClasses are immutable, and volumes stay with their driver.
		stage = append(stage, compose.Resource{Name: classPrefix + p.name, Retain: true, Object: rook.StorageClass(
			meta, o.Keep(driver, "provisioner"), m.instance, p.name, p.StorageClass.ReclaimPolicy,
		)})
	}
	return []compose.Stage{stage}, nil
}

// classStatus returns the StorageClasses that are ready.
func (m *model) classStatus() []storagev1.StorageClassStatus {
	var out []storagev1.StorageClassStatus
	for _, p := range m.classed() {
		if m.isReady(classPrefix + p.name) {
			out = append(out, storagev1.StorageClassStatus{Pool: p.name, Name: m.className(p)})
		}
	}
	return out
}
