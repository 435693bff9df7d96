package claim

import (
	"errors"
	"reflect"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// instead maps fields that are not implemented to messages whose remedy is more than to remove the field.
var instead = map[string]string{
	"spec.cluster.gardener": "dedicated clusters are not implemented in this version; " +
		"set cluster.ref to a cluster of the platform, or remove cluster",
	"spec.infrastructure.mariadb.backup.pointInTimeRecovery": "requires replication, " +
		"which is not implemented; disable it and schedule backups more often",
}

// checkImplemented returns an error for fields of the API that the function does not implement. Admission rejects them too; this check
// applies if another version of the definition is installed. Disabled features may be present.
func checkImplemented(s *controlplanev1.ControlPlaneClusterSpec) error {
	var errs []error
	limit.Walk("spec", s, func(field string, value any) {
		if !apis.IsUnimplemented("ControlPlaneCluster", field) {
			return
		}
		message, off := instead[field], reflect.Value{}
		if v := reflect.ValueOf(value); v.Kind() == reflect.Struct {
			off = v.FieldByName("Enabled")
		}
		switch {
		case message != "":
			errs = append(errs, invalid.Field(field, "%s", message))
		case !off.IsValid():
			errs = append(errs, invalid.Field(field, "not implemented in this version; remove it"))
		case off.Bool():
			errs = append(errs, invalid.Field(field+".enabled", "not implemented in this version; set it to false"))
		}
	})
	return errors.Join(errs...)
}
