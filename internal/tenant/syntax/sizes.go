package syntax

import (
	"errors"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// CheckSizes returns an error for each size of a volume or of data below path that is not a quantity. It runs before all code that
// calculates with sizes.
func CheckSizes(path string, spec any) error {
	var errs []error
	limit.Walk(path, spec, func(field string, value any) {
		switch size := value.(type) {
		case controlplanev1.StorageSize:
			errs = append(errs, quantity.Check(field, string(size)))
		case storagev1.Size:
			errs = append(errs, quantity.Check(field, string(size)))
		}
	})
	return errors.Join(errs...)
}
