package service

import (
	"cmp"
	"slices"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/revision"
)

// buildDatabaseSchema builds the DatabaseSyncs that bring the databases to the target release.
func buildDatabaseSchema[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	var stage compose.Stage
	for i, d := range s.Databases {
		spec, err := s.schema(d.Schema)
		if err != nil {
			return nil, err
		}
		name := s.Name
		if d.Name != "" {
			name = ObjectName(d.Name)
		}
		stage = append(stage, compose.Resource{Name: s.databaseResource(schemaResource, i), Object: c5c3.DatabaseSync(s.Meta(name), spec)})
	}
	return []compose.Stage{stage}, nil
}

// schema returns the spec of the DatabaseSync of one database.
func (s *Service) schema(of Schema) (openstackv1.DatabaseSyncSpec, error) {
	pod := s.JobPod(s.SchemaImage, s.SchemaFiles, nil)
	jobs := s.JobWorkload()
	if len(of.Logins) > 0 {
		s.LogIn(&pod, of.Logins...)
		jobs = s.CheckWorkload()
	}
	revisions, err := revision.Known(cmp.Or(of.Revisions, s.App))
	if err != nil {
		return openstackv1.DatabaseSyncSpec{}, err
	}
	// 1 is a warning (https://docs.openstack.org/oslo.upgradecheck/latest/).
	var check *openstackv1.Step
	if len(of.Check) > 0 && !slices.Contains(of.Unchecked, s.TargetRelease) {
		check = new(Step("upgrade-check", of.Check...))
		check.SuccessCodes = []int32{0, 1}
	}
	return openstackv1.DatabaseSyncSpec{
		Release:          string(s.TargetRelease),
		Sync:             of.Sync,
		Expand:           of.Expand,
		Contract:         of.Contract,
		OnlineMigrations: of.OnlineMigrations,
		UpgradeCheck:     check,
		// For a database that was retained or restored, this command prints the revision of its schema.
		SchemaVersion: &openstackv1.SchemaVersion{
			Step:         Step("db-version", of.Version...),
			Empty:        of.Empty,
			Revisions:    revisions,
			AllowUnknown: s.Spec.AllowUnknown,
		},
		Consumers: s.Consumers(),
		Template:  jobs.Template(pod),
	}, nil
}

// JobWorkload returns the workload of Jobs that connect only to the database.
func (s *Service) JobWorkload() workload.Workload { return s.jobWorkload("schema") }

// CheckWorkload returns the workload of Jobs that also connect to other services before they change a schema.
func (s *Service) CheckWorkload() workload.Workload { return s.jobWorkload("schema-check") }

func (s *Service) jobWorkload(component string) workload.Workload {
	w := s.Workload.With(s.Sub("schema"), component)
	w.Resources = cmp.Or(s.extension.Jobs.Resources, w.Resources)
	return w
}
