package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/revision"
)

// DatabaseSchema brings the database to the wanted release.
func DatabaseSchema[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	w := s.Workload.With(s.Sub("schema"), "schema")
	pod := s.Pod(s.SchemaImage, s.SchemaFiles, nil)
	pod.RestartPolicy = corev1.RestartPolicyNever
	revisions, err := revision.Known(s.App)
	if err != nil {
		return nil, err
	}
	// 1 is a warning (https://docs.openstack.org/oslo.upgradecheck/latest/).
	var check *openstackv1.Step
	if !slices.Contains(s.Schema.Unchecked, s.Wanted) {
		check = new(Step("upgrade-check", s.Schema.Check...))
		check.SuccessCodes = []int32{0, 1}
	}
	return Single(schemaResource, c5c3.DatabaseSync(s.Meta(s.Name), openstackv1.DatabaseSyncSpec{
		Release:          string(s.Wanted),
		Sync:             s.Schema.Sync,
		Expand:           s.Schema.Expand,
		Contract:         s.Schema.Contract,
		OnlineMigrations: s.Schema.OnlineMigrations,
		UpgradeCheck:     check,
		// A database that was retained or restored reports its revision.
		SchemaVersion: &openstackv1.SchemaVersion{
			Step:         Step("db-version", s.Schema.Version...),
			Empty:        s.Schema.Empty,
			Revisions:    revisions,
			AllowUnknown: s.Spec.AllowUnknown,
		},
		Consumers: s.Consumers(),
		Template:  w.Template(pod),
	})), nil
}
