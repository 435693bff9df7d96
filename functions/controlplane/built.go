package controlplane

import (
	"errors"
	"reflect"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// instead is what to do instead of what is not built yet, where that is more than to leave it out.
var instead = map[string]string{
	"spec.cluster.gardener": "dedicated clusters are not built yet in this version; " +
		"name a cluster of the platform in cluster.ref, or leave cluster out",
	"spec.infrastructure.mariadb.backup.pointInTimeRecovery": "the operator recovers to a point in time with replication only, " +
		"which is not built yet; leave it off and schedule backups more often",
}

// checkImplemented refuses what the API has and the function does not compose yet. Admission refuses it too; this holds where another definition
// is installed beside the function. What is switched off may stand there.
func checkImplemented(s *controlplanev1.ControlPlaneClusterSpec) error {
	var errs []error
	limit.Walk("spec", s, func(field string, value any) {
		if !apis.IsUnimplemented("ControlPlaneCluster", field) {
			return
		}
		words, off := instead[field], reflect.Value{}
		if v := reflect.ValueOf(value); v.Kind() == reflect.Struct {
			off = v.FieldByName("Enabled")
		}
		switch {
		case words != "":
			errs = append(errs, invalid.Field(field, "%s", words))
		case !off.IsValid():
			errs = append(errs, invalid.Field(field, "this is not built yet in this version; leave it out"))
		case off.Bool():
			errs = append(errs, invalid.Field(field+".enabled", "this is not built yet in this version; leave it off"))
		}
	})
	return errors.Join(errs...)
}
